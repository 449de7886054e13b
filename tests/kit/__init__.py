# SPDX-License-Identifier: BSD-2-Clause
"""What several test modules share. Test modules import from here, never from each other."""
