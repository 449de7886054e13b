# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of boards in TOML: how to switch one on, reach its console, and load an image."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from cellreap.errors import InputError, UsageError, hint
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toml_tables import Table, checked, dotted, expect, read_text, toml_values

KNOWN = Path(__file__).parent / "known"
"""The descriptions in the package."""

_Line = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=200),
    expect("a line of text of 1 to 200 characters"),
]
_Lines = Annotated[
    tuple[_Line, ...], Field(strict=False), expect("a list of lines of text, one for each command")
]
_Words = Annotated[
    tuple[str, ...],
    Field(strict=False, min_length=1),
    expect('a program and its arguments, such as ["ssh", "lab", "console"]'),
]
_Arguments = Annotated[
    tuple[str, ...], Field(strict=False), expect('a list of arguments, such as ["-smp", "2"]')
]
_Shell = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00]+$", max_length=4096),
    expect("a command for the shell"),
]
_File = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=4096), expect("a path")
]
_Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._/-]{1,64}$"),
    expect("a file name of letters, digits, and . _ - /"),
]
_Key = Annotated[
    str, StringConstraints(pattern=r"^[\x01-\x7e]{1,8}$"), expect("1 to 8 characters in ASCII")
]
_Seconds = Annotated[
    float, Field(gt=0, le=3600, strict=False), expect("seconds: more than 0, at most 3600")
]
_Pause = Annotated[float, Field(ge=0, le=600, strict=False), expect("seconds from 0 to 600")]
_Retries = Annotated[int, Field(ge=0, le=100), expect("an integer from 0 to 100")]
_Baud = Annotated[int, Field(ge=1, le=4_000_000), expect("an integer from 1 to 4000000")]
_Address = Annotated[
    int, Field(ge=0, le=(1 << 48) - 1), expect("an address of at most 48 bits, such as 0x50000000")
]
_Bool = Annotated[bool, expect("true or false")]
_Text = Annotated[str, expect("a string")]


class About(Table):
    """[board]: which board it is."""

    driver: Annotated[
        Literal["qemu-uboot", "command", "labgrid"],
        expect('"qemu-uboot", "command" or "labgrid"'),
    ]
    """What switches its power and carries its console."""
    platform: _Text
    """The platform for which the kernel must be built, as in `KernelPlatform`: `odroidc4`. For the
    board of QEMU it is `qemu-arm-virt`."""
    tested: _Bool = True
    """Whether the description was tried. If not, `cellreap flash` says so."""


class Power(Table):
    """[power]: how the driver `command` switches the power."""

    on: _Shell
    """Switches the power on."""
    off: _Shell
    """Switches the power off. It is also run before the board is switched on, and on every way
    out. """
    seconds: _Seconds = 30.0
    """How long one of these commands may take."""


class Console(Table):
    """[console]: how the driver `command` reaches the console. Either `device` or `command`."""

    device: _File | None = None
    """A serial port."""
    baud: _Baud = 115200
    """Its speed. 8 bits, no parity, one stop bit."""
    command: _Words | None = None
    """A program whose stdin and stdout are the console."""


class Labgrid(Table):
    """[labgrid]: the driver `labgrid`."""

    environment: _File
    """The environment of labgrid: a file in YAML. Relative to this file."""
    target: Annotated[str, expect("the name of a target")] = "main"
    """The target in it, with a console and power."""


class Qemu(Table):
    """[qemu]: the driver `qemu-uboot`."""

    bios: _File = "/usr/lib/u-boot/qemu_arm64/u-boot.bin"
    """U-Boot for QEMU's machine `virt`."""
    arguments: _Arguments = ()
    """Further arguments for QEMU."""


class Uboot(Table):
    """[uboot]: how to talk to the board's U-Boot. It must have the hush shell."""

    prompt: _Line = "=> "
    """Its prompt."""
    autoboot: _Line = "autoboot"
    """A part of the line in which it says that the boot can be stopped."""
    interrupt: _Key = " "
    """The key that stops it."""
    prepare: _Lines = ()
    """Commands before the image is loaded, such as those that set up the network."""
    load: Annotated[Literal["tftp", "serial"], expect('"tftp" or "serial"')] = "tftp"
    """How the image is loaded: `tftpboot`, or `loadx` on the console."""
    address: _Address
    """Where in memory the file is loaded. It must not overlap what it is unpacked to."""
    boot: _Line = "bootm {address} - ${fdtcontroladdr}"
    """The command that boots the file. `{address}` stands for the address."""


class Tftp(Table):
    """[tftp]: the server for `load = "tftp"`. The driver `qemu-uboot` has its own."""

    folder: _File
    """The folder that the server serves, on this machine. The file is written there, and deleted
    afterwards."""
    file: _Name = "cellreap.uimg"
    """The name of the file in it. Two boards need two names."""
    server: Annotated[str, StringConstraints(pattern=r"^[0-9.]{7,15}$"), expect("an IPv4 address")]
    """The server's address, as the board sees it."""


class Limits(Table):
    """[limits]: how long things may take, and how often they are tried."""

    off_seconds: _Pause = 1.0
    """How long the power stays off before it is switched on."""
    prompt_seconds: _Seconds = 30.0
    """From power to U-Boot's prompt."""
    command_seconds: _Seconds = 30.0
    """One command of U-Boot."""
    load_seconds: _Seconds = 300.0
    """Loading the image."""
    boot_seconds: _Seconds = 30.0
    """From the boot command to the first event of the trace."""
    retries: _Retries = 5
    """How often the board is switched off and on again if it did not boot."""


class Description(Table):
    """A board."""

    board: About
    """Which board it is."""
    power: Power | None = None
    """How its power is switched."""
    console: Console | None = None
    """How its console is reached."""
    labgrid: Labgrid | None = None
    """Where labgrid finds it."""
    qemu: Qemu | None = None
    """How QEMU runs it."""
    uboot: Uboot
    """How to talk to its U-Boot."""
    tftp: Tftp | None = None
    """Where it loads files from."""
    limits: Limits = Limits()
    """How long things may take."""


_TABLES: Mapping[tuple[str, ...], type[Table]] = {
    ("board",): About,
    ("power",): Power,
    ("console",): Console,
    ("labgrid",): Labgrid,
    ("qemu",): Qemu,
    ("uboot",): Uboot,
    ("tftp",): Tftp,
    ("limits",): Limits,
}
_DRIVERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "qemu-uboot": ((), ("qemu",)),
    "command": (("power", "console"), ("tftp",)),
    "labgrid": (("labgrid",), ("tftp",)),
}
"""Driver -> the tables that it needs, and those that it may have."""
_OF_DRIVERS = ("power", "console", "labgrid", "qemu", "tftp")


def parse_description(text: str, path: Path) -> Description:
    """Checks a description. `path` is for messages. InputError for the first problem."""
    values = toml_values(text, path)
    if not values:
        raise InputError(str(path), 1, None, "the file is empty: expected [board] and [uboot]")
    lines = Lines(text)
    description = checked(values, path, lines, Description, _TABLES)
    for at, message in _problems(description):
        raise InputError(str(path), lines.of(at), dotted(at), message)
    return description


def _problems(description: Description) -> Iterator[tuple[KeyPath, str]]:
    driver = description.board.driver
    needs, may = _DRIVERS[driver]
    there = [name for name in _OF_DRIVERS if getattr(description, name) is not None]
    for name in needs:
        if name not in there:
            yield ("board", "driver"), f'"{driver}" needs a table [{name}]'
    for name in there:
        if name not in (*needs, *may):
            yield (name,), f'is not for the driver "{driver}"'
    console = description.console
    if console is not None and (console.device is None) == (console.command is None):
        yield ("console",), "expected either device or command"
    uboot = description.uboot
    if uboot.load == "tftp" and description.tftp is None and driver != "qemu-uboot":
        yield ("uboot", "load"), '"tftp" needs a table [tftp]'
    if not uboot.prompt.strip():
        yield ("uboot", "prompt"), "expected more than spaces"
    if "{address}" not in uboot.boot:
        yield ("uboot", "boot"), "expected {address} in it, for where the image is"


def known_boards() -> list[str]:
    """The names of the descriptions in the package."""
    return sorted(path.stem for path in KNOWN.glob("*.toml"))


def users_folder(env: Mapping[str, str]) -> Path:
    """The folder of the user's descriptions: $XDG_CONFIG_HOME/cellreap/boards."""
    base = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "~")) / ".config")
    return base.expanduser() / "cellreap" / "boards"


def find_board(name: str, env: Mapping[str, str] | None = None) -> Path:
    """The description that a name means: a file, the user's, or one in the package. UsageError."""
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    users = users_folder(os.environ if env is None else env)
    for folder in (users, KNOWN):
        path = folder / f"{name}.toml"
        if path.is_file():
            return path
    known = sorted({*known_boards(), *(path.stem for path in users.glob("*.toml"))})
    expected = f"expected a file NAME.toml, or one of {', '.join(known)}"
    raise UsageError(f"--board {name}: {hint(name, known)}{expected}")


def load_description(path: Path) -> Description:
    """Reads and checks a description. InputError for the first problem."""
    return parse_description(read_text(path), path)
