# SPDX-License-Identifier: BSD-2-Clause
"""Configurations, SDKs and images."""
