# SPDX-License-Identifier: BSD-2-Clause
"""The kernel calls that each step of a cleanup needs, by kind.

Their numbers follow from the model, the slots and the notices, and are exact for every step:

- `suspend`: the PD's thread is suspended. Its endpoint is revoked, which takes all capabilities to
  the PD, and deleted, which restarts the calls that are queued there. The reply object of a passive
  PD, and of one that is called over channels, is deleted too. Calls that give lent time back, and
  those at the door of a PD for Microkit, are not counted. A call that the PD has
  received is found in the registers of the caller, so these are read once for each PD with a slot
  that leads to the stopped one and with a thread that is not suspended. Each PD that is answered
  (THREAD answered) is resumed. These calls count for this step, no matter when the PD was stopped.
- `cut-request`, and `destroy-resource` for each resource: if the server lives on, the messages that
  wait at its endpoint are cancelled, the capabilities of all holders are revoked, and their parent
  is deleted. If the server is stopped, its endpoint is gone, and all of them with it. The server of
  the capability to a PD is the root task, which always lives.
- `destroy-pd`: each region of the PD is revoked, and then its untyped, of which everything else of
  it was made.
- `tell`, `notify`: the receiver is signalled if it is not stopped and had nothing to fetch before
  the step. A signal stays until it is received, and the receiver then fetches until nothing is
  left.
- `mark`, `await`, `destroy-space`: only the model changes.

A step that was attempted several times needs at least the calls of one attempt, and at most as many
in each. If it was left before, it may need fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from cellreap.model.ids import ROOT, is_line, is_memory, is_region
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.own_slots import has_parent
from cellreap.trace.check.running import QUEUEING, Running
from cellreap.trace.events import Event, counts_in

STOPS: Final = {"suspend": 1, "revoke": 1, "delete": 1}
TAKES: Final = {"cancel-sends": 1, "revoke": 1, "delete": 1}
QUIETS: Final = {"copy": 1, "map": 2, "delete": 1}
"""Of a device, for each entry of its `on_death`."""
TAKES_LINE: Final = {"revoke": 1, "delete": 1}
TAKES_THREAD: Final = {"delete": 1, "copy": 1}
DESTROYS_BODY: Final = {"revoke": 1}
SIGNALS: Final = {"signal": 1}


class Calls(Concern):
    """The `calls` and `kinds` of STEP. Has no events of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._stops: dict[str, Counter[str]] = {}
        """PD that is stopped -> the calls that stopped it"""
        self._signal: bool | None = None
        """whether the first QUEUE of a step needed a signal, until the STEP comes"""

    # -- for other concerns

    def stop(self, pd: str) -> None:
        """A PD is stopped."""
        context = self.context
        calls = Counter(STOPS)
        for caller in context.slots.callers(pd):
            if caller != pd and not context.actors.is_suspended(caller):
                calls["read-registers"] += 1
        edges = context.configured.edges
        config = edges.config(pd)
        calls["delete"] += bool(config.has_door or context.authority.number(pd, "passive"))
        if config.parent and edges.live(config.parent):
            calls.update(TAKES_THREAD)
        self._stops[pd] = calls + _times(QUIETS, sum(each.quiets for each in config.maps))

    def resume(self, server: str) -> None:
        """A PD is answered because the server was stopped."""
        if server in self._stops:
            self._stops[server]["resume"] += 1

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        self._stops.pop(pd, None)

    def queue(self, running: Running, to: str) -> None:
        """A notice of a cleanup will be queued. `running.notifying` has not seen it yet."""
        if not running.notifying:
            self._signal = self._signals(to)

    def step(self, running: Running, event: Event) -> None:
        """Checks the kernel calls of a step, before anything else records the step."""
        made, name = counts_in(event["kinds"]), event["name"]
        running.count_calls(made)
        needs = self._expected(name, event["node"], event["pd"])
        if name == "suspend" and needs is not None and self.context.expected is None:
            # Without the configuration nobody knows what makes its devices quiet.
            needs = Counter(needs) + _times(QUIETS, made.get("map", 0) // QUIETS["map"])
        attempts = self.context.takeovers.attempts(event)
        left = self.context.takeovers.done(event)
        if needs is None:
            return
        things = event.number("count") if name == "destroy-resource" else 1
        due = _times(needs, things)
        if made == due:
            return
        if attempts == 1 and left is None:
            self._bad(_shown(due))
            return
        # The attempts may have failed at the resource behind those that the step destroyed.
        behind = len(running.left_with(event["node"])) > things
        most = _times(needs, things - 1 + attempts + behind)
        all_made = Counter(made) + (left or Counter())
        if not (due <= all_made and Counter(made) <= most):
            self._bad(f"{_shown(due)}, and {_shown(needs)} in each of {attempts} attempts")

    def _bad(self, expected: str) -> None:
        self.bad("cleanup.step_calls", f"{self.context.event}: expected {expected}")

    def residue(self, running: Running, event: Event) -> None:
        """TAKEOVER: a step is left. The kernel calls of its attempts count for the cleanup."""
        kinds = event.counts("kinds")
        running.count_calls(kinds)
        if event["step"] == "suspend":
            return  # the calls of its end are not known before it
        needs = (
            {}
            if event["step"] in QUEUEING
            else self._expected(event["step"], event["node"], event["pd"])
        )
        if needs is not None and not kinds <= _times(needs, event.number("attempts")):
            self._bad(f"at most {_shown(needs)} in each attempt")

    # -- what each step needs

    def _expected(self, name: str, node: str, pd: str) -> Mapping[str, int] | None:
        """The calls that a step needs. None if the step itself is wrong."""
        if name == "suspend":
            return self._stops.get(pd)
        if name == "destroy-pd":
            edges = self.context.model.edges_at(node)
            regions = sum(kind == "HOLD" and is_region(held) for kind, _, held in edges)
            return _times(DESTROYS_BODY, 1 + regions)
        if name == "destroy-resource" and is_memory(node):
            return DESTROYS_BODY
        if name == "destroy-resource" and not has_parent(self.context, node):
            return {}
        if name == "destroy-resource" and is_line(node):
            return TAKES_LINE
        if name in ("cut-request", "destroy-resource"):
            return TAKES if self._is_served(node) else {}
        if name in ("tell", "notify"):
            signals = self._signals(pd) if self._signal is None else self._signal
            self._signal = None
            return SIGNALS if signals else {}
        return {}

    def _is_served(self, node: str) -> bool:
        """Whether the server of a space or resource lives on. For core spaces: the root task."""
        model = self.context.model
        server = model.manager.get(model.space_of.get(node, node), ROOT)
        return server not in self.context.freed.stopped

    def _signals(self, to: str) -> bool:
        """Whether a notice that is queued now needs a signal."""
        return to not in self.context.freed.stopped and not self.context.notices.work.is_ready(to)


def _times(calls: Mapping[str, int], factor: int) -> Counter[str]:
    return Counter({kind: factor * count for kind, count in calls.items()})


def _shown(calls: Mapping[str, int]) -> str:
    """As `kinds` tells them."""
    return ",".join(f"{kind}:{count}" for kind, count in sorted(calls.items()) if count) or "-"
