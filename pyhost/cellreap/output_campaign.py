# SPDX-License-Identifier: BSD-2-Clause
"""What `cellreap campaign --json` prints (output.py)."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from cellreap.output_parts import Verdict, Versioned


class CellValues(TypedDict):
    """The values of a cell. null: what the configuration says, or the default kernel."""

    config: str
    """The file of the configuration."""
    arch: str
    """The architecture."""
    kernel: str | None
    """`seL4`, `refkernel`, or an SDK directory."""
    pd_depth: int | Literal["inf"] | None
    """The depth for PDs."""
    rs_depth: int | Literal["inf"] | None
    """The depth for spaces."""
    crash: str | None
    """The PD that crashes."""
    inject: str | None
    """The failure of the root task."""
    seed: int | None
    """The seed of the crashes by time."""
    board: str | None
    """The board. null: QEMU."""


class CampaignCell(TypedDict):
    """A cell of a campaign: one boot."""

    id: str
    """Its name, which is also that of its folder."""
    title: str
    """Its values in a line."""
    values: CellValues
    """Its values."""
    verdict: Verdict | Literal["flaky", "error"]
    """That of the trace. `flaky`: it passed after a boot that hung. `error`: it could not be built
    or booted.
    """
    findings: list[str]
    """Why it did not pass."""
    unverified: list[str]
    """What the check could not verify."""
    kernel: str | None
    """Name, version and architecture of the kernel."""
    boots: int
    """How many boots it took."""
    seconds: float
    """How long the last one took."""
    events: int
    """The events of its trace."""


class TaskStanding(TypedDict):
    """A task of a cell."""

    task: str
    """`configure`, `build`, `boot`, `capture` or `check`."""
    state: str
    """As TaskFlow has it: `PENDING`, `RUNNING`, `SUCCESS`, `FAILURE`, `REVERTED` and others."""
    failure: str | None
    """Why it failed."""


class CellTasks(TypedDict):
    """How far a cell is."""

    id: str
    """Its name, which is also that of its folder."""
    title: str
    """Its values in a line."""
    verdict: Verdict | Literal["flaky", "error"] | None
    """Its result. null: it has none yet."""
    outdated: bool
    """true: what is there was made from something else. The cell is run anew."""
    boots: int
    """How often it was booted."""
    tasks: list[TaskStanding]
    """Its tasks, in their order."""


class CampaignEffort(TypedDict):
    """What a campaign took on this machine, in this command."""

    seconds: float
    """How long it took."""
    processor_seconds: float
    """The processor time of all its processes."""
    cores: int
    """The cores that it could use."""


class CampaignOutput(Versioned):
    """`cellreap campaign --json`."""

    command: Literal["campaign"]
    """The command."""
    campaign: str
    """The name of the campaign."""
    folder: str
    """Where its state, its traces and its images are."""
    verdict: NotRequired[Literal["pass", "fail"]]
    """`pass` if all cells passed, some perhaps after another boot. With this and the next three
    keys, cells were run.
    """
    not_run: NotRequired[list[str]]
    """The cells that have no result, because a job before them on their board failed."""
    cells: NotRequired[list[CampaignCell]]
    """The cells, in the order of the matrix."""
    effort: NotRequired[CampaignEffort]
    """What it took here. What other machines of a job board did is not in it."""
    tasks: NotRequired[list[CellTasks]]
    """How far each cell is. Only with --tasks."""
    cleared: NotRequired[int]
    """The results that were deleted from the server. Only with --clear."""
