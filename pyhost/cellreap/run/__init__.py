# SPDX-License-Identifier: BSD-2-Clause
"""Booting images, and telling what happened."""
