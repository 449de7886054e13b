# SPDX-License-Identifier: BSD-2-Clause
"""cellreap: what a crash takes with it on seL4, decided, done, traced and checked."""

__version__ = "0.1.0"
