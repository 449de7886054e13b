# SPDX-License-Identifier: BSD-2-Clause
"""Replays a trace against the reference model. docs/trace-rules.md lists what is demanded.

The checker believes nothing that it can work out itself. It rebuilds the model from the events. The
plan of each cleanup is the reference's on that model. What the root task says it did, queued, freed
and has left must follow from these. The report lists every contradiction with its line and rule.

`Replay` is the frame. Each other class has one concern, and handles the events of its concern.
"""

from cellreap.trace.check.replay import Replay
from cellreap.trace.check.stream import check, check_file, check_stream
from cellreap.trace.report import Cleanup, Report, report_json

__all__ = ["Cleanup", "Replay", "Report", "check", "check_file", "check_stream", "report_json"]
