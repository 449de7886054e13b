# SPDX-License-Identifier: BSD-2-Clause
"""Puts images on boards with U-Boot, and records their consoles.

A description (`description`) says what board it is. A driver (`drivers`) switches its power and
carries its console (`board`). `talk` is what is said to U-Boot, and `flash` does all of it.
"""
