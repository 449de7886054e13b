# SPDX-License-Identifier: BSD-2-Clause
"""Pictures: model states as graphs, and runs as pages for a browser."""
