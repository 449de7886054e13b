# SPDX-License-Identifier: BSD-2-Clause
"""What PDs may do: nobody has more authority than its creator and the configuration allow."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from cellreap import headers
from cellreap.model import reference
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.independent import without
from cellreap.trace.events import Event, depth_in
from cellreap.trace.expected import RIGHTS

_PAGE = 4096
_NAMES: Final = frozenset({"pd", "asker", "op"})
"""The columns of RIGHTS that are no rules of its PD."""
_OF_SAVED: Final = {"priority": "1"}
"""A PD of a saved state never runs: its columns that are not 0."""
_OF_CREATOR: Final = (
    "account", "deadline_ms", "heartbeat_ms", "call_ms", "budget_us", "period_us", "passive"
)  # fmt: skip
"""What a spawned PD has from its creator."""
_SETS: Final = {"set_depth": {"pd_depth", "rs_depth"}, "pin": {"pinned"}}
"""Operation -> the columns that it changes, at least one of them."""
Row = Mapping[str, str]
"""The columns of a RIGHTS."""


def _beyond(row: Row, other: Row, rights: Container[str]) -> str | None:
    """What a PD may that another may not. rights: of these it may have what the other has."""
    if int(row["priority"]) > int(other["priority"]):
        return f"priority={row['priority']}: expected {other['priority']} at most"
    if row["reader"] not in ("0", other["reader"] if "reader" in rights else "0"):
        return f"reader={row['reader']}: expected {other['reader'] if 'reader' in rights else 0}"
    for right in RIGHTS:
        if row[right] == "1" and not (right in rights and other[right] == "1"):
            return f"{right}=1: expected {right}=0"
    return None


class Authority(Concern):
    """RIGHTS, TRUST and DUMP, and what follows from them for other events."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows: dict[str, Row] = {}  # by PD, also of those that are destroyed
        self._configured: dict[str, Row] = {}  # by account: the first PD's, a configured one
        self._system: tuple[str, str] = ("0", "0")
        self._protected: set[str] = set()
        self.trusts: dict[str, list[int]] = {}
        """PD -> the accounts of the configured PDs whose policy it may change"""
        self.rightless: str | None = None  # the PD whose RIGHTS must come

    # -- for other concerns

    def number(self, pd: str, column: str) -> int:
        """A column of the PD's RIGHTS. 0 if it has none."""
        return int(self._rows[pd][column]) if pd in self._rows else 0

    def deadlines(self) -> list[tuple[str, int]]:
        """The live PDs that have a deadline, with it in milliseconds."""
        every = ((pd, self.number(pd, "deadline_ms")) for pd in self.context.model.pds())
        return [(pd, deadline) for pd, deadline in every if deadline]

    def may_govern(self, asker: str, pd: str) -> bool:
        """Whether the configuration trusts a PD with the policy of another, or with its own."""
        known = pd in self._rows and pd not in self.context.report.spawned
        return known and self.number(pd, "account") in self.trusts.get(asker, [])

    def begin(self, event: Event) -> None:
        """TRACE: the depths of the system."""
        self._system = (event["pd_depth"], event["rs_depth"])

    def demand_rights(self) -> None:
        """Checks that the RIGHTS of the last PD came before this event."""
        if self.rightless is not None:
            self.bad("authority.rights", f"before the RIGHTS of {self.rightless}")
            self.rightless = None

    def spawned(self, event: Event) -> None:
        """A PD has created another."""
        pd, created = event["from"], event["to"]
        creators, its = self._rows.get(pd), self._rows.get(created)
        if creators is None or its is None:
            return
        self.demand(pd, "spawn")
        pd_depth, rs_depth = self._system
        wanted = {"pd_depth": pd_depth, "rs_depth": rs_depth, "respawns": "0"}
        wanted.update((column, creators[column]) for column in _OF_CREATOR)
        found = _beyond(its, creators, ()) or ("a TRUST" if created in self.trusts else None)
        for column, value in wanted.items():
            if its[column] != value:
                found = f"{column}={its[column]}: expected {value}"
        if found is not None:
            self.bad("authority.spawn", f"{created}, which {pd} created, has {found}")

    def demand(self, pd: str, right: str) -> None:
        """Checks that the PD has a right that it uses."""
        if pd in self._rows and self._rows[pd][right] == "0":
            self.bad("authority.right", f"{pd} has not the right to {right}")

    def cleanup(self, event: Event) -> None:
        """CLEANUP: a cleanup has the depths of its trigger."""
        pd_depth, rs_depth = self._depths_of(event["trigger"])
        self.compare("authority.cleanup", pd_depth=pd_depth, rs_depth=rs_depth)

    def depths_of(self, pd: str) -> tuple[int | None, int | None]:
        """The depths of the cleanup that the PD triggers. None: no limit."""
        pd_depth, rs_depth = self._depths_of(pd)
        return depth_in(pd_depth), depth_in(rs_depth)

    def _depths_of(self, pd: str) -> tuple[str, str]:
        row = self._rows.get(pd)
        return self._system if row is None else (row["pd_depth"], row["rs_depth"])

    def would_destroy(self, pd: str, *, tree: bool = False) -> str | None:
        """A protected PD that the cleanup of a PD would destroy. tree: of all that it created."""
        if not self._protected:
            return None
        # What cleanups under way doom goes with them, whatever this one does.
        model = without(self.context.model, self.context.cleanups.doomed())
        depths = self.depths_of(pd)
        if tree:
            plan = reference.subtree(model, pd, *depths)
        else:
            plan = reference.plan(model, pd, *depths, self.context.settings.closeness)
        return next((each for each, _ in plan.destroyed_pds if each in self._protected), None)

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        self._protected.discard(pd)
        self.trusts.pop(pd, None)

    # -- events

    @outside("RIGHTS")
    def rights(self, event: Event) -> None:
        """RIGHTS: the rules of a new PD, or its policy changes."""
        pd, row = event["pd"], event.values
        before, self._rows[pd] = self._rows.get(pd), row
        if before is None:
            self._made(event, pd, row)
        else:
            self._changed(event, pd, before)
        if pd in self.context.model.nodes:
            self.context.model.set_pinned(pd, row["pinned"] == "1")
        if row["protected"] == "1" and row["pinned"] == "0":
            self.bad("authority.pin")

    def _made(self, event: Event, pd: str, row: Row) -> None:
        """The rules of a new PD."""
        before, saved = self.context.previous, pd in self.context.saved.pds
        follows = before.name == "BODY" and before["of"] == pd
        if not follows or self.rightless != pd or (not saved and row["account"] == "0"):
            self.bad("authority.rights")
        self.rightless = None
        own = {"pd_depth": self._system[0], "rs_depth": self._system[1], **_OF_SAVED}
        columns = row.keys() - _NAMES - {"pinned"}
        if saved and any(row[column] != own.get(column, "0") for column in columns):
            self.bad("authority.rights", f"pd={pd}: a PD of a saved state has no rights")
        first = self._configured.setdefault(row["account"], row)
        found = _beyond(row, first, (*RIGHTS, "reader"))
        if found is not None:
            self.bad("authority.account", found)
        budget, period = event.number("budget_us"), event.number("period_us")
        if budget > period or (budget == 0) != (period == 0) or (budget and row["passive"] == "1"):
            self.bad("authority.budget")
        if row["protected"] == "1":
            self._protected.add(pd)
        self.context.respawns.rule(event)

    def _changed(self, event: Event, pd: str, before: Row) -> None:
        """An operation has changed the policy of a PD."""
        context, asker, op = self.context, event["asker"], event["op"]
        changed = {column for column in before.keys() - _NAMES if before[column] != event[column]}
        if not changed or not changed <= _SETS.get(op, set()):
            self.bad(
                "authority.rights", f"pd={pd}: other {', '.join(sorted(changed)) or 'nothing'}"
            )
        own = op == "set_depth" and asker == pd and before["set_depth"] == "1"
        if not (own or self.may_govern(asker, pd)):
            self.bad("authority.policy")
        stopped = context.actors.is_suspended(pd) and pd in context.actors.silent
        if stopped and pd not in context.blame.held:
            self.bad("authority.stopped")

    @outside("TRUST")
    def trust(self, event: Event) -> None:
        """TRUST: a new PD may change the policy of a configured one."""
        pd, account, before = event["pd"], event.number("account"), self.context.previous
        made = before.name in ("RIGHTS", "TRUST") and before["pd"] == pd
        trusts = self.trusts.setdefault(pd, [])
        if not made or account in trusts or not self.context.accounts.may_exist(account):
            self.bad("authority.trust")
        trusts.append(account)

    @outside("DUMP")
    def dump(self, event: Event) -> None:
        """DUMP: a PD reads memory of a doomed PD."""
        context, pd, by = self.context, event["pd"], event["by"]
        if not context.actors.may_act(event, by):
            return
        reader, address = self.number(pd, "reader"), event.number("address")
        reads = reader and reader == self.number(by, "account") and by not in context.report.spawned
        goes = context.cleanups.dooms_pd(pd) or pd in context.freed.stopped
        most = headers.constant("protocol.h", "CR_DUMP_WORDS")
        words = min((_PAGE - address % _PAGE) // 8, most)
        if not (reads and goes) or address % 8 or event.number("words") != words:
            self.bad("authority.dump")
