# SPDX-License-Identifier: BSD-2-Clause
"""SDK directories: a kernel and its libsel4, in the layout of seL4's own `ninja install`, or in
that of one board of Microkit's SDK.

This module searches for SDK directories, checks them, and identifies the kernel in them.

seL4 installs no version number, and its kernel prints none. A version is identified by features of
libsel4 (_RELEASES). All features of a release and none of the next one mean that release. Some
features of the next one mean a development version between the two. All features of the newest
known release mean that release or a later one. The SHA-256 of the kernel identifies the binary.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cellreap.arches import ARCHES as ARCHES  # an SDK is for one of these
from cellreap.errors import InputError, UsageError
from cellreap.platforms import PLATFORMS, mcs_is_exact
from cellreap.system.elf import read_executable
from cellreap.system.loader import (
    FDT_FILE,
    PLATFORM_FILE,
    loaded_platforms,
    platform_of,
    read_memory_file,
)


@dataclass(frozen=True)
class Layout:
    """Where things are in an SDK directory."""

    kernel: Path
    include: Path
    """The folder of libsel4's headers."""
    platform: Path
    """Where memory is, if the kernel is for Arm."""
    fdt: Path
    """A device tree, if the kernel is for Arm. It may be missing."""
    others: tuple[Path, ...] = ()
    """Further folders that a build may read."""

    @property
    def config(self) -> Path:
        """The kernel's options."""
        return self.include / "kernel" / "gen_config.json"


_SEL4 = Layout(
    Path("bin/kernel.elf"),
    Path("libsel4/include"),
    Path("support") / PLATFORM_FILE,
    Path("support") / FDT_FILE,
    (Path("libsel4"), Path("support")),
)
_MICROKIT = Layout(Path("elf/sel4.elf"), Path("include"), Path(PLATFORM_FILE), Path(FDT_FILE))
MICROKIT_VARIABLE: Final = "CELLREAP_MICROKIT_SDK"
_BOARDS = Path("board")
"""The folder of Microkit's SDK with a folder for each board, with one for each configuration."""
_DEFAULT_CONFIG = "debug"
CONFIG_FILE = _SEL4.config
KERNEL_FILE = _SEL4.kernel
_MAX_CONFIG_BYTES = 1 << 20
_HOW_TO_GET_ONE = (
    "build one as https://docs.sel4.systems/projects/buildsystem/standalone.html says "
    "and `ninja install` it"
)

# Options that the root task needs on every architecture: key in gen_config.json, CMake option,
# required value, reason.
_REQUIRED: tuple[tuple[str, str, bool, str], ...] = (
    ("ENABLE_SMP_SUPPORT", "KernelMaxNumNodes", False, "the root task runs on one core"),
)
# Numbers: key in gen_config.json, CMake option, smallest value, reason.
_AT_LEAST: tuple[tuple[str, str, int, str], ...] = (
    (
        "ROOT_CNODE_SIZE_BITS",
        "KernelRootCNodeSizeBits",
        12,
        "for the root task's own capabilities",
    ),
)
_UNTYPEDS = "MAX_NUM_BOOTINFO_UNTYPED_CAPS", "KernelMaxNumBootinfoUntypedCaps"
_LOST = "because devices come first, and memory that has no place is lost"
# Features by release, oldest first: (header, text in it). 13.0.0 introduced the layout
# itself.
_RELEASES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("13.0.0", ()),
    ("14.0.0", (("sel4/constants.h", "seL4_TCBFlag_fpuDisabled"),)),
    (
        "15.0.0",
        (
            ("sel4/macros.h", "LIBSEL4_THREAD_LOCAL"),
            ("sel4/invocation.h", "DomainScheduleConfigure"),
        ),
    ),
    (
        "16.0.0",
        (
            ("sel4/sel4_arch/constants.h", "seL4_UserVSpaceTop"),
            ("sel4/syscalls.h", "seL4_DebugGetThreadAffinity"),
        ),
    ),
)


@dataclass(frozen=True)
class Kernel:
    """The identity of a kernel, which every summary prints."""

    name: str  # seL4 or refkernel
    # 15.0.0, or what is known of it: 14.0.0-dev, or 16.0.0+ for that or later. Without spaces.
    version: str
    arch: str
    sha256: str  # of its ELF file

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.arch})"


@dataclass(frozen=True)
class Sdk:
    """A checked SDK directory."""

    root: Path
    kernel: Kernel
    options: Mapping[str, Any]  # gen_config.json
    digest: str  # SHA-256 over every file that a build can read

    layout: Layout = _SEL4

    @property
    def kernel_elf(self) -> Path:
        """The path of the kernel."""
        return self.root / self.layout.kernel

    @property
    def config_file(self) -> Path:
        """The path of the kernel's options."""
        return self.root / self.layout.config

    @property
    def include(self) -> Path:
        """The folder of libsel4's headers."""
        return self.root / self.layout.include

    @property
    def platform_file(self) -> Path:
        """The path of the list of the addresses of memory, if the kernel is for Arm."""
        return self.root / self.layout.platform

    @property
    def fdt_file(self) -> Path:
        """The path of a device tree, if the kernel is for Arm."""
        return self.root / self.layout.fdt

    def fdt(self) -> bytes:
        """The device tree. Empty if there is none. InputError if it cannot be read."""
        return _read(self.fdt_file) if self.fdt_file.exists() else b""


def find_sdk(arch: str, given: Path | None = None, env: Mapping[str, str] | None = None) -> Path:
    """The seL4 SDK directory for `arch`, as from installed_sdk. UsageError if there is none."""
    found = installed_sdk(arch, given, env)
    if found is None:
        raise UsageError(no_sdk(arch, env))
    return found


def installed_sdk(
    arch: str, given: Path | None = None, env: Mapping[str, str] | None = None
) -> Path | None:
    """The SDK directory for `arch`: `given`, else $CELLREAP_SDK_<ARCH>, else the installed one.

    None if there is none. A directory that is named must exist: UsageError if it does not, even if
    another place has an SDK.
    """
    env = os.environ if env is None else env
    if given is not None:
        return _named(given, f"--sdk {given}")
    variable = _variable(arch)
    if env.get(variable):
        return _named(Path(env[variable]), f"{variable}={env[variable]}")
    default = _users(arch, env)
    return default if default.is_dir() else None


def no_sdk(arch: str, env: Mapping[str, str] | None = None) -> str:
    """The message for a missing SDK: the places searched, and how to install one."""
    default = _users(arch, os.environ if env is None else env)
    return (
        f"no seL4 SDK for {arch}: --sdk is not given, {_variable(arch)} is not set, "
        f"{default} is not there; {_HOW_TO_GET_ONE} to one of these places"
    )


def _variable(arch: str) -> str:
    return f"CELLREAP_SDK_{arch.upper()}"


def data_folder(env: Mapping[str, str]) -> Path:
    """The folder of what is installed for the user: $XDG_DATA_HOME/cellreap."""
    data = Path(env.get("XDG_DATA_HOME") or Path(env.get("HOME", "~")) / ".local/share")
    return data.expanduser() / "cellreap"


def _users(arch: str, env: Mapping[str, str]) -> Path:
    return data_folder(env) / "sdk" / arch


def microkits_sdk() -> Path | None:
    """Microkit's SDK, if the user's environment names one."""
    named = os.environ.get(MICROKIT_VARIABLE)
    return Path(named) if named else None


def board_of(sdk: Path | None, board: str | None) -> Path | None:
    """The SDK directory that --sdk and --board name. UsageError if they do not fit together.

    board: the name of a board of Microkit's SDK, or "NAME/CONFIGURATION".
    """
    if board is None:
        return sdk
    option, sdk = sdk, microkits_sdk() if sdk is None else sdk
    if sdk is None or not (sdk / _BOARDS).is_dir():
        named = f"--sdk {sdk}" if option is not None else f"{MICROKIT_VARIABLE}={sdk}"
        given = f"{named} has no folder {_BOARDS}"
        if sdk is None:
            given = f"--sdk is not given, and {MICROKIT_VARIABLE} is not set"
        raise UsageError(f"--board {board}: {given}; expected the directory of Microkit's SDK")
    name, _, config = board.partition("/")
    found = sdk / _BOARDS / name / (config or _DEFAULT_CONFIG)
    if name not in boards_in(sdk) or not (found / _MICROKIT.kernel).is_file():
        raise UsageError(f"--board {board}: {_expected_board(sdk)}")
    return found


def boards_in(sdk: Path) -> dict[str, list[str]]:
    """The boards of Microkit's SDK that the table of machines has, with their configurations."""
    found: dict[str, list[str]] = {}
    for kernel in sorted((sdk / _BOARDS).glob(f"*/*/{_MICROKIT.kernel}")):
        folder = kernel.parents[len(_MICROKIT.kernel.parts) - 1]
        path = folder / _MICROKIT.config
        options = parse_options(_read(path), str(path))
        if options.get("SEL4_ARCH") in ARCHES and platform_of(options) in PLATFORMS:
            found.setdefault(folder.parent.name, []).append(folder.name)
    return found


def _expected_board(sdk: Path) -> str:
    boards = boards_in(sdk)
    if not boards:
        return f"{sdk} has no board that is known"
    configs = dict.fromkeys(config for each in boards.values() for config in each)
    return (
        f"expected one of {', '.join(boards)}, and behind a slash one of {', '.join(configs)} "
        f"(else {_DEFAULT_CONFIG})"
    )


def _named(path: Path, said: str) -> Path:
    if not path.is_dir():
        what = "is no directory" if path.exists() else "no such directory"
        raise UsageError(f"{said}: {what}; expected an seL4 SDK ({KERNEL_FILE}, libsel4/)")
    if (path / _BOARDS).is_dir() and not (path / KERNEL_FILE).exists():
        expected = _expected_board(path)
        raise UsageError(f"{said}: is Microkit's SDK, which needs --board: {expected}")
    return path.absolute()


def kernel_options(root: Path) -> dict[str, Any]:
    """The options that the kernel of an SDK directory was built with. UsageError if it is none."""
    root = _named(root, f"--sdk {root}")
    path = root / _layout(root).config
    return parse_options(_read(path), str(path))


def kernel_memory(root: Path) -> tuple[tuple[int, int], ...] | None:
    """[start, end) of what the kernel of an SDK directory knows as memory, if that is fixed."""
    path = root / _layout(root).platform
    return read_memory_file(path) if path.is_file() else None


def _layout(root: Path) -> Layout:
    return _MICROKIT if (root / _MICROKIT.kernel).is_file() else _SEL4


def load_sdk(root: Path, arch: str) -> Sdk:
    """Checks an SDK directory and identifies its kernel. InputError if something is wrong."""
    layout = _layout(root)
    config = root / layout.config
    _require_files(root, (layout.kernel, layout.config, layout.include / "sel4" / "sel4.h"))
    options = parse_options(_read(config), str(config))
    check_options(options, arch, str(config))
    if ARCHES[arch].platform_key is not None:
        _require_files(root, (layout.platform,))
    raw = _read(root / layout.kernel)
    read_executable(raw, str(root / layout.kernel), arch)
    name, version = _identity(options, root / layout.include, str(config))
    kernel = Kernel(name, version, arch, hashlib.sha256(raw).hexdigest())
    return Sdk(root, kernel, options, _digest(root, layout), layout)


def _require_files(root: Path, files: tuple[Path, ...]) -> None:
    for file in files:
        if not (root / file).is_file():
            raise InputError(str(root), None, str(file), f"no such file; {_HOW_TO_GET_ONE} there")


def parse_options(raw: bytes, name: str) -> dict[str, Any]:
    """gen_config.json as a dict. InputError if it is malformed."""
    if len(raw) > _MAX_CONFIG_BYTES:
        raise InputError(
            name, None, None, f"larger than {_MAX_CONFIG_BYTES} bytes: no kernel configuration"
        )
    try:
        options = json.loads(raw)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(
            name, line, None, "not valid JSON: expected a kernel's gen_config.json"
        ) from None
    if not isinstance(options, dict):
        raise InputError(name, 1, None, "expected a JSON object with the kernel's options")
    return options


def check_options(options: Mapping[str, Any], arch: str, name: str) -> None:
    """InputError, which names the option, if the root task cannot run on the kernel."""
    built_for = options.get("SEL4_ARCH")
    if built_for != arch:
        raise InputError(
            name, None, "SEL4_ARCH (KernelSel4Arch)", f"is {built_for}: expected {arch}"
        )
    for key, option, wanted, reason in _REQUIRED:
        require_option(options, name, key, option, wanted, reason)
    platform = platform_of(options)
    loaded = loaded_platforms()
    platform_key = ARCHES[arch].platform_key
    if platform_key is not None and platform not in loaded:
        message = f"is {platform}: expected {' or '.join(loaded)}, which the boot loader knows"
        raise InputError(name, None, f"{platform_key} (KernelPlatform)", message)
    # A kernel without printing leaves its UART to user level.
    driven = [each for each in loaded if PLATFORMS[each].uart.driven]
    if platform_key is not None and platform not in driven:
        reason = f"the root task has a console of its own only on {' and '.join(driven)}"
        require_option(options, name, "PRINTING", "KernelPrinting", True, reason)
    for key, option, least, reason in (*_AT_LEAST, (*_UNTYPEDS, ARCHES[arch].untypeds, _LOST)):
        if least == 0:
            continue
        value = str(options.get(key))
        if not value.isdecimal() or int(value) < least:
            message = f"is {value}: expected at least {least}, {reason}"
            raise InputError(name, None, f"{key} ({option})", message)


def require_option(
    options: Mapping[str, Any], name: str, key: str, option: str, wanted: bool, reason: str
) -> None:
    """InputError if the kernel has the option with the other value, or not at all."""
    value = options.get(key)
    if value is not wanted:
        told = {True: "on", False: "off", None: "missing"}.get(value, repr(value))
        message = f"is {told}: expected {'on' if wanted else 'off'}; {reason}"
        raise InputError(name, None, f"{key} ({option})", message)


def debug_missing(options: Mapping[str, Any]) -> str | None:
    """The first option because of which a kernel does not tell what it holds. None: it tells.

    options: gen_config.json. The name is that of the CMake option.
    """
    for key, option in (("DEBUG_BUILD", "KernelDebugBuild"), ("PRINTING", "KernelPrinting")):
        if options.get(key) is not True:
            return option
    return None


def is_mcs(options: Mapping[str, Any]) -> bool:
    """Whether the kernel has scheduling contexts. options: gen_config.json."""
    return options.get("KERNEL_MCS") is True


def takes_snapshots(kernel: str) -> bool:
    """Whether the kernel has seL4_DebugSnapshot. kernel: its name and version."""
    return kernel.split(" ")[0] == "seL4"


def prints_tables(arch: str) -> bool:
    """Whether seL4_DebugSnapshot can print address spaces.

    On aarch64 it takes 4 KiB pages for larger ones, and stops in an assertion of its own.
    """
    return arch == "x86_64"


def timer_missing(options: Mapping[str, Any], arch: str) -> str | None:
    """The first option because of which the root task has no timer. None: it has one.

    options: gen_config.json. The name is that of the CMake option. The result must agree with
    cr_timer_exists of roottask/kernel/timer.h.
    """
    return None if sleeps(options, arch) else device_missing(options, arch)


def sleeps(options: Mapping[str, Any], arch: str) -> bool:
    """Whether the root task has its time from the kernel and takes no device for it."""
    return is_mcs(options) and mcs_is_exact(arch)


def device_missing(options: Mapping[str, Any], arch: str) -> str | None:
    """The first option because of which a kernel leaves no timer's device to user level, as
    cr_device_exists of roottask/kernel/arch/timer_device.h. None: it leaves one, or the machine has
    one of its own.
    """
    platform = PLATFORMS.get(platform_of(options))
    has_its_own = platform is not None and platform.timer is not None
    return None if has_its_own else _generic_missing(options, arch)


def _generic_missing(options: Mapping[str, Any], arch: str) -> str | None:
    """The same of a timer that all machines of the architecture have."""
    for keys, option in ARCHES[arch].timer_options:
        if not any(options.get(key) is True for key in keys):
            return option
    return None


def counter_missing(options: Mapping[str, Any], arch: str) -> str | None:
    """The option because of which the root task has no counter to tell times with. None: it has
    one. If it has the time from a device that all machines of the architecture have, it has.
    """
    reads = options.get("EXPORT_PCNT_USER") is True or ARCHES[arch].counter_is_free
    if sleeps(options, arch) and reads and options.get("ARM_HYPERVISOR_SUPPORT") is not True:
        return None
    return _generic_missing(options, arch)


def timer_of(sdk: Sdk) -> bool:
    """Whether the kernel leaves a timer to the root task, so that PDs can have deadlines."""
    return timer_missing(sdk.options, sdk.kernel.arch) is None


def _identity(options: Mapping[str, Any], include: Path, config: str) -> tuple[str, str]:
    """Name and version. refkernel states them itself. For seL4 they are derived from libsel4."""
    if options.get("REFKERNEL") is not True:
        return "seL4", _version(include)
    version = options.get("REFKERNEL_VERSION")
    if not isinstance(version, str) or not re.fullmatch(r"[0-9A-Za-z.+-]{1,20}", version):
        message = f"is {version!r}: expected refkernel's version"
        raise InputError(config, None, "REFKERNEL_VERSION", message)
    return "refkernel", version


def _version(include: Path) -> str:
    reached = _RELEASES[0][0]
    missed = False
    for release, features in _RELEASES:
        present = [_has(include / file, text) for file, text in features]
        if missed and any(present):
            # A later release's features without those of an earlier one: not a version of seL4.
            return "unknown"
        if not all(present):
            missed = True
            if any(present):
                reached = f"{reached}-dev"
        elif not missed:
            reached = release
    return reached if missed else f"{reached}+"


def _has(path: Path, text: str) -> bool:
    return path.is_file() and text.encode() in path.read_bytes()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(str(path), None, None, error.strerror or "cannot be read") from None


def _digest(root: Path, layout: Layout) -> str:
    """A digest over names and contents of the files that a build can read.

    These are the kernel, libsel4, and the platform description.
    """
    files = [root / layout.kernel]
    for folder in layout.others or (layout.include, layout.platform, layout.fdt):
        found = root / folder
        files += sorted(path for path in (found, *found.rglob("*")) if path.is_file())
    total = hashlib.sha256()
    for path in files:
        content = _read(path)
        total.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()
