# SPDX-License-Identifier: BSD-2-Clause
"""Events in words, for people who look at a run. docs/trace-format.md defines the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cellreap.runs.folding import name_of
from cellreap.trace.events import Event, id_fields, printable
from cellreap.trace.refusals import refusal_of

MAX_TEXT: Final = 300
"""Characters of one event. What is longer ends in "..."."""
_WORDS: Final = {
    "TRACE": "the trace of {system} begins, on {kernel} for {arch}",
    "END": "the trace ends, after {count} events",
    "USAGE": "in use: {bytes} bytes of memory, {slots} slots, {nodes} nodes, {edges} edges",
    "SETTING": "setting {what}: {word} {value} {second} {third}",
    "INJECTED": "a failure that the configuration orders happens now: {what} {word}",
    "QUOTA": "the account of {name} has a quota of {nodes} nodes, {edges} edges and {bytes} bytes",
    "PD": "{id} is made",
    "BODY": "{of} is made of {bytes} bytes at {paddr}",
    "RIGHTS": "{pd} has priority {priority}, depths {pd_depth} and {rs_depth}",
    "TRUST": "{pd} may change the policy of PD {account} of the configuration",
    "due RESPAWN": "{name} comes back in {delay_ms} ms, for the time {count}",
    "over RESPAWN": "{name} stays down: its budget of respawns is used up",
    "SPACE": "{manager} makes the space {id}",
    "RESOURCE": "the resource {id} is made in {space}",
    "DELETE": "{by} deletes {node}",
    "ALLOW": "{pd} allows {by} to make {count} edges for it",
    "SAY": '{pd} says "{text}"',
    "ANSWER": "{pd} gets the answer to its {op}",
    "MAKE_FAILED": "making {what} {name} failed at the step {kind}",
    "REFUSED": "{count} further operations of {pd} are refused",
    "frozen THREAD": "{pd} is frozen by the scenario",
    "STAGE": "{by} is ordered to crash: {how}",
    "in-rounds THREAD": "{pd} works in rounds",
    "dismissed THREAD": "{pd} is told to stop",
    "unfinished THREAD": "{pd} did not end its rounds",
    "UNREACHED": "crash {crash} of the configuration was not reached",
    "FAULT": "{pd} faults ({kind}) at {address}",
    "FAULT_HELD": "{pd} faults ({kind}) at {address}, and {handler} is told",
    "resumed THREAD": "{pd} goes on after its fault",
    "EXIT": "{pd} exits with code {code}",
    "CLOCK": "the clock is at {ms} ms",
    "HELD_UP": "{pd} has had a notice for {ms} ms, of which it could run for {ran} ms",
    "GIVE_UP": "nobody waits for the notices of {pd} any more",
    "stopped THREAD": "{pd} is stopped",
    "answered THREAD": "{pd} was in a call to {by}, and is answered with an error",
    "CLEANUP": "cleanup {n} begins, of {trigger} ({cause}): {steps} steps",
    "PLAN": "cleanup {n} is planned",
    "TAKEOVER": "the cleaner died at the step {step} of cleanup {n}: another one goes on",
    "RECOVER": "cleanup {n} is taken up again, run {run}",
    "SERVED": "an operation of {pd} was served, and cleanup {n} goes on",
    "QUEUE": "{to} is owed a {kind} notice about {node} (notice {token})",
    "WAIT": "cleanup {n} waits for answers",
    "CONTINUE": "cleanup {n} continues",
    "STATE": "the state has {row}",
    "SETTLED": "cleanup {n} is over, after {calls} kernel calls",
    "TRUTH": "the kernel is asked for all capabilities",
    "CAPS": "the kernel says that {pd} has, in its {cnode}: {caps}",
    "OWN_CAPS": "the kernel says what the root task has in {cnode}",
    "UNTYPEDS": "the kernel says that {bytes} bytes of memory are free",
    "fetched NOTICE": "{pd} fetches notice {token}",
    "FINISH_WORK": "{pd} finishes notice {token}: {result}",
    "resumed NOTICE": "{pd} asks for notice {token} again",
    "merged NOTICE": "notice {token} of {pd} now stands for several",
    "withdrawn NOTICE": "notice {token} of {pd} is withdrawn",
    "DUMP": "{by} reads {words} words of the memory of {pd} at {address}",
    "TICKET": "ticket {ticket}: {done} notices done, {waiting} waiting",
    "CANCEL": "{pd} cancels something",
    "EXTRACT": "extraction {x} begins, for {by}",
    "SUBGRAPH": "{pd} reports that {from} maps to {to}",
    "EXTRACTED": "extraction {x} is over, with {maps} reported edges",
    "stranded THREAD": "{pd} is passive, and was found without time",
    "TIME": "the time of {pd} is with {at}",
}
"""What an event tells. The fields are those of the event, with the names of nodes."""
_EDGES: Final = {
    "HOLD": "{from} has {to}",
    "REQUEST": "{from} may request {to}",
    "MAP": "{from} maps to {to}",
    "SUBSET": "{from} is part of {to}",
    "FAULT": "{to} handles the faults of {from}",
    "LINK": "{from} and {to} are linked",
    "OWN": "{from} owns {to}",
    "SUBSCRIBE": "{from} is told of the end of {to}",
}
_STEPS: Final = {
    "suspend": "stops {pd}",
    "mark": "marks {node}",
    "cut-request": "takes {node} from {pd}",
    "destroy-resource": "destroys {node}",
    "destroy-space": "destroys {node}",
    "destroy-pd": "destroys {pd}",
    "notify": "tells {pd}",
    "tell": "asks {pd} before {node} goes",
    "await": "has all answers",
    "settle": "settles",
}
_TRIGGERS: Final = {
    "terminate": "{by} terminates {pd}",
    "never": "{pd} is not terminated after all: a protected one would go with it",
    "late": "{pd} missed its deadline of {ms} ms",
    "collect": "unused nodes are collected",
    "stop": "the run is stopped",
    "subtree": "{by} terminates {pd} with all that it created",
    "reconcile": "a saved state is made again",
    "hung": "{pd} has hung for {ms} ms",
}
_STANDS: Final = {
    "call": "{pd} waits in a call to {on}",
    "connect": "{pd} waits for the space {space}",
    "fault": "{pd} waits for its fault handler {on}",
    "receive": "{pd} waits for a message",
    "runs": "{pd} can run",
}


def event_words(event: Event, names: Mapping[str, str]) -> str:
    """The event in words, on one line. names: those of nodes, by id."""
    ids = id_fields(event.name)
    values = {
        field: name_of(value, names) if field in ids else printable(value, MAX_TEXT)
        for field, value in event.values.items()
    }
    return printable(_template(event).format_map(values), MAX_TEXT)


def _template(event: Event) -> str:
    match event.name:
        case "EDGE":
            more = "" if event["change"] == "made" else ": no more"
            return _EDGES[event["kind"]] + more
        case "STEP":
            more = f" and {event.number('count') - 1} more" if event.number("count") > 1 else ""
            return f"cleanup {{n}} {_STEPS[event['name']]}{more}"
        case "TRIGGER":
            if event["when"] == "never":
                return _TRIGGERS["never"]
            return _TRIGGERS.get(event["cause"], "{pd}: {cause}") + (
                ", later" if event["when"] == "later" else ""
            )
        case "STANDS":
            return _STANDS.get(event["state"], "{pd}: {state}")
        case "REFUSE":
            return "{pd} is refused " + refusal_of(event).why().replace("{", "{{")
        case "SETTLED" if event.number("n") == 0:
            return "the state has {rows} rows"
    return _WORDS.get(event.told, event.told)
