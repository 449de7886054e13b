# SPDX-License-Identifier: BSD-2-Clause
"""The machines that the root task knows, as platforms/ in the sources has them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.arches import ARCHES

_TABLE: Final = "platforms/platforms.h"


@dataclass(frozen=True)
class Uart:
    """A UART: it takes a byte when a bit of its status has a certain value."""

    address: int
    """A port on x86_64."""
    bytes: int
    """The size of a register."""
    data: int
    """Offset of the register for the byte."""
    status: int
    """Offset of the register with the bit."""
    mask: int
    """The bit."""
    busy: int
    """The bit's value as long as no byte is taken."""
    control: int
    """Offset of the register that turns it on."""
    on: int
    """What is written there first. 0: nothing."""
    driven: int
    """Whether the root task has a driver for it."""


@dataclass(frozen=True)
class Emulation:
    """How a platform is emulated."""

    program: str
    package: str
    """The Debian package that has the program."""
    machine: str
    """The value of -machine."""
    machines: Mapping[str, str]
    """Key of gen_config.json -> what is added to it if the key is on."""
    ram: tuple[tuple[int, int], ...]
    """Where its memory is: start and most bytes, in the order in which it is filled."""
    mib: int
    """Its memory in MiB. 0: the kernel's build says how much there is."""
    cpu: str
    """The value of -cpu if no option of the kernel is in `cpus`. Empty: it cannot run the kernel.
    """
    cpus: Mapping[str, str]
    """Key of gen_config.json -> the value of -cpu. The first key that is on counts."""
    lacks: tuple[tuple[str, str], ...]
    """Options that the kernel must not have: key of gen_config.json, option of CMake."""
    files: tuple[tuple[str, str], ...]
    """What it boots: option, file name."""
    drives: tuple[str, str] | None
    """The options of -drive and -device for a drive; %s is its name. None: it has no drives."""


@dataclass(frozen=True)
class Platform:
    """A row of the table."""

    name: str
    """As KernelPlatform names it."""
    arch: str
    uart: Uart
    """The one that the kernel prints to."""
    emulation: Emulation | None
    timer: tuple[int, int] | None
    """The address and the interrupt of the timer that the root task drives where it gets none of
    the architecture's, nor the time from the kernel. None: the machine has none of its own.
    """
    kept: tuple[tuple[int, int], ...]
    """Addresses [start, end) of devices that no PD gets: aliases of the kernel's own."""
    el3: tuple[int, int] | None
    """Distributor and CPU interface of the interrupt controller of a machine that enters the loader
    in EL3. None: it enters in a lower level.
    """


def _read() -> dict[str, Platform]:
    uarts = {str(row[0]): row[1:] for row in headers.own_table(_TABLE, "CR_UART")}
    found = {}
    for prefix, _, name, arch, uart, address in headers.own_table(_TABLE, "CR_PLATFORM"):
        its = Uart(int(address), *(int(x) for x in uarts[str(uart)]))
        el3 = next(((int(low), int(cpu)) for low, cpu in _rows("CR_EL3", str(prefix))), None)
        timer = next(((int(row[0]), int(row[1])) for row in _rows("CR_TIMER", str(prefix))), None)
        kept = [(int(start), int(end)) for start, end in _rows("CR_KEPT", str(prefix))]
        found[str(name)] = Platform(
            str(name), str(arch), its, _emulation(str(prefix)), timer, tuple(kept), el3
        )
    return found


def _rows(macro: str, prefix: str) -> Iterator[list[str | int]]:
    for of, *fields in headers.own_table(_TABLE, macro):
        if of == prefix:
            yield fields


def _pairs(macro: str, prefix: str) -> tuple[tuple[str, str], ...]:
    return tuple((str(first), str(second)) for first, second in _rows(macro, prefix))


def _emulation(prefix: str) -> Emulation | None:
    for program, package, machine, mib, cpu in _rows("CR_QEMU", prefix):
        return Emulation(
            str(program),
            str(package),
            str(machine),
            dict(_pairs("CR_QEMU_MACHINE", prefix)),
            tuple((int(start), int(most)) for start, most in _rows("CR_RAM", prefix)),
            int(mib),
            str(cpu),
            dict(_pairs("CR_QEMU_CPU", prefix)),
            _pairs("CR_QEMU_LACKS", prefix),
            _pairs("CR_QEMU_FILE", prefix),
            next(iter(_pairs("CR_QEMU_DRIVE", prefix)), None),
        )
    return None


PLATFORMS: Final[Mapping[str, Platform]] = _read()
"""Name -> platform."""


def emulated(arch: str) -> Platform:
    """The first platform of an architecture that is emulated."""
    return next(
        each for each in PLATFORMS.values() if each.arch == arch and each.emulation is not None
    )


def emulator_of(arch: str) -> str:
    """The program that emulates the machines of an architecture."""
    emulation = emulated(arch).emulation
    assert emulation is not None
    return emulation.program


def mcs_is_exact(arch: str) -> bool:
    """Whether a kernel with MCS gives the root task the time, so that it needs no device."""
    return headers.own_constant(f"../platforms/{arch}.h", "CR_MCS_IS_EXACT") == 1


def levels(arch: str) -> tuple[str, ...]:
    """capDL's words for an address space and its tables, the one that spans most first.

    An address space with fewer levels has the last of them.
    """
    header = f"platforms/{arch}.h"
    vspaces = [str(row[0]) for row in headers.own_table(header, "CR_VSPACE")]
    tables = [str(row[0]) for row in headers.own_table(header, "CR_TABLE_LEVEL")]
    return (next(word for word in vspaces if word not in tables), *tables)


@functools.cache
def register_names(arch: str) -> tuple[str, ...]:
    """The registers of a thread, in the order of seL4_UserContext. Empty: no such architecture."""
    known = arch in ARCHES
    rows = headers.own_table(f"platforms/{arch}.h", "CR_REGISTER") if known else []
    return tuple(str(row[0]) for row in rows)


def with_registers(names: Iterable[str]) -> tuple[str, ...]:
    """All registers of the first architecture that has these. ValueError: none has all of them."""
    for arch in ARCHES:
        if set(names) <= set(register_names(arch)):
            return register_names(arch)
    raise ValueError(f"{', '.join(names)}: no architecture has these registers")
