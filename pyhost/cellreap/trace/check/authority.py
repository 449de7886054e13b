# SPDX-License-Identifier: BSD-2-Clause
"""What PDs may do: nobody has more authority than its creator and the configuration allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cellreap import headers
from cellreap.model import reference
from cellreap.trace.check.apart import without
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event

_PAGE = 4096
_FLAGS = ("set_depth", "extract", "spawn", "listen", "collect")


@dataclass(frozen=True)
class Rights:
    """What a RIGHTS event says of its PD."""

    priority: int
    account: int
    flags: frozenset[str]
    reader: int
    """the account whose first PD may read the PD's memory when it is doomed; 0: none"""

    @classmethod
    def of(cls, event: Event) -> Rights:
        """The rights in an event."""
        flags = frozenset(flag for flag in _FLAGS if event[flag] == "1")
        priority, account = event.number("priority"), event.number("account")
        return cls(priority, account, flags, event.number("reader"))

    def beyond(self, other: Rights) -> str | None:
        """What these rights have that the others lack; None if nothing."""
        if self.priority > other.priority:
            return f"priority={self.priority}: expected {other.priority} at most"
        if self.reader not in (0, other.reader):
            return f"reader={self.reader}: expected {other.reader}"
        for flag in sorted(self.flags - other.flags):
            return f"{flag}=1: expected {flag}=0"
        return None


_OF_SAVED = Rights(priority=1, account=0, flags=frozenset(), reader=0)
"""A PD of a saved state never runs."""


class Authority(Concern):
    """RIGHTS, DEPTHS, PROTECTED, TRUST and PIN, and what follows from them for other events."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rights: dict[str, Rights] = {}
        self._configured: dict[int, Rights] = {}  # by account: the first PD's, a configured one
        self._depths: dict[str, tuple[str, str]] = {}
        self._system: tuple[str, str] = ("0", "0")
        self._protected: set[str] = set()
        self._spawned: set[str] = set()
        self._trusts: dict[str, list[int]] = {}
        """PD -> the accounts of the configured PDs whose policy it may change"""
        self._without: str | None = None  # the PD whose RIGHTS must come

    # -- for other concerns

    def priority_of(self, pd: str) -> int | None:
        """The priority of a PD."""
        return self._rights[pd].priority if pd in self._rights else None

    def rights_of(self, pd: str) -> frozenset[str]:
        """The words of what a PD may do."""
        return self._rights[pd].flags if pd in self._rights else frozenset()

    def trusts_of(self, pd: str) -> tuple[int, ...]:
        """The accounts of the PDs whose policy it may change, in their order."""
        return tuple(self._trusts.get(pd, ()))

    def may_govern(self, asker: str, pd: str) -> bool:
        """Whether the configuration trusts a PD with the policy of another, or with its own."""
        rights = self._rights.get(pd)
        trusts = self._trusts.get(asker, [])
        return rights is not None and pd not in self._spawned and rights.account in trusts

    def reader_of(self, pd: str) -> int:
        """The account whose first PD may read the PD's memory when it is doomed. 0: none."""
        return self._rights[pd].reader if pd in self._rights else 0

    def begin(self, event: Event) -> None:
        """TRACE: the depths of the system."""
        self._system = (event["pd_depth"], event["rs_depth"])

    def need_rights(self, pd: str) -> None:
        """Requires the RIGHTS event of the PD."""
        self._without = pd

    def demand_rights(self, what: str) -> None:
        """Checks that the RIGHTS of the last PD came before this event."""
        if self._without is not None:
            self.context.bad("authority.rights", f"{what} before the RIGHTS of {self._without}")
            self._without = None

    def spawned(self, event: Event) -> None:
        """A PD has created another."""
        pd, created = event["from"], event["to"]
        self.context.collections.created(created)
        creators, its = self._rights.get(pd), self._rights.get(created)
        self._spawned.add(created)
        if creators is None or its is None:
            return
        self.demand(event, pd, "spawn")
        found = its.beyond(Rights(creators.priority, creators.account, frozenset(), 0))
        deadline = self.context.triggers.deadline_of(created)
        if its.account != creators.account:
            found = f"account={its.account}: expected {creators.account}"
        elif created in self._depths:
            found = "depths of its own: expected those of the system"
        elif created in self._trusts:
            found = "a TRUST: expected none"
        elif deadline != self.context.triggers.deadline_of(pd):
            found = f"a deadline of {deadline} ms: expected that of {pd}"
        elif self.context.hung.limits_of(created) != self.context.hung.limits_of(pd):
            found = f"other LIMITS than {pd}"
        if found is not None:
            text = f"{event.told}: {created}, which {pd} created, has {found}"
            self.context.bad("authority.spawn", text)

    def demand(self, event: Event, pd: str, right: str) -> None:
        """Checks that the PD has a right that it uses."""
        rights = self._rights.get(pd)
        if rights is not None and right not in rights.flags:
            self.context.bad("authority.right", f"{event.name}: {pd} has not the right to {right}")

    def cleanup(self, event: Event) -> None:
        """CLEANUP: a cleanup has the depths of its trigger."""
        trigger, has = event["trigger"], (event["pd_depth"], event["rs_depth"])
        expected = self._depths_of(trigger)
        if has != expected:
            text = f"pd_depth={has[0]} rs_depth={has[1]}: expected those of {trigger}"
            text += f", {expected[0]} and {expected[1]}"
            self.context.bad("authority.cleanup", f"CLEANUP: {text}")

    def depths_of(self, pd: str) -> tuple[int | None, int | None]:
        """The depths of the cleanup that the PD triggers. None: no limit."""
        pd_depth, rs_depth = (
            None if depth == "inf" else int(depth) for depth in self._depths_of(pd)
        )
        return pd_depth, rs_depth

    def _depths_of(self, pd: str) -> tuple[str, str]:
        return self._depths.get(pd, self._system)

    def is_protected(self, pd: str) -> bool:
        """Whether no termination may destroy the PD."""
        return pd in self._protected

    def terminated(self, event: Event) -> None:
        """A PD terminates another: what its cleanup would destroy is not protected."""
        protected = self.would_destroy(event["pd"], tree=event["cause"] == "subtree")
        if protected is not None:
            text = f"it would destroy {protected}, which is PROTECTED"
            self.context.bad("authority.protected", f"{event.name}: {event['pd']}: {text}")

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
        self._spawned.discard(pd)
        self._trusts.pop(pd, None)
        self._rights.pop(pd, None)
        self._depths.pop(pd, None)

    # -- events

    def rights(self, event: Event) -> None:
        """RIGHTS: what a new PD may do."""
        pd, rights = event["pd"], Rights.of(event)
        bad, before = self.context.bad, self.context.previous
        rules = ("BODY", "DEADLINE", "LIMITS")
        follows = before is not None and before.name in rules and before["pd"] == pd
        if not follows or self._without != pd:
            text = f"RIGHTS: pd={pd}: expected it once, right after BODY, DEADLINE or LIMITS"
            bad("authority.rights", text)
        self._without = None
        if rights.account == 0 and not self.context.saved.is_pd(pd):
            bad("authority.rights", "RIGHTS: account=0: accounts are numbered from 1")
        elif self.context.saved.is_pd(pd) and rights != _OF_SAVED:
            bad("authority.rights", f"RIGHTS: pd={pd}: a PD of a saved state has no rights")
        self._rights[pd] = rights
        found = rights.beyond(self._configured.setdefault(rights.account, rights))
        if found is not None:
            text = f"RIGHTS: {found}, which the first PD of account {rights.account} has"
            bad("authority.account", text)

    def depths(self, event: Event) -> None:
        """DEPTHS: the depths of the cleanup that a PD triggers."""
        pd, before = event["pd"], self.context.previous
        made = before is not None and before.name == "RIGHTS" and before["pd"] == pd
        if not made:
            self._set_depths(event, pd)
        self._depths[pd] = (event["pd_depth"], event["rs_depth"])

    def _set_depths(self, event: Event, pd: str) -> None:
        asker = event.optional("asker") or pd  # Older traces name none: the PD asked itself.
        own = asker == pd and "set_depth" in self.rights_of(pd)
        if self.context.actors.may_act(event, asker) and not (own or self.may_govern(asker, pd)):
            text = f"DEPTHS: pd={pd}: {asker} may not set its depths"
            self.context.bad("authority.depths", text)
        self._is_up(event, pd)

    def _is_up(self, event: Event, pd: str) -> None:
        """The policy of a PD that was stopped is that of its cleanup already."""
        silence = self.context.actors.silence(pd)
        if silence is not None and self.context.actors.is_suspended(pd):
            self.context.bad("authority.stopped", f"{event.name}: pd={pd}: it {silence}")

    def trust(self, event: Event) -> None:
        """TRUST: a new PD may change the policy of a configured one."""
        pd, account, before = event["pd"], event.number("account"), self.context.previous
        names = ("RIGHTS", "DEPTHS", "PROTECTED", "TRUST")
        made = before is not None and before.name in names and before["pd"] == pd
        trusts = self._trusts.setdefault(pd, [])
        if not made or account in trusts:
            text = f"TRUST: pd={pd} account={account}: expected it once, right after the rules of"
            self.context.bad("authority.trust", f"{text} {pd}")
        if not self.context.accounts.may_exist(account):
            self.context.bad("authority.trust", f"TRUST: account={account}: there is none")
        trusts.append(account)

    def pin(self, event: Event) -> None:
        """PIN: policy dooms a PD no longer, or does again."""
        pd, asker, pinned = event["pd"], event["asker"], event["pinned"] == "1"
        if self.context.actors.may_act(event, asker) and not self.may_govern(asker, pd):
            self.context.bad("authority.pin", f"PIN: pd={pd}: {asker} may not change its policy")
        self._is_up(event, pd)
        if not pinned and pd in self._protected:
            self.context.bad("authority.pin", f"PIN: pd={pd}: it is PROTECTED, and stays pinned")
        node = self.context.model.nodes.get(pd)
        if node is not None and node.pinned == pinned:
            self.context.bad(
                "authority.pin", f"PIN: pd={pd} pinned={int(pinned)}: it was so before"
            )
        elif node is not None:
            self.context.model.set_pinned(pd, pinned)

    def protect(self, event: Event) -> None:
        """PROTECTED: no termination may destroy the new PD."""
        pd, before = event["pd"], self.context.previous
        made = before is not None and before.name in ("RIGHTS", "DEPTHS") and before["pd"] == pd
        if not made or pd in self._protected:
            text = f"PROTECTED: pd={pd}: expected it once, right after the RIGHTS or DEPTHS of {pd}"
            self.context.bad("authority.protected", text)
        node = self.context.model.nodes.get(pd)
        if node is None or not node.pinned:
            self.context.bad("authority.protected", f"PROTECTED: pd={pd}: it is not pinned")
        self._protected.add(pd)

    def dump(self, event: Event) -> None:
        """DUMP: a PD reads memory of a doomed PD."""
        context, pd, by = self.context, event["pd"], event["by"]
        if not context.actors.may_act(event, by):
            return
        its, readers = self._rights.get(pd), self._rights.get(by)
        shown = f"DUMP: pd={pd} by={by}"
        if its is None or readers is None or its.reader != readers.account or by in self._spawned:
            context.bad("authority.dump", f"{shown}: {by} may not read the memory of {pd}")
        if not context.cleanups.dooms_pd(pd) and not context.freed.is_stopped(pd):
            context.bad("authority.dump", f"{shown}: {pd} is not doomed")
        left = (_PAGE - event.number("address") % _PAGE) // 8
        expected = min(left, headers.constant("protocol.h", "CR_DUMP_WORDS"))
        if event.number("address") % 8 or event.number("words") != expected:
            text = f"words={event['words']}: expected {expected}, from a multiple of 8 on"
            context.bad("authority.dump", f"{shown}: {text}")

    handlers: ClassVar[Handlers] = {
        "RIGHTS": rights,
        "DEPTHS": depths,
        "PROTECTED": protect,
        "TRUST": trust,
        "PIN": pin,
        "DUMP": dump,
    }
