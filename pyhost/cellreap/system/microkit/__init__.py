# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's system descriptions, as configurations of cellreap.

`reading` takes the XML apart, `elements` says what each element and attribute means here, and
`importing` makes the configuration.
"""

from cellreap.system.importing import Imported, Note
from cellreap.system.microkit.importing import import_system

__all__ = ["Imported", "Note", "import_system"]
