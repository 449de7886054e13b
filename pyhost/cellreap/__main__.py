# SPDX-License-Identifier: BSD-2-Clause
"""`python -m cellreap` is the command line."""

from __future__ import annotations

from cellreap.cli.main import main

if __name__ == "__main__":
    main()
