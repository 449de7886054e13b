# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's system descriptions, as configurations of cellreap.

`elements` takes the XML apart, `reading` makes typed `rows` of it, `rules` refuses what Microkit
refuses on a `board`, `importing` makes a configuration to work on, and `runnable` one that runs
the programs of Microkit as they are.
"""
