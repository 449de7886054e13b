# SPDX-License-Identifier: BSD-2-Clause
"""The paths of the files that tests use.

No other module of the suite derives a path from its own place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
"""The checkout."""
CONFIGS: Final = ROOT / "configs"
"""The configurations for users."""
TESTS: Final = ROOT / "tests"
DATA: Final = TESTS / "data"
BAD_CONFIGS: Final = TESTS / "configs" / "bad"
"""Configurations with one mistake each, and the expected message beside each."""
BAD_PROGRAMS: Final = TESTS / "configs" / "bad_programs"
"""Configurations whose own programs have one mistake each, and the expected message beside each."""
BAD_MEMORY: Final = TESTS / "configs" / "bad_memory"
"""Configurations that need more memory than a machine has, and the expected message beside each. A
`*` in it stands for a number that the kernel determines.
"""
BAD_SAVED: Final = TESTS / "configs" / "bad_saved"
"""Configurations with a saved state that cannot be carried, with the expected message beside each.
"""
CAPDL: Final = DATA / "capdl"
"""Descriptions in capDL, and what becomes of each beside it."""
MICROKIT: Final = DATA / "microkit"
"""Microkit system descriptions, and what becomes of each beside it."""
BAD_MICROKIT: Final = MICROKIT / "bad"
"""Descriptions with one mistake each, and the expected message beside each."""
TIMED_CONFIGS: Final = TESTS / "configs" / "needs_timer"
"""Configurations that a kernel without a timer for user level must refuse."""
BOOT_CONFIGS: Final = TESTS / "boot" / "configs"
"""Configurations that only boot tests use."""
"""Consoles of real boots that were recorded with version 1 of the trace."""
VERSIONS: Final = DATA / "versions"
"""What each version of cellreap stored, by kind and version. These files are never changed: who
raises a version adds the files of the new one.
"""
GOLDENS: Final = DATA / "goldens"
"""Consoles of boots of the current version, and the reports on them.

`pytest --rewrite` makes both anew.
"""
TRUTH: Final = DATA / "truth" / "block_fs_db_app.trace"
"""Console of a boot of seL4 (x86_64) with the kernel's word."""
LEAKS: Final = DATA / "leaks.toml"
MEMORY_LEAKS: Final = DATA / "memory_leaks.toml"
RECOUNT: Final = DATA / "recount.toml"
LIES: Final = DATA / "lies.toml"
"""Leaks that a boot test plants in a copy of the root task."""
CELLULOS: Final = ROOT.parent / "shared" / "data" / "cellulos"
"""Model states that CellulOS wrote. They are not part of the repository."""
