# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions in capDL, as configurations of cellreap.

`reading` takes the text apart, and `importing` makes the configuration.
"""

from cellreap.system.capdl_import.importing import import_capdl

__all__ = ["import_capdl"]
