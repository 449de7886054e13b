# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's system descriptions, as configurations of cellreap.

`elements` takes the XML apart, `reading` makes typed `rows` of it, `rules` refuses what Microkit
refuses on a `board`, `importing` makes a configuration to work on, and `runnable` one that runs
the programs of Microkit as they are.
"""

from cellreap.system.importing import Imported, Note
from cellreap.system.microkit.board import ANY_BOARD, board_facts
from cellreap.system.microkit.importing import import_system
from cellreap.system.microkit.runnable import runnable_system

__all__ = ["ANY_BOARD", "Imported", "Note", "board_facts", "import_system", "runnable_system"]
