# SPDX-License-Identifier: BSD-2-Clause
"""Consoles of runs of the small checkout's configuration, simulated."""

from __future__ import annotations

from dataclasses import replace

from cellreap.runs.expectation import expected_by
from cellreap.trace.writer import Draft, seal
from kit.configured_story import Configured
from kit.residue_run import Leaving
from kit.small_checkout import Bench


def console(events: list[Draft]) -> str:
    lines = [line.rstrip("\n") for line in seal(events)]
    return "Booting all finished, dropped to user space\n" + "\n".join(lines) + "\n"


def trace(bench: Bench, kernel: str = "seL4 16.0.0+", pd_depth: int = 0) -> str:
    """The console of a run of CONFIG in which the server takes a page fault."""
    return console(told(bench, kernel, pd_depth))


def told(bench: Bench, kernel: str = "seL4 16.0.0+", pd_depth: int = 0) -> list[Draft]:
    """The events of that run."""
    image = bench.folder / "told.img"
    if not image.exists():
        assert bench.cellreap("build", bench.config, "-o", image).returncode == 0
    return story(
        Configured(replace(expected_by(image), kernel=kernel, depths=(str(pd_depth), "0")))
    )


class LeavingServer(Leaving, Configured):
    """A target whose cleanup cannot destroy the server."""


def story(target: Configured) -> list[Draft]:
    """The events of a run of the target in which the server takes a page fault."""
    config = target.config
    target.boot()
    target.work("server")
    target.work("client")
    target.hold(target.ids["client"], target.resource("BLOCK_SPACE_3"))
    target.quiet()
    target.crash(1, config.crashes[0])
    if config.depths[0] == "0":
        target.say(target.ids["client"], "lost disk, but I still work")
    return target.end()
