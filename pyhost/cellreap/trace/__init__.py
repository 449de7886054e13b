# SPDX-License-Identifier: BSD-2-Clause
"""Reading traces and checking them."""
