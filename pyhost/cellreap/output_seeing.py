# SPDX-License-Identifier: BSD-2-Clause
"""What the commands that measure, audit and draw systems print with `--json` (output.py)."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from cellreap.output_parts import Drawn, UnknownPart, Verdict, Versioned


class Closeness(TypedDict):
    """A policy that is a metric. A PD is close if it passes any of the thresholds."""

    policy: Literal["metric", "both"]
    """Whether close PDs are doomed, or close dependents up to `pd_depth`."""
    fr_max: int | None
    """The largest FR. `null`: FR makes no PD close."""
    rsi_min: dict[str, tuple[int, int]]
    """By type, the least RSI: the first number divided by the second."""


class Pair(TypedDict):
    """How close two PDs are."""

    pds: tuple[str, str]
    """The two PDs."""
    fr: int | Literal["inf"] | None
    """Hops to the nearest PD on which both depend. `inf`: there is none. `null`: the source tells
    none, and does not tell everything."""
    rsi: dict[str, tuple[int, int]]
    """Type -> what both reach, and what at least one of them reaches."""


class BlastRadius(TypedDict):
    """How far a cleanup reached."""

    number: int
    """The number of the cleanup, from 1."""
    trigger: str
    """The PD that went down."""
    destroyed: list[Pair]
    """The trigger with each other PD that was destroyed, before the cleanup."""
    survivors: list[Pair]
    """The trigger with each PD that lives on, before the cleanup."""
    after: list[Pair]
    """All pairs of survivors, after the cleanup. Empty if the trace ends before."""


class MetricsOutput(Versioned):
    """`cellreap metrics --json`."""

    command: Literal["metrics"]
    """The command."""
    with_root: bool
    """Whether the root task may be the PD on which both depend."""
    pairs: NotRequired[list[Pair]]
    """The pair that was asked for, or all pairs. Without --cleanups."""
    cleanups: NotRequired[list[BlastRadius]]
    """With --cleanups."""
    within: NotRequired[bool]
    """With --within: whether no cleanup destroyed a PD that was farther from its trigger."""
    names: dict[str, str]
    """Id of each PD that has a name: its name."""
    unknown: list[UnknownPart]
    """What the source leaves open."""


class AuditOutcome(TypedDict):
    """What all single crashes do."""

    worst: list[str]
    """The PDs whose crash destroys most PDs."""
    destroyed: int
    """How many PDs that is, with the PD itself."""
    certain: int
    """How many of them go with the first of `worst` whatever the PDs request."""
    chains: dict[str, int] | None
    """Crash -> how many chains it leaves broken, if there is any. `null`: unknown."""
    survivors: list[str] | None
    """The PDs that some crash leaves with a broken chain. `null`: unknown."""
    broken: NotRequired[dict[str, list[tuple[str, str, str]]]]
    """With --list: crash -> survivor, what it holds, and what that was built on and went."""


class AuditFinding(AuditOutcome):
    """What all single crashes do at two depths."""

    pd_depth: int | Literal["inf"]
    """Hops of clients that are destroyed."""
    rs_depth: int | Literal["inf"]
    """Hops of mapped spaces that are destroyed."""


class AuditPairFinding(TypedDict):
    """What all crashes of two PDs, one after the other, do at two depths."""

    pd_depth: int | Literal["inf"]
    """Hops of clients that are destroyed."""
    rs_depth: int | Literal["inf"]
    """Hops of mapped spaces that are destroyed."""
    worst: tuple[str, str] | None
    """The first of the pairs whose crashes destroy most PDs. `null`: there are no two PDs."""
    destroyed: int
    """How many PDs that is."""
    broken_pairs: int
    """How many pairs leave a broken chain."""
    chains: int
    """How many broken chains the worst of them leaves."""


class AuditPairs(TypedDict):
    """What the crashes of two PDs would do."""

    findings: list[AuditPairFinding]
    """For each pair of depths."""
    smallest: list[tuple[int | Literal["inf"], int | Literal["inf"]]] | None
    """The smallest depths at which no two crashes leave a broken chain. `null`: unknown."""
    points: list[tuple[str, str]]
    """Pairs whose crashes destroy all others, if no depth limits them and nobody is pinned. Neither
    alone does."""


class AuditOutput(Versioned):
    """`cellreap audit --json`."""

    command: Literal["audit"]
    """The command."""
    policy: Literal["depth", "metric", "both"]
    """The policy."""
    findings: list[AuditFinding]
    """For each pair of depths."""
    configured: NotRequired[AuditOutcome]
    """At the depths that the configuration or the trace gives each PD."""
    smallest: list[tuple[int | Literal["inf"], int | Literal["inf"]]] | None
    """The smallest depths at which no crash leaves a broken chain. `null`: unknown."""
    pins: dict[str, list[str]]
    """Crash -> pinned PDs that only their pin saves at unlimited depth."""
    single_points: list[str]
    """PDs whose crash destroys all others, if no depth limits it and nobody is pinned."""
    pairs: NotRequired[AuditPairs]
    """With --pairs."""
    names: dict[str, str]
    """Id of each PD that has a name: its name."""
    unknown: list[UnknownPart]
    """What the source leaves open, and that of --diff."""
    worse: NotRequired[list[str]]
    """With --diff: what got worse, for people."""
    better: NotRequired[list[str]]
    """With --diff: what got better."""
    other: NotRequired[list[str]]
    """With --diff: what is only different."""


class GraphOutput(Versioned):
    """`cellreap graph --json`."""

    command: Literal["graph"]
    """The command."""
    output: str
    """The file."""
    form: Literal["svg", "png", "dot", "mermaid"]
    """What it is."""
    drawings: list[Drawn]
    """What it shows, in order: of a trace, the state before a cleanup and the one after it."""
    notes: list[str]
    """What its reader should know: what was left out, or is not in such a source."""
    unknown: list[UnknownPart]
    """What the source leaves open."""
    verdict: NotRequired[Verdict]
    """Of a trace: as `cellreap check` has it."""
    no_end: NotRequired[bool]
    """true: the trace has no END. Only then."""
    unverified: NotRequired[list[str]]
    """What the check of a trace could not verify. Only if there is any."""
