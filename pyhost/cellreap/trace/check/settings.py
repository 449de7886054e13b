# SPDX-License-Identifier: BSD-2-Clause
"""The settings of the system, which the trace tells before its first PD, and making that fails, by
injection or not: what was made before the failure is undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from cellreap.errors import UsageError
from cellreap.headers import constant, printed_names
from cellreap.model.closeness import MAX_FR, Closeness, parse_share
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.events import Event

OFTEN: Final = frozenset({"rsi-min", "fail-step", "fail-make"})
"""Settings of which there may be several."""
PLACE: Final = ("USAGE", "SETTING")
"""What a SETTING follows directly."""
IDLE: Final = {"word": "-", "value": "0", "second": "0", "third": "0"}
"""What a field says of which a setting makes no use."""
_FAILURE: Final = frozenset(IDLE)
USES: Final = {
    "mode": {"word"},
    "await": {"value"},
    "collect": set[str](),
    "policy": {"word"},
    "fr-max": {"value"},
    "rsi-min": {"word", "value", "second"},
    "fail-step": _FAILURE,
    "fail-make": _FAILURE,
}
"""Setting -> the fields of which it makes use."""


@dataclass(frozen=True)
class Failure:
    """A failure to inject. most: so many attempts fail; None: all do."""

    chain: str
    how: str
    text: str
    """As a configuration writes it."""
    most: int | None

    @classmethod
    def of(cls, event: Event) -> Failure:
        """What a SETTING says."""
        chain, how = event["what"].removeprefix("fail-"), event["word"]
        end = event.number("second") == constant("image.h", "CR_IMAGE_STEP_END")
        call = "end" if end else event["second"]
        place = event["value"] if call == "0" else f"{event['value']}.{call}"
        often = event.number("third")
        times = {0: "", 1: ":always"}.get(often, f":x{often}")
        return cls(chain, how, f"{chain}:{place}:{how}{times}", None if often == 1 else often or 1)


class Settings(Concern):
    """SETTING, INJECTED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.mode = ""
        self.await_ms = 0
        """how long a PD without a deadline is awaited; 0: there is no timer"""
        self.collects = False
        """whether the root task collects by itself"""
        self.closeness: Closeness | None = None
        """the policy; None: depth alone decides"""
        self.failures: list[Failure] = []
        self._seen: list[str] = []
        self._complete = False

    def complete(self) -> None:
        """The first PD: the settings are told."""
        self._complete = True
        if missing := [what for what in ("mode", "await") if what not in self._seen]:
            self.bad("settings.told", f"expected a SETTING {' and '.join(missing)} before it")
        close = self.closeness
        if close is not None and close.fr_max is None and not close.rsi_min:
            self.bad("settings.told", "expected a SETTING fr-max or rsi-min before it")
            self.closeness = None

    @outside("SETTING")
    def setting(self, event: Event) -> None:
        """SETTING: one of them."""
        what = event["what"]
        order = printed_names("trace_events.h", "CR_SETTING")
        before = max((order[each] for each in self._seen), default=0)
        late = (
            self.context.previous.name not in PLACE
            or self._complete
            or min(before, order["fail-step"]) > order[what]
        )
        again = what in self._seen and what not in OFTEN
        self._seen.append(what)
        idle = [field for field in IDLE if field not in USES[what]]
        if late or again or any(event[field] != IDLE[field] for field in idle):
            self.bad("settings.told")
        try:
            self._take(event, what)
        except (UsageError, ValueError) as error:
            self.bad("settings.told", str(error))

    def _take(self, event: Event, what: str) -> None:
        """Keeps a setting. ValueError, UsageError: it has no such value."""
        word, value, close = event["word"], event.number("value"), self.closeness
        if what == "mode":
            self.mode = _one_of(word, printed_names("trace_events.h", "CR_MODE"))
        elif what == "await":
            self.await_ms = value
        elif what == "collect":
            self.collects = True
        elif what == "policy":
            policy = _one_of(word, ("metric", "both"))
            self.closeness = Closeness(cast(Literal["metric", "both"], policy))
        elif what.startswith("fail-"):
            self._fail(event)
        elif close is None:
            raise ValueError(f"{what}: expected a policy before it")
        elif what == "fr-max":
            if value > MAX_FR:
                raise ValueError(f"value={value}: expected at most {MAX_FR}")
            self.closeness = Closeness(close.policy, value)
        elif word in (name for name, _, _ in close.rsi_min):
            raise ValueError(f"word={word}: told twice")
        else:
            share = parse_share(f"{value}/{event['second']}")
            self.closeness = replace(close, rsi_min=(*close.rsi_min, (word, *share)))

    def _fail(self, event: Event) -> None:
        _one_of(event["word"], printed_names("inject.h", "CR_INJECTION"))
        failure, injected = Failure.of(event), self.context.report.injected
        if failure.text in injected or event["value"] == "0":
            raise ValueError(f"{failure.text}: expected it once, and at a step")
        self.failures.append(failure)
        injected[failure.text] = 0

    @outside("INJECTED")
    def happens(self, event: Event) -> None:
        """INJECTED: a failure happens now."""
        failure, injected = Failure.of(event), self.context.report.injected
        count = injected.get(failure.text, 0)
        if failure not in self.failures or (failure.most is not None and count >= failure.most):
            self.bad("inject.happens")
        injected[failure.text] = count + 1
        self.context.making.demand(event)
        if failure.chain == "make":
            self.context.making.due = True
        else:
            self.context.takeovers.injected(event, failure.how)


def _one_of(word: str, words: Iterable[str]) -> str:
    if word not in words:
        raise ValueError(f"word={word}: expected one of {', '.join(words)}")
    return word


_CAPABILITY: Final = frozenset({"slot", "parent", "grant"})
_RESOURCE: Final = frozenset({"node", "edge", *_CAPABILITY})
STEPS: Final = {
    "pd": frozenset(printed_names("make_steps.h", "CR_MAKE_STEP")),
    "space": _RESOURCE,
    "resource": frozenset({"node", "edge", "slot", "parent"}),
    "request": _CAPABILITY | {"edge"},
    "hold": _RESOURCE,
    "map": frozenset({"edge"}),
    "subscription": frozenset({"edge"}),
    "memory": frozenset({"slot", "block", "objects", "node", "edge"}),
    "region": frozenset({"slot", "block", "objects", "table", "page", "node", "edge"}),
}
"""What is made -> the kinds of steps that this can take."""


class Making(Concern):
    """MAKE_FAILED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.due = False
        """an error was injected: the next event says so"""

    def demand(self, event: Event) -> None:
        """Any other event, or INJECTED."""
        if self.due and event.name != "MAKE_FAILED":
            self.bad("inject.making", "expected MAKE_FAILED before it")
        self.due = False

    @outside("MAKE_FAILED")
    def fail(self, event: Event) -> None:
        """MAKE_FAILED: a step was refused. Everything is as before."""
        known = event["kind"] in STEPS[event["what"]] and event["step"] != "0"
        if not known or event["status"] == "0":
            self.bad("making.step")
        self.compare("making.undone", undone=event.number("step") - 1)
        self.context.blame.calls_untold |= event["what"] in ("space", "request")
        self.context.memory.check_sums(event)
