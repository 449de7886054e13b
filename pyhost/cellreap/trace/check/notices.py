# SPDX-License-Identifier: BSD-2-Clause
"""Notices: which PD may fetch, finish and resume which, the notices that no cleanup owes, and those
that are merged or withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable

from cellreap.model.graph import DESTRUCTOR
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.work import (
    FAILED,
    LEFT_BEHIND,
    STRICT,
    Notice,
    Tag,
    Work,
    count_of,
    lane_of,
)
from cellreap.trace.events import Event
from cellreap.trace.report import Failure, Undone


class Notices(Concern):
    """QUEUE (of no cleanup), NOTICE, FINISH_WORK, GIVE_UP."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.work = Work(self.bad)
        self._failures: dict[int, Failure] = {}  # by token, until resumed

    # -- for other concerns

    def put(self, event: Event, tag: Tag) -> None:
        """Queues a notice on an account."""
        token, to, kind, node = event.number("token"), event["to"], event["kind"], event["node"]
        number = event.number("number")
        notice = Notice(token, to, kind, node, tag, dead=event["from"], number=number)
        if kind == "probe":
            self.context.blame.probed(event)
        else:
            self.compare("notices.number", number=self._number(to, kind, node, tag))
        self.context.timing.queued(to, token, kind)
        self.work.queue(notice, tag)
        if to not in self.context.freed.stopped:
            self.context.tombstones.queued(notice)
        else:
            self.work.forget(to)

    def _number(self, to: str, kind: str, node: str, tag: Tag) -> int:
        """What a notice tells: a `lost` notice of a cleanup, how much its receiver keeps that is
        broken; a `pre-destroy` notice, the handlers that its receiver has for the node now. When it
        tells of the turn of a destructor, it names that one only, and else all others.
        """
        running = self.context.cleanups.running
        if kind == "lost" and running is not None and tag == running.tag:
            return running.keeps[to]
        if kind != "pre-destroy":
            return 0
        has = self.context.model.handlers_told(to, node)
        destructor = 1 << DESTRUCTOR if to == node else 0
        turn = running is not None and running.is_turn(to, node)
        return has & destructor if turn else has & ~destructor

    def waiting(self, pd: str, token: int) -> Notice | None:
        """The unfinished notice with this token, if it is for this PD."""
        notice = self.work.get(token)
        if notice is None or notice.to != pd or notice.state == FAILED:
            return None
        return notice

    def count(self) -> int:
        """The number of notices that the root task still has. Stopped PDs have none."""
        return count_of(self.work, self.context.freed.stopped)

    def oldest(self, pd: str) -> int | None:
        """The token of the oldest notice that the PD can still finish, without strict ones."""
        return self.work.oldest(pd, self.context.blame.is_strict)

    def give_up(self, pd: str, token: int) -> list[Notice]:
        """The notices of a PD up to this token are awaited by nobody any more. Returns them."""
        given_up = self.work.give_up(pd, token)
        self._owe_withdrawals(each for each in given_up if each.kind == "extract")
        return given_up

    def end_extraction(self, tag: Tag) -> None:
        """An extraction is over. Its notices that nobody has fetched are withdrawn."""
        self._owe_withdrawals(self.work.unseen_questions(tag))

    def _owe_withdrawals(self, notices: Iterable[Notice]) -> None:
        """Demands that those of the notices that nobody has fetched are withdrawn next."""
        for notice in notices:
            if not notice.seen:
                self.context.debts.owe("withdrawn NOTICE", notice.to, str(notice.token))

    def at_end(self) -> None:
        """The trace ends."""
        for notice in self.work.unfinished():
            what = "acknowledged" if notice.state == "out" else "fetched"
            about = f"notice {notice.token} ({notice.kind} {notice.node})"
            probe = self.context.hung.is_probe(notice.to, notice.token)
            if probe or self.context.blame.may_keep(notice.to):
                self.context.report.undone.append(Undone(notice.to, f"never {what} {about}"))
            else:
                self.bad("notices.end", f"{about} to {notice.to} was never {what}")

    def count_held(self) -> None:
        """Ends the replay: the report gets the number of notices held behind each failure."""
        for failure in self._failures.values():
            failure.waiting = self.work.behind(failure.token)

    # -- events

    @outside("QUEUE")
    def queue_of_no_cleanup(self, event: Event) -> None:
        """QUEUE with n=0: a dropped REQUEST, a loss, an extraction or a fault owes it."""
        row = (event["to"], event["kind"], event["node"], event["from"])
        key: tuple[str, ...] = ("QUEUE", *row)
        tag: Tag = ("no cleanup", 0)
        if event["kind"] == "extract":
            tag = ("extraction", self.context.extractions.asking)
            key = ("QUEUE", f"x={tag[1]}", *row)
        if event["kind"] != "probe" and not self.context.debts.settle(*key):
            self.bad("notices.owed", "no such notice is owed, or not here")
        self.put(event, tag)
        if event["kind"] == "fault":
            self.context.blame.queued(event)
        if event["kind"] == "lost":
            self.context.slots.told(event["to"], event["node"], event.number("token"))

    @outside("fetched NOTICE")
    def get_work(self, event: Event) -> None:
        """fetched NOTICE: a PD fetches a notice."""
        if self.context.actors.may_act(event, event["pd"]):
            goes_on = self.context.previous.told == "fetched NOTICE"
            self.work.fetch(event["pd"], event.number("token"), goes_on)

    @outside("FINISH_WORK")
    def finish_work(self, event: Event) -> None:
        """FINISH_WORK: a PD acknowledges a notice."""
        context = self.context
        pd, token, result = event["pd"], event.number("token"), event["result"]
        if not context.actors.may_act(event, pd):
            return
        notice = self.work.get(token)
        if not self.work.finish(pd, token, result) or notice is None:
            return
        if result == "failed" and notice.kind not in STRICT:
            failure = Failure(pd, lane_of(notice.node), token, notice.kind, notice.node)
            context.report.failures.append(failure)
            self._failures[token] = failure
        if result != "failed":
            context.tombstones.finished(pd, token)
        context.timing.finished(pd, token, notice.kind)
        context.hung.finished(pd, token)
        context.slots.finished(pd, token, result != "failed")
        if notice.kind == "fault":
            context.blame.finished(notice, result)
        if result == "each" and notice.tag is not None:
            context.extractions.ask_for_each(notice.tag[1], pd, notice.node)

    @outside("resumed NOTICE")
    def resume_work(self, event: Event) -> None:
        """resumed NOTICE: a notice that failed is to be delivered again."""
        if not self.context.actors.may_act(event, event["pd"]):
            return
        token = event.number("token")
        self.context.tickets.resuming(self.work.tags_behind(token))
        if self.work.resume(event["pd"], token):
            self._failures.pop(token).resumed = True
            self.context.timing.heard(event["pd"])

    # -- notices that are awaited no longer

    @outside("GIVE_UP")
    def given_up(self, event: Event) -> None:
        """GIVE_UP: the PD's notices up to a token are awaited by nobody any more."""
        context = self.context
        pd = event["pd"]
        if pd not in context.model.nodes or not context.actors.may_answer(pd):
            self.bad("progress.awaited")
            return
        self._in_time(event, pd)
        running = context.cleanups.give_up(pd)
        given_up = self.give_up(pd, event.number("token"))
        if not any(self._was_awaited(notice, running) for notice in given_up):
            self.bad("progress.awaited")

    def _in_time(self, event: Event, pd: str) -> None:
        """A PD has await_ms to itself, and twice its deadline or await_ms with its calls."""
        await_ms = self.context.settings.await_ms
        deadline = self.context.authority.number(pd, "deadline_ms")
        longest = 2 * max(deadline, await_ms)
        alone = deadline == 0 and event.number("ran") >= await_ms
        if await_ms and not alone and event.number("held_up") < longest:
            self.bad("progress.early", f"pd={pd}: expected held_up={longest} at the least")

    def _was_awaited(self, notice: Notice, cleanup: bool) -> bool:
        """Whether somebody awaited the notice. cleanup: a cleanup that told its receiver did."""
        context = self.context
        tag = notice.given_up
        if tag is None:
            return False
        return (
            (cleanup and notice.kind == "pre-destroy")
            or (tag[0] == "extraction" and tag[1] in context.extractions.running)
            or context.tickets.awaits(tag, notice.to)
        )

    # -- merged and withdrawn notices

    def _unseen(self, event: Event) -> Notice | None:
        """The notice that the event is about, if its PD has not fetched it."""
        notice = self.work.get(event.number("token"))
        if notice is not None and notice.to == event["pd"] and not notice.seen:
            return notice
        text = f"token={event['token']}: {event['pd']} has no such notice that it has not fetched"
        self.bad("notices.unseen", text)
        return None

    def _was_left(self, notice: Notice) -> bool:
        """Whether a PD that is destroyed left the notice behind."""
        gone = notice.dead != "-" and notice.dead not in self.context.model.nodes
        return gone and notice.kind in LEFT_BEHIND

    @outside("merged NOTICE")
    def merge(self, event: Event) -> None:
        """merged NOTICE: a notice stands for several from now on. The others of its account go."""
        context = self.context
        notice = self._unseen(event)
        if notice is None:
            return
        beside = self.work.unseen_beside(notice)
        if not self._was_left(notice):
            text = f"token={notice.token}: no destroyed PD left this {notice.kind} notice behind"
            self.bad("notices.merged", text)
            return
        if any(other.stands_for_several() and other.token < notice.token for other in beside):
            text = f"token={notice.token}: another notice about the space stands for several"
            self.bad("notices.merged", text)
        for other in beside:
            same = context.accounts.charged_together(other.token, notice.token)
            if other.stands_for_several() or (same and self._was_left(other)):
                context.debts.owe("withdrawn NOTICE", other.to, str(other.token))
        context.accounts.merging(notice.token)
        context.tombstones.finished(notice.to, notice.token)
        self.work.merge(notice)

    @outside("withdrawn NOTICE")
    def withdraw(self, event: Event) -> None:
        """withdrawn NOTICE: a notice is taken back for good."""
        context = self.context
        owed = context.debts.settle("withdrawn NOTICE", event["pd"], event["token"])
        notice = self._unseen(event)
        if notice is None:
            return
        if not owed:
            self._needs_no_telling(notice)
            context.accounts.merging(notice.token)
        context.tombstones.finished(notice.to, notice.token)
        self.work.withdraw(notice)

    def _needs_no_telling(self, notice: Notice) -> None:
        """Checks that nothing is lost with the notice: its space is gone, or another notice stands
        for it.
        """
        beside = self.work.unseen_beside(notice)
        gone = not self.context.extractions.lives(lane_of(notice.node))
        stands = any(other.stands_for_several() for other in beside)
        if not (notice.stands_for_several() or self._was_left(notice)) or not (gone or stands):
            text = f"token={notice.token}: no other notice tells {notice.to} of {notice.node}"
            self.bad("notices.withdrawn", text)
