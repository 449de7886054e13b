# SPDX-License-Identifier: BSD-2-Clause
"""SDK directories: the search order, errors that name the wrong option, and distinct names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cellreap.api.systems import System
from cellreap.errors import InputError, UsageError
from cellreap.headers import source_root
from cellreap.runs.qemu import machine_for
from cellreap.system.devices import own_interrupts
from cellreap.system.sdk import (
    CONFIG_FILE,
    MICROKIT_VARIABLE,
    board_of,
    boards_in,
    counter_missing,
    debug_missing,
    find_sdk,
    load_sdk,
    parse_options,
    timer_missing,
    timer_of,
)
from kit.arches import ARCHES
from kit.sdk_kit import FEATURES, make_elf, make_sdk


def test_the_given_directory_comes_first_then_the_variable_then_the_users(tmp_path: Path) -> None:
    given, named = tmp_path / "given", tmp_path / "named"
    home = tmp_path / "home" / ".local" / "share" / "cellreap" / "sdk" / "x86_64"
    data = tmp_path / "data" / "cellreap" / "sdk" / "x86_64"
    for folder in (given, named, home, data):
        folder.mkdir(parents=True)
    env = {"HOME": str(tmp_path / "home"), "CELLREAP_SDK_X86_64": str(named)}
    assert find_sdk("x86_64", given, env) == given
    assert find_sdk("x86_64", None, env) == named
    del env["CELLREAP_SDK_X86_64"]
    assert find_sdk("x86_64", None, env) == home
    env["XDG_DATA_HOME"] = str(tmp_path / "data")
    assert find_sdk("x86_64", None, env) == data


def test_each_architecture_has_its_own_variable(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CELLREAP_SDK_X86_64": str(tmp_path)}
    assert find_sdk("x86_64", None, env) == tmp_path
    with pytest.raises(UsageError, match="CELLREAP_SDK_AARCH64 is not set"):
        find_sdk("aarch64", None, env)


def test_where_there_is_none_every_place_is_named_and_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_sdk("x86_64", None, {"HOME": str(tmp_path)})
    message = str(caught.value)
    users = f"{tmp_path}/.local/share/cellreap/sdk/x86_64"
    for part in ("--sdk", "CELLREAP_SDK_X86_64", users, "docs.sel4.systems"):
        assert part in message


def test_what_is_named_and_not_there_is_an_error_even_if_another_place_has_one(
    tmp_path: Path,
) -> None:
    (tmp_path / ".local/share/cellreap/sdk/x86_64").mkdir(parents=True)
    env = {"HOME": str(tmp_path), "CELLREAP_SDK_X86_64": str(tmp_path / "gone")}
    with pytest.raises(UsageError, match=f"CELLREAP_SDK_X86_64={tmp_path}/gone: no such directory"):
        find_sdk("x86_64", None, env)
    with pytest.raises(UsageError, match=f"--sdk {tmp_path}/none: no such directory"):
        find_sdk("x86_64", tmp_path / "none", env)


@pytest.mark.parametrize("release", FEATURES)
def test_the_release_is_told_by_what_libsel4_has(tmp_path: Path, release: str) -> None:
    sdk = load_sdk(make_sdk(tmp_path, release=release), "x86_64")
    newest = list(FEATURES)[-1]
    assert sdk.kernel.version == (f"{release}+" if release == newest else release)
    assert (sdk.kernel.name, sdk.kernel.arch) == ("seL4", "x86_64")
    assert " " not in sdk.kernel.version


def test_some_features_of_a_release_are_a_version_on_the_way_there(tmp_path: Path) -> None:
    root = make_sdk(tmp_path, release="15.0.0")
    (root / "libsel4/include/sel4/syscalls.h").write_text(
        "void seL4_DebugGetThreadAffinity(void);\n"
    )
    assert load_sdk(root, "x86_64").kernel.version == "15.0.0-dev"


def test_features_without_those_before_them_are_no_release(tmp_path: Path) -> None:
    root = make_sdk(tmp_path, release="16.0.0")
    (root / "libsel4/include/sel4/constants.h").unlink()
    assert load_sdk(root, "x86_64").kernel.version == "unknown"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (
            "ENABLE_SMP_SUPPORT",
            True,
            r"ENABLE_SMP_SUPPORT \(KernelMaxNumNodes\): is on: expected off",
        ),
        ("ROOT_CNODE_SIZE_BITS", "8", r"\(KernelRootCNodeSizeBits\): is 8: expected at least 12"),
        ("ROOT_CNODE_SIZE_BITS", [], r"\(KernelRootCNodeSizeBits\): is \[\]: expected at least 12"),
        (
            "MAX_NUM_BOOTINFO_UNTYPED_CAPS",
            "50",
            r"\(KernelMaxNumBootinfoUntypedCaps\): is 50: expected at least 100, because devices",
        ),
        ("SEL4_ARCH", "ia32", r"SEL4_ARCH \(KernelSel4Arch\): is ia32: expected x86_64"),
        ("SEL4_ARCH", None, r"SEL4_ARCH \(KernelSel4Arch\): is None: expected x86_64"),
    ],
)
def test_a_kernel_that_does_not_fit_is_refused_by_its_option(
    tmp_path: Path, option: str, value: Any, said: str
) -> None:
    root = make_sdk(tmp_path, options={option: value})
    with pytest.raises(InputError, match=f"{CONFIG_FILE}: .*{said}"):
        load_sdk(root, "x86_64")


@pytest.mark.parametrize("option", ["SUPPORT_PCID", "XSAVE_XSAVEC", "XSAVE_XSAVES"])
def test_what_the_emulator_cannot_run_is_refused_before_a_boot(tmp_path: Path, option: str) -> None:
    sdk = load_sdk(make_sdk(tmp_path, options={option: True}), "x86_64")
    said = rf"{option} \(Kernel\w+\): is on: expected off; qemu-system-x86_64"
    with pytest.raises(InputError, match=said):
        machine_for(sdk.options, "image")


@pytest.mark.parametrize(
    ("options", "cpu"),
    [({}, "Nehalem,+pdpe1gb"), ({"XSAVE": True}, "max"), ({"FSGSBASE_INST": True}, "max")],
)
def test_the_emulated_cpu_has_what_the_kernel_uses(
    tmp_path: Path, options: dict[str, Any], cpu: str
) -> None:
    sdk = load_sdk(make_sdk(tmp_path, options=options), "x86_64")
    assert value_of("-cpu", sdk.options) == cpu


@pytest.mark.parametrize("value", [False, None])
@pytest.mark.parametrize(
    ("option", "cmake"), [("DEBUG_BUILD", "KernelDebugBuild"), ("PRINTING", "KernelPrinting")]
)
def test_a_kernel_without_debug_calls_is_accepted_but_not_asked(
    tmp_path: Path, option: str, cmake: str, value: Any
) -> None:
    root = make_sdk(tmp_path, options={option: value})
    sdk = load_sdk(root, "x86_64")
    assert debug_missing(sdk.options) == cmake
    asked = '[system]\nname = "asked"\ntruth = true\n[[pd]]\nname = "a"\nprogram = "app"\n'
    (tmp_path / "asked.toml").write_text(asked)
    with pytest.raises(InputError, match=rf":3: system.truth: .* expected a kernel with {cmake}"):
        System.read(tmp_path / "asked.toml").check_kernel(sdk)


def test_a_kernel_that_does_not_print_needs_a_uart_that_is_known(tmp_path: Path) -> None:
    options = {"PRINTING": False}
    load_sdk(make_sdk(tmp_path / "virt", arch="aarch64", options=options), "aarch64")
    board = make_sdk(tmp_path / "c4", arch="aarch64", options={**options, "ARM_PLAT": "odroidc4"})
    said = r"PRINTING \(KernelPrinting\): is off: .* of its own only on qemu-arm-virt"
    with pytest.raises(InputError, match=said):
        load_sdk(board, "aarch64")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("ARM_PLAT", "tx2", r"\(KernelPlatform\): is tx2: expected qemu-arm-virt or zcu102 or"),
        ("ARM_PLAT", None, r"\(KernelPlatform\): is None: expected qemu-arm-virt or"),
    ],
)
def test_an_aarch64_kernel_that_does_not_fit_is_refused_by_its_option(
    tmp_path: Path, option: str, value: Any, said: str
) -> None:
    root = make_sdk(tmp_path, arch="aarch64", options={option: value})
    with pytest.raises(InputError, match=f"{CONFIG_FILE}: .*{said}"):
        load_sdk(root, "aarch64")


@pytest.mark.parametrize("missing", ["platform_gen.json"])
def test_what_the_boot_loader_needs_of_an_aarch64_sdk_is_named(
    tmp_path: Path, missing: str
) -> None:
    root = make_sdk(tmp_path, arch="aarch64")
    (root / "support" / missing).unlink()
    with pytest.raises(InputError, match=f"support/{missing}: no such file"):
        load_sdk(root, "aarch64")


def test_the_cpu_is_the_one_that_the_kernel_is_for(tmp_path: Path) -> None:
    a53 = load_sdk(make_sdk(tmp_path / "a53", arch="aarch64"), "aarch64").options
    a57 = {**a53, "ARM_CORTEX_A53": False, "ARM_CORTEX_A57": True}
    assert [value_of("-cpu", each) for each in (a53, a57)] == ["cortex-a53", "cortex-a57"]


def test_a_kernel_with_hypervisor_support_has_a_machine_with_el2(tmp_path: Path) -> None:
    plain = load_sdk(make_sdk(tmp_path, arch="aarch64"), "aarch64").options
    assert value_of("-machine", plain) == "virt"
    assert value_of("-machine", {**plain, "ARM_HYPERVISOR_SUPPORT": True}).endswith(
        ",virtualization=on"
    )


def value_of(option: str, kernel: Mapping[str, Any]) -> str:
    """The value of an option of the emulator."""
    return dict(pairwise(machine_for(kernel, "image").arguments))[option]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ARM_CORTEX_A53": False, "ARM_CORTEX_A35": True}, r"ARM_CORTEX_A35 \(ARM_CPU\): is on: "),
        ({"ARM_PLAT": "rpi4"}, r"ARM_PLAT \(KernelPlatform\): is rpi4: expected qemu-arm-virt or "),
        ({"ARM_CORTEX_A53": False}, r"ARM_CORTEX_\* \(ARM_CPU\): none is on: .* ARM_CORTEX_A53,"),
        (
            {"ARM_GIC_V3_SUPPORT": True},
            r"ARM_GIC_V3_SUPPORT \(KernelArmGicV3\): is on: expected off",
        ),
    ],
)
def test_an_aarch64_kernel_that_the_emulator_cannot_run_is_refused(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    options = {**load_sdk(make_sdk(tmp_path, arch="aarch64"), "aarch64").options, **changed}
    with pytest.raises(InputError, match=f"image: {said}"):
        machine_for(options, "image")


@pytest.mark.parametrize(
    ("arch", "changed", "missing"),
    [
        ("x86_64", {}, None),
        ("x86_64", {"IRQ_IOAPIC": False, "IRQ_PIC": True}, None),
        ("x86_64", {"IRQ_IOAPIC": False}, "KernelIRQController"),
        ("x86_64", {"IRQ_IOAPIC": None, "IRQ_PIC": None}, "KernelIRQController"),
        ("aarch64", {}, None),
        ("aarch64", {"EXPORT_PCNT_USER": False}, "KernelArmExportPCNTUser"),
        ("aarch64", {"EXPORT_PTMR_USER": False}, "KernelArmExportPTMRUser"),
        ("aarch64", {"EXPORT_PTMR_USER": None}, "KernelArmExportPTMRUser"),
        (
            "aarch64",
            {"EXPORT_PCNT_USER": False, "EXPORT_PTMR_USER": False},
            "KernelArmExportPCNTUser",
        ),
        ("aarch64", {"EXPORT_PCNT_USER": "true"}, "KernelArmExportPCNTUser"),
        ("x86_64", {"IRQ_IOAPIC": False, "KERNEL_MCS": True}, "KernelIRQController"),
        ("aarch64", {"EXPORT_PTMR_USER": False, "KERNEL_MCS": True}, None),
    ],
)
def test_a_kernel_without_a_timer_for_users_is_known_by_its_option(
    tmp_path: Path, arch: str, changed: dict[str, Any], missing: str | None
) -> None:
    sdk = load_sdk(make_sdk(tmp_path, arch=arch, options=changed), arch)
    assert timer_missing(sdk.options, arch) == missing
    assert timer_of(sdk) is (missing is None)


@pytest.mark.parametrize("arch", ARCHES)
def test_refkernel_leaves_a_timer_to_users(arch: str) -> None:
    path = source_root() / "refkernel" / "libsel4" / "arch" / arch / "kernel" / "gen_config.json"
    assert timer_missing(parse_options(path.read_bytes(), str(path)), arch) is None


def test_an_sdk_for_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is x86_64: expected aarch64"):
        load_sdk(make_sdk(tmp_path), "aarch64")


def test_a_kernel_whose_elf_is_of_another_architecture_is_refused(tmp_path: Path) -> None:
    root = make_sdk(tmp_path, kernel=make_elf(arch="aarch64"))
    with pytest.raises(
        InputError, match=r"kernel\.elf: e_machine: is EM_AARCH64: expected EM_X86_64"
    ):
        load_sdk(root, "x86_64")


@pytest.mark.parametrize(
    "missing", ["bin/kernel.elf", str(CONFIG_FILE), "libsel4/include/sel4/sel4.h"]
)
def test_a_file_that_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    root = make_sdk(tmp_path)
    (root / missing).unlink()
    with pytest.raises(InputError, match=f"{missing}: no such file"):
        load_sdk(root, "x86_64")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "1: not valid JSON"),
        (b'{\n"KERNEL_MCS": fal', "2: not valid JSON"),
        (b"\x7fELF\xff\xfe", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "1: expected a JSON object"),
        (b" " * (1 << 21), "larger than"),
    ],
)
def test_a_configuration_file_that_is_none_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(InputError, match=f"gen_config.json:? ?{said}") as caught:
        parse_options(raw, "gen_config.json")
    assert "\n" not in str(caught.value)


@pytest.mark.behaviour("H-02")
def test_the_digest_sees_every_file_that_a_build_reads_and_no_other(tmp_path: Path) -> None:
    root = make_sdk(tmp_path)
    before = load_sdk(root, "x86_64").digest
    (root / "share").mkdir()
    (root / "share" / "notes").write_text("of no use to a build")
    assert load_sdk(root, "x86_64").digest == before
    for file in (
        "libsel4/include/sel4/sel4.h",
        "libsel4/include/sel4/new.h",
        "support/platform_gen.json",
    ):
        path = root / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{path.read_text() if path.exists() else ''}\n")
        after = load_sdk(root, "x86_64").digest
        assert after != before
        before = after


def test_the_kernel_is_named_by_its_hash(tmp_path: Path) -> None:
    one = load_sdk(make_sdk(tmp_path / "one"), "x86_64").kernel
    other = load_sdk(
        make_sdk(tmp_path / "other", kernel=make_elf(entry=0x10_0004)), "x86_64"
    ).kernel
    assert one.version == other.version
    assert one.sha256 != other.sha256


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_an_installed_sdk_is_accepted(arch: str) -> None:
    try:
        root = find_sdk(arch)
    except UsageError as error:
        pytest.skip(str(error))
    sdk = load_sdk(root, arch)
    assert sdk.kernel.version != "unknown"
    assert json.loads((root / CONFIG_FILE).read_bytes()) == sdk.options


@pytest.mark.behaviour("N-11")
def test_the_option_without_which_a_kernel_leaves_no_timer_is_named() -> None:
    assert timer_missing({"IRQ_IOAPIC": True}, "x86_64") is None
    assert timer_missing({}, "x86_64") == "KernelIRQController"
    both: dict[str, Any] = {"EXPORT_PCNT_USER": True, "EXPORT_PTMR_USER": True}
    assert timer_missing(both, "aarch64") is None
    assert (
        timer_missing({**both, "EXPORT_PCNT_USER": False}, "aarch64") == "KernelArmExportPCNTUser"
    )
    assert (
        timer_missing({**both, "EXPORT_PTMR_USER": False}, "aarch64") == "KernelArmExportPTMRUser"
    )
    assert timer_missing({"EXPORT_PCNT_USER": True}, "aarch64") == "KernelArmExportPTMRUser"


@pytest.mark.behaviour("N-11", "B-01")
@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"EXPORT_PCNT_USER": True}, None),
        ({"EXPORT_PTMR_USER": True}, "KernelArmExportPCNTUser"),
        (
            {"EXPORT_PCNT_USER": True, "ARM_HYPERVISOR_SUPPORT": True},
            "KernelArmExportPTMRUser",
        ),
    ],
)
def test_a_kernel_with_mcs_gives_time_and_not_always_a_counter_to_tell_it_with(
    options: dict[str, Any], missing: str | None
) -> None:
    with_mcs = {**options, "KERNEL_MCS": True}
    assert timer_missing(with_mcs, "aarch64") is None
    assert counter_missing(with_mcs, "aarch64") == missing


@pytest.mark.parametrize("exported", [True, False])
@pytest.mark.parametrize("mcs", [True, False])
def test_a_pd_may_have_the_second_timer_of_an_arm_processor(
    tmp_path: Path, mcs: bool, exported: bool
) -> None:
    """If the kernel leaves it to user level, and the root task does not need it."""
    options = {"KERNEL_MCS": mcs, "EXPORT_PTMR_USER": exported}
    made = make_sdk(tmp_path / "sdk", arch="aarch64", options=options)
    own = own_interrupts(load_sdk(made, "aarch64"))
    assert set(range(32)) - set(own) == ({30} if mcs and exported else set())


def microkits(root: Path, *boards: str, **options: Any) -> Path:
    """A directory like Microkit's SDK."""
    for board in boards:
        made = make_sdk(root / "made" / board, arch="aarch64", options=options)
        folder = root / "board" / board
        (folder / "elf").mkdir(parents=True)
        (made / "bin" / "kernel.elf").rename(folder / "elf" / "sel4.elf")
        (made / "libsel4" / "include").rename(folder / "include")
        (made / "support" / "platform_gen.json").rename(folder / "platform_gen.json")
    return root


@pytest.mark.behaviour("B-06")
def test_a_board_of_microkits_sdk_is_an_sdk_directory(tmp_path: Path) -> None:
    root = microkits(tmp_path, "virt/debug", "virt/release", "other/release")
    assert boards_in(root) == {"other": ["release"], "virt": ["debug", "release"]}
    chosen = board_of(root, "virt/release")
    assert (chosen, board_of(root, "virt")) == (
        root / "board/virt/release",
        root / "board/virt/debug",
    )
    sdk = load_sdk(find_sdk("aarch64", chosen, {}), "aarch64")
    assert (sdk.kernel.name, sdk.fdt(), sdk.kernel_elf.name) == ("seL4", b"", "sel4.elf")
    before = sdk.digest
    with (sdk.include / "sel4" / "sel4.h").open("a") as header:
        header.write("/* changed */")
    assert load_sdk(sdk.root, "aarch64").digest != before


@pytest.mark.behaviour("B-06")
@pytest.mark.parametrize("board", ["none", "virt/benchmark", "", "../board/virt", "virt/debug/elf"])
def test_a_board_that_is_not_there_is_refused_with_those_that_are(
    tmp_path: Path, board: str
) -> None:
    microkits(tmp_path, "unknown/debug", ARM_PLAT="tx2")
    root = microkits(tmp_path, "virt/debug")
    expected = r"expected one of virt, and behind a slash one of debug \(else debug\)"
    with pytest.raises(UsageError, match=f"--board {re.escape(board)}: {expected}"):
        board_of(root, board)
    with pytest.raises(UsageError, match=f"is Microkit's SDK, which needs --board: {expected}"):
        find_sdk("aarch64", root, {})


@pytest.mark.behaviour("B-06")
def test_a_board_needs_microkits_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the environment, if none is given."""
    monkeypatch.delenv(MICROKIT_VARIABLE, raising=False)
    for sdk, said in ((None, "--sdk is not given"), (make_sdk(tmp_path), "has no folder board")):
        with pytest.raises(UsageError, match=f"--board virt: .*{said}"):
            board_of(sdk, "virt")
    monkeypatch.setenv(MICROKIT_VARIABLE, "elsewhere")
    with pytest.raises(UsageError, match=f"{MICROKIT_VARIABLE}=elsewhere has no folder board"):
        board_of(None, "virt")
    monkeypatch.setenv(MICROKIT_VARIABLE, str(microkits(tmp_path / "own", "virt/debug")))
    assert board_of(None, "virt") == tmp_path / "own/board/virt/debug"
