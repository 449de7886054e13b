# SPDX-License-Identifier: BSD-2-Clause
"""What several test modules share. Test modules import from here and never from each other."""
