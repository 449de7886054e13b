# SPDX-License-Identifier: BSD-2-Clause
"""Replays a trace against the reference model. docs/trace-rules.md lists the rules.

The checker derives everything that it can from the events and does not rely on what the root task
claims. It rebuilds the model from the events. The plan of each cleanup must be the reference's plan
for that model. The steps, notices, freed memory and remaining state that the root task prints must
follow from the two. The report lists each contradiction with its line and rule.

`Replay` is the frame. Every other class has one concern and handles the events of that concern.
"""

from cellreap.trace.check.replay import Replay
from cellreap.trace.check.stream import check, check_file, check_stream
from cellreap.trace.report import Cleanup, Report, report_json

__all__ = ["Cleanup", "Replay", "Report", "check", "check_file", "check_stream", "report_json"]
