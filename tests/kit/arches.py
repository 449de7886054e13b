# SPDX-License-Identifier: BSD-2-Clause
"""The architectures that all tests run on. tests/boot/test_riscv64.py has the other one."""

from __future__ import annotations

from typing import Final

from cellreap.system.refkernel import arches_of_refkernel

ARCHES: Final = arches_of_refkernel()
