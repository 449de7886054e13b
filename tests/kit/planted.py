# SPDX-License-Identifier: BSD-2-Clause
"""Leaks that are planted in a copy of the sources of the root task.

One build has all leaks. A system has the leak whose number ends its name, so that an image costs
one link.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cellreap.headers import source_root

_SOURCES: Final = ("roottask", "pds", "examples", "tests/pds")

_Replacements = Mapping[str, tuple[tuple[str, str], ...]]

_SWITCH: Final[_Replacements] = {
    "roottask/kernel/kernel.h": (
        ("extern uint64_t cr_calls[CR_CALL_COUNT];", "extern char cr_leak;\n{}"),
    ),
    "roottask/kernel/kernel.c": (("uint64_t cr_calls[CR_CALL_COUNT];", "char cr_leak;\n{}"),),
    "roottask/system/system.c": (
        (
            "    cr_sys.image = image;\n",
            "{}    for (int i = 0; i < CR_NAME_BYTES && image->system[i] != 0; i++) {{\n"
            "        cr_leak = image->system[i];\n"
            "    }}\n",
        ),
    ),
}
"""File -> (text that occurs once, what replaces it). {}: the text itself."""

LEAKS: Final[Mapping[int, tuple[str, _Replacements]]] = {
    1: (
        "the holds of a deleted resource stay with their holders, while its server lives on",
        {
            "roottask/system/take.c": (
                (
                    "(cr_cancel_sends(parent) || cr_revoke(parent) || cr_delete(parent))) {{\n"
                    "        return CR_ERR_CORRUPT;",
                    "(cr_cancel_sends(parent) || (cr_leak != '1' && cr_revoke(parent)) ||\n"
                    "         cr_delete(parent))) {{\n        return CR_ERR_CORRUPT;",
                ),
            )
        },
    ),
    2: (
        "the request to a deleted space stays with its client, while its server lives on",
        {
            "roottask/system/take.c": (
                (
                    "if (cr_cancel_sends(parent) || cr_revoke(parent) || cr_delete(parent)) {{",
                    "if (cr_cancel_sends(parent) || (cr_leak != '2' && cr_revoke(parent)) ||\n"
                    "        cr_delete(parent)) {{",
                ),
            )
        },
    ),
    3: (
        "the body of a destroyed PD stays, with its thread and its CNodes",
        {
            "roottask/system/body.c": (
                (
                    "if (cr_untyped_revoke(body->block)) {{",
                    "if (cr_leak != '3' && cr_untyped_revoke(body->block)) {{",
                ),
            )
        },
    ),
    4: (
        "a lost slot is filled before its loss is acknowledged, and the trace names another",
        {
            "roottask/system/make.c": (
                (
                    "    *slot = find_slot(pd);\n",
                    "{}    for (uint32_t i = CR_SLOT_FIRST_FREE;\n"
                    "         cr_leak == '4' && i < 1u << pd->body.cspace_bits; i++) {{\n"
                    "        if ((pd->slots[i] & (CR_SLOT_LOST | CR_SLOT_LOST_PD)) != 0) {{\n"
                    "            *slot = i;\n"
                    "        }}\n"
                    "    }}\n",
                ),
                (
                    "    cr_trace_edge(CR_EV_REQUEST, pd->node, space, slot, by);\n",
                    "    cr_trace_edge(CR_EV_REQUEST, pd->node, space,\n"
                    "                  cr_leak == '4' ? find_slot(pd) : slot, by);\n",
                ),
            )
        },
    ),
    5: (
        "the root task keeps a copy of the parent of a deleted resource",
        {
            "roottask/system/take.c": (
                (
                    "    const cr_pd *server = cr_server_of(resource);\n",
                    "{}    if (cr_leak == '5' && server != 0 &&\n"
                    "        cr_mint(cr_slot_at(cr_cptr(CR_L1_POOL, (1u << CR_POOL_BITS) - 1)),\n"
                    "                cr_slot_at(cr_body_cap(&server->body, CR_BODY_ENDPOINT)),\n"
                    "                seL4_AllRights,\n"
                    "                cr_badge_resource(space.number, info.number))) {{\n"
                    "        return CR_ERR_CORRUPT;\n"
                    "    }}\n",
                ),
            )
        },
    ),
}
"""Number -> what leaks, and the replacements."""


def plant(folder: Path) -> Path:
    """Copies the sources into the folder, and plants all leaks. Returns the copy."""
    for name in _SOURCES:
        shutil.copytree(source_root() / name, folder / name)
    for replacements in (_SWITCH, *(replaced for _, replaced in LEAKS.values())):
        for name, pairs in replacements.items():
            path = folder / name
            text = path.read_text(encoding="utf-8")
            for old, new in pairs:
                before = old.format()
                assert text.count(before) == 1, f"{name}: {before!r} is not there once"
                text = text.replace(before, new.format(before))
            path.write_text(text, encoding="utf-8")
    return folder
