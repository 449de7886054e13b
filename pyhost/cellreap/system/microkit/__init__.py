# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's system descriptions, as configurations of cellreap.

`elements` takes the XML apart, `reading` makes typed `rows` of it, `rules` refuses what Microkit
refuses on a `board`, and `importing` makes the configuration.
"""

from cellreap.system.importing import Imported, Note
from cellreap.system.microkit.board import ANY_BOARD, board_facts
from cellreap.system.microkit.importing import import_system

__all__ = ["ANY_BOARD", "Imported", "Note", "board_facts", "import_system"]
