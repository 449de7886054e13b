# SPDX-License-Identifier: BSD-2-Clause
"""A run in which a PD cannot be destroyed for some time. A cleanup leaves it, and a later run
destroys it.
"""

from __future__ import annotations

from typing import ClassVar

from cellreap.model import reference
from cellreap.model.graph import Model
from cellreap.trace.writer import Draft
from kit.simulated_runs import block_fs_db_app
from kit.trace_simulator import Target

FAILURES = 9
"""three in each run over the phase, and three in the first later run"""


class Leaving(Target):
    """A target that cannot destroy one PD."""

    pd_left = "PD_1"
    failures = 0
    failure: ClassVar[dict[str, object]] = {
        "what": "fail-step", "word": "error", "value": 1, "second": 0, "third": FAILURES,
    }  # fmt: skip

    def _deaths(self, n: int) -> None:
        for attempts in (1, 2, 3):
            self.failures += 1
            step = {"step": "destroy-pd", "node": self.pd_left, "pd": self.pd_left}
            self.dies(n, attempts, self.failure, **step)

    def fails(self, n: int, pd: str) -> bool:
        if pd != self.pd_left or self.failures == FAILURES:
            return False
        self.remains.add(pd)
        self._deaths(n)
        return True

    def leave(self, n: int) -> None:
        if n == 1:
            self._deaths(n)

    def after(self, plan: reference.Plan) -> Model:
        gone = super().after(plan)
        if self.tombstones:
            return gone
        after = self.model.copy()
        after.discard(set(after.nodes) - set(gone.nodes) - self.remains)
        self.tombstones = len(plan.doomed() - self.remains)
        return after

    def recover(self, n: int, run: int) -> None:
        """A later run."""
        self.emit("RECOVER", n=n, run=run, digest=self.digest())
        before = self.model.copy()
        if self.failures < FAILURES:
            self._deaths(n)
        else:
            pd = self.pd_left
            step = {"n": n, "name": "destroy-pd", "node": pd, "pd": pd}
            self.free_pd(pd)
            self.emit("STEP", **step, kinds="revoke:1", count=1)
            self.doomed -= self.remains
            self.model.discard(self.remains)
            self.remains.clear()
            self.tombstones = 0
        self.state(n, before, cycles=99)
        if not self.remains:
            self.mourning.over(n)


def residue_run(attaches: bool = False) -> list[Draft]:
    """Block server 1 is left. Another cleanup comes, and then two later runs.

    attaches: it has memory of the database in its address space.
    """
    target = Leaving(0, 0)
    target.setting("fail-step", "error", 1, 0, FAILURES)
    pds = block_fs_db_app(target)
    if attaches:
        memory = target.memory(pds["db"])
        target.body_cap(pds["db"], target.pd_left)
        target.send_memory(pds["db"], memory, target.pd_left)
        target.memory(target.pd_left, memory)
    target.quiet()
    target.fault(pds["block_server_1"])
    target.cleanup()
    target.serve_all()
    target.say(pds["db"], "served")
    target.exit(pds["app"])
    target.recover(1, 1)
    target.account()
    target.cleanup()
    target.recover(1, 2)
    target.account()
    target.serve_all()
    return target.end()
