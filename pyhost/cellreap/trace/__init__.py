# SPDX-License-Identifier: BSD-2-Clause
"""Reads, checks and writes traces."""
