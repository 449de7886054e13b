# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns: many boots, whose results survive the process that makes them."""
