# SPDX-License-Identifier: BSD-2-Clause
"""Runs the command line for `python -m cellreap`."""

from __future__ import annotations

from cellreap.cli.main import main

if __name__ == "__main__":
    main()
