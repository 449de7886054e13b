# SPDX-License-Identifier: BSD-2-Clause
"""Boots images and summarises their runs.

The folder is not called `run`, because a package of that name would replace the function
`cellreap.run` when it is imported.
"""
