# SPDX-License-Identifier: BSD-2-Clause
"""Ids of nodes as text: `PD_<n>`, `<TYPE>_SPACE_<n>`, `<TYPE>_<space>_<object>`.

Numbers are hexadecimal, lower-case, without leading zeros and at most 32 bits wide, so that each
node has exactly one id.
"""

from __future__ import annotations

import functools
import re
from typing import Final, Literal, NamedTuple

NodeKind = Literal["PD", "RESOURCE_SPACE", "RESOURCE"]

ROOT: Final = "PD_0"
"""The root task. It is never destroyed."""

CORE_TYPES: Final = frozenset(
    {"ADS", "VMR", "MO", "VCPU", "PCPU", "CPU", "EP", "PD", "RESSPC", "IRQ", "PORT", "CHANNEL"}
)
"""Types of resources that the root task itself serves."""

MEMORY: Final = "MO"
REGION: Final = "VMR"
CHANNEL: Final = "CHANNEL"
"""The types of a memory object, and of a region: one that is mapped into an address space."""
ADDRESS_SPACE: Final = "ADS"
"""The type of an address space that several PDs share."""
INTERRUPT: Final = "IRQ"
PORTS: Final = "PORT"
"""The types of what PDs have of the machine beside memory: a line, and a range of I/O ports."""

MAX_ID_LENGTH: Final = 96

_NUMBER = r"(0|[1-9a-f][0-9a-f]{0,7})"
# A type may contain underscores (TOY_BLOCK), so the numbers are taken from the end.
_TYPE = r"([A-Z][A-Z0-9_]*)"
_PD = re.compile(rf"PD_{_NUMBER}\Z")
_SPACE = re.compile(rf"{_TYPE}_SPACE_{_NUMBER}\Z")
_RESOURCE = re.compile(rf"{_TYPE}_{_NUMBER}_{_NUMBER}\Z")


class NodeId(NamedTuple):
    """The parts of an id. `space` is None except for a resource. `type` is empty for a PD."""

    kind: NodeKind
    type: str
    space: int | None
    number: int


@functools.lru_cache(maxsize=1 << 14)
def parse_id(text: str) -> NodeId | None:
    """The parts of an id. None if the text is not an id."""
    if len(text) > MAX_ID_LENGTH:
        return None
    if match := _PD.match(text):
        return NodeId("PD", "", None, int(match[1], 16))
    if match := _SPACE.match(text):
        return NodeId("RESOURCE_SPACE", match[1], None, int(match[2], 16))
    if match := _RESOURCE.match(text):
        return NodeId("RESOURCE", match[1], int(match[2], 16), int(match[3], 16))
    return None


def is_id(text: str, kind: str, type_name: str) -> bool:
    """Whether the text is the id of a node of that kind. type_name: of a space or resource.

    As `parse_id` tells, which remembers ids. This is for more of them than it can remember.
    """
    if kind == "PD":
        return _PD.match(text) is not None
    if len(text) > MAX_ID_LENGTH:
        return False
    match = (_RESOURCE if kind == "RESOURCE" else _SPACE).match(text)
    return match is not None and match[1] == type_name


def pd_id(number: int) -> str:
    """The id of the PD with this number."""
    return f"PD_{number:x}"


def pd_behind(id_: str) -> str | None:
    """The PD that the id of a capability to a PD stands for. None: it is another id."""
    parts = parse_id(id_)
    capability = parts is not None and parts.kind == "RESOURCE" and parts.type == "PD"
    return pd_id(parts.number) if parts is not None and capability else None


def space_id(type_name: str, number: int) -> str:
    """The id of a space."""
    return f"{type_name}_SPACE_{number:x}"


def resource_id(type_name: str, space: int, number: int) -> str:
    """The id of a resource, from the number of its space and its own number in the space."""
    return f"{type_name}_{space:x}_{number:x}"


def parts_of(id_: str) -> NodeId:
    """The parts of the id of a node."""
    parts = parse_id(id_)
    assert parts is not None, id_
    return parts


def number_of(id_: str) -> int:
    """The number in the id of a node."""
    return parts_of(id_).number


def is_memory(id_: str) -> bool:
    """Whether this is the id of a memory object or a region."""
    parts = parse_id(id_)
    return parts is not None and parts.kind == "RESOURCE" and parts.type in (MEMORY, REGION)


def is_channel(id_: str) -> bool:
    """Whether this is the id of a channel."""
    parts = parse_id(id_)
    return parts is not None and parts.kind == "RESOURCE" and parts.type == CHANNEL


def is_address_space(id_: str) -> bool:
    """Whether this is the id of an address space that several PDs share."""
    parts = parse_id(id_)
    return parts is not None and parts.kind == "RESOURCE" and parts.type == ADDRESS_SPACE


def is_bare(id_: str) -> bool:
    """Whether it is no kernel object: a channel, or a shared address space, which is of a body."""
    return is_channel(id_) or is_address_space(id_)


def is_line(id_: str) -> bool:
    """Whether this is the id of an interrupt line or a range of I/O ports."""
    parts = parse_id(id_)
    return parts is not None and parts.kind == "RESOURCE" and parts.type in (INTERRUPT, PORTS)


def is_given(id_: str) -> bool:
    """Whether only the configuration gives it: what is bare, an interrupt, or ports."""
    return is_bare(id_) or is_line(id_)


def is_region(id_: str) -> bool:
    """Whether this is the id of a region."""
    return is_memory(id_) and id_.startswith(REGION)


def is_object(id_: str) -> bool:
    """Whether this is the id of a memory object."""
    return is_memory(id_) and not is_region(id_)


def kind_of(id_: str) -> NodeKind:
    """The kind of a node, from its id."""
    return parts_of(id_).kind
