# SPDX-License-Identifier: BSD-2-Clause
"""What Microkit's tool writes into the programs of PDs: here it is written into a copy.

The file itself stays as it was linked. libmicrokit reads its IPC buffer's address from a variable.
So that is one of the symbols, and the buffer can be where cellreap has that of each PD.
"""

from __future__ import annotations

import struct
from typing import Final

from cellreap import headers
from cellreap.errors import CellreapError
from cellreap.system.config import Config, Pd, ends_of
from cellreap.system.elf import Executable
from cellreap.system.sections import SectionsError, sections_of

_BUFFER: Final = "__sel4_ipc_buffer"
_NAME_BYTES: Final = 64
_PAGE: Final = 4096
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_LOAD: Final = 1


def patched(config: Config, pd: Pd, program: Executable) -> bytes:
    """The program of a PD with the symbols that libmicrokit reads.

    CellreapError if it is not linked with libmicrokit, or if a symbol is not a place for its value,
    which Microkit's tool refuses, too. A version of libmicrokit may lack some symbols.
    """
    try:
        symbols = sections_of(program.raw).symbols
    except SectionsError:
        symbols = {}
    if _BUFFER not in symbols:
        text = f"{program.name}: has no symbol {_BUFFER}"
        raise CellreapError(f"{text}; expected a program that is linked with libmicrokit")
    missing = [name for name in pd.symbols if name not in symbols]
    if missing:
        raise CellreapError(f'{program.name}: has no symbol "{missing[0]}", which is to be set')
    raw = bytearray(program.raw)
    for name, value in _values(config, pd).items():
        if name not in symbols:
            continue
        if (count := sections_of(program.raw).counts[name]) > 1:
            raise CellreapError(f'{program.name}: has {count} symbols "{name}"; expected one')
        if (size := symbols[name].bytes) < len(value):
            said = f'"{name}" has {size} bytes; expected at least {len(value)}, which are set'
            raise CellreapError(f"{program.name}: {said}")
        _write(raw, program, name, symbols[name].value, value)
    return bytes(raw)


def _values(config: Config, pd: Pd) -> dict[str, bytes]:
    notifications = sum(1 << end.id for end in ends_of(config, pd.name) if end.slot)
    irqs = sum(1 << it.bit for it in config.interrupts if it.pd == pd.name)
    calls = sum(1 << end.id for end in ends_of(config, pd.name) if end.calls)
    name = (pd.microkit_name or pd.name).encode()[:_NAME_BYTES]
    return {
        _BUFFER: headers.constant("protocol.h", "CR_VADDR_IPC_BUFFER").to_bytes(8, "little"),
        "microkit_name": name.ljust(_NAME_BYTES, b"\0"),
        "microkit_passive": bytes([pd.passive]),
        "microkit_notifications": notifications.to_bytes(8, "little"),
        "microkit_irqs": irqs.to_bytes(8, "little"),
        "microkit_pps": calls.to_bytes(8, "little"),
        **{symbol: number.to_bytes(8, "little") for symbol, number in pd.symbols.items()},
    }


def _write(raw: bytearray, program: Executable, name: str, address: int, value: bytes) -> None:
    table, entries = struct.unpack_from("<Q", raw, 0x20)[0], struct.unpack_from("<H", raw, 0x38)[0]
    for at in range(table, table + _SEGMENT.size * entries, _SEGMENT.size):
        kind, flags, offset, vaddr, paddr, filled, size, align = _SEGMENT.unpack_from(raw, at)
        if kind != _LOAD or not vaddr <= address <= address + len(value) <= vaddr + size:
            continue
        end = address + len(value) - vaddr
        if end > filled:
            # What is zero at first is not in the file: the segment up to the symbol is put behind
            # it, or, with much zero before the symbol, a segment of its own that begins there.
            cut = max((address & -_PAGE) - vaddr, 0)
            if cut > filled:
                _SEGMENT.pack_into(raw, at, kind, flags, offset, vaddr, paddr, filled, cut, align)
                at, offset, filled = _with_segment(raw), 0, 0
                vaddr, paddr, size, end = vaddr + cut, paddr + cut, size - cut, end - cut
            content = bytes(raw[offset : offset + filled]).ljust(end, b"\0")
            raw += bytes((vaddr - len(raw)) % _PAGE)
            offset = len(raw)
            raw += content
            _SEGMENT.pack_into(raw, at, kind, flags, offset, vaddr, paddr, end, size, align)
        start = offset + address - vaddr
        raw[start : start + len(value)] = value
        return
    raise CellreapError(f"{program.name}: {name} lies in no segment")


def _with_segment(raw: bytearray) -> int:
    """Puts the table of segments behind the file, with room for one more. Where that is."""
    table, entries = struct.unpack_from("<Q", raw, 0x20)[0], struct.unpack_from("<H", raw, 0x38)[0]
    content = raw[table : table + _SEGMENT.size * entries]
    raw += bytes(-len(raw) % 8)
    struct.pack_into("<Q", raw, 0x20, len(raw))
    struct.pack_into("<H", raw, 0x38, entries + 1)
    raw += content + bytes(_SEGMENT.size)
    return len(raw) - _SEGMENT.size
