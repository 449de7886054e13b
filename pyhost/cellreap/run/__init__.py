# SPDX-License-Identifier: BSD-2-Clause
"""Boots images and summarises their runs."""
