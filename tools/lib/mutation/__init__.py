# SPDX-License-Identifier: BSD-2-Clause
"""Implementation of `tools/mutate`: plants faults in the sources and shows what notices them.

A fault is a small edit of a source file. The named faults are written down, the seeded ones are
drawn from all that the operators find. Each is planted in a copy of the checkout, and the checks
that are likeliest to notice it run there until one fails.
"""
