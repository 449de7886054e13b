# SPDX-License-Identifier: BSD-2-Clause
"""Model states, what a crash dooms in them, and the binding of the C core."""
