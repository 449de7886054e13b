# SPDX-License-Identifier: BSD-2-Clause
"""What the public functions and classes of `cellreap` are made of.

The command line and the pytest plugin use these modules too. Users import from `cellreap`, which
takes the names from here when they are first used.
"""
