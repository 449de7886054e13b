# SPDX-License-Identifier: BSD-2-Clause
"""cellreap: cleans up after crashed seL4 protection domains, and checks the result."""

__version__ = "0.2.0"
