# SPDX-License-Identifier: BSD-2-Clause
"""Checks across tables: errors that a configuration of the right shape may still have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from cellreap import headers
from cellreap.errors import UsageError
from cellreap.model.closeness import MAX_TYPES, parse_share
from cellreap.model.ids import CORE_TYPES, MEMORY, REGION
from cellreap.system.config import machine, quotas, threads
from cellreap.system.config.channel_rules import Problem as Problem
from cellreap.system.config.channel_rules import channels, microkit
from cellreap.system.config.channel_rules import unknown as unknown
from cellreap.system.config.drive import MAX_DRIVES
from cellreap.system.config.region import LARGE_PAGE, PAGE, PAGES_MAX
from cellreap.system.config.schema import BY_TIME, LIMITS, Config, Crash
from cellreap.system.config.tables import core_spaces, has_memory
from cellreap.system.toml_lines import KeyPath

OWN_TYPES: Final = frozenset({"PD", "RESSPC"})
"""The types of the spaces that the root task makes for itself."""
_WORD: Final = 8
"""Bytes of the word of an epoch."""
_VADDRS: Final = tuple(
    headers.constant("protocol.h", f"CR_VADDR_{name}") for name in ("STARTUP", "STACK")
)
"""Where the own pages of a PD begin, and among them its stack."""
_SPAN: Final = headers.constant("protocol.h", "CR_THREAD_SPAN_BITS")
"""log2 of the addresses that each thread of a process has for these."""


def problems(config: Config) -> Iterator[Problem]:
    """All problems, as (where, message). A caller may stop at the first."""
    if not config.pds:
        yield ("pd",), "expected at least one [[pd]]"
    yield from _programs(config)
    yield from _names(config)
    yield from _references(config)
    yield from _links(config)
    yield from threads.problems(config)
    yield from _regions(config)
    yield from channels(config)
    yield from machine.lines_problems(config)
    yield from _drives(config)
    yield from microkit(config)
    yield from _dropped(config)
    yield from _policy(config)
    yield from _cycles(config)
    yield from _crashes(config)
    yield from _spawning(config)
    yield from _budgets(config)
    yield from _background(config)
    yield from _cleaner(config)
    yield from _respawns(config)
    yield from _without_scenario(config)
    yield from _expected(config)
    yield from _limits(config)
    yield from _bench(config)
    yield from quotas.problems(config)


def _once(what: str, name: str, before: set[str], at: KeyPath) -> Iterator[Problem]:
    """A name that another one had before. Adds it to those."""
    if name in before:
        yield (*at, "name"), f'a {what} named "{name}" was there before; expected another name'
    before.add(name)


def _programs(config: Config) -> Iterator[Problem]:
    """Whether files exist and build is found out by a build, not here."""
    names: set[str] = set()
    for i, program in enumerate(config.programs):
        at: KeyPath = ("program", i)
        yield from _once("program", program.name, names, at)
        if program.elf is None and not program.sources:
            yield at, "expected elf, or sources with at least one file"
        elif program.elf is not None and program.sources:
            yield (*at, "sources"), "a program has elf or sources; expected one of the two"
        for key in ("include", "flags"):
            if program.elf is not None and getattr(program, key):
                yield (*at, key), "is for sources, and an ELF file is used as it is"
        yield from _repeated((*at, "sources"), program.sources)
        for j, source in enumerate(program.sources):
            if not source.endswith((".c", ".S")):
                yield (*at, "sources", j), f'"{source}": expected a file that ends in .c or .S'


def _names(config: Config) -> Iterator[Problem]:
    pds: set[str] = set()
    spaces: set[str] = set()
    for i, pd in enumerate(config.pds):
        yield from _once("PD", pd.name, pds, ("pd", i))
        for j, space in enumerate(pd.spaces):
            at: KeyPath = ("pd", i, "space", j)
            yield from _once("space", space.name, spaces, at)
            if space.type in CORE_TYPES:
                yield (
                    (*at, "type"),
                    f"{space.type} is a core type, served by the root task; expected another",
                )


def _regions(config: Config) -> Iterator[Problem]:
    limits = {
        name: headers.constant("image.h", f"CR_IMAGE_MAX_{name}") for name in ("REGIONS", "MAPS")
    }
    names: set[str] = set()
    places: dict[str, list[tuple[int, int]]] = {}
    ends = {
        pd.name: _VADDRS[0] + (threads.thread_of(config, pd)[1] << _SPAN)
        if threads.thread_of(config, pd)[1] > 1
        else _VADDRS[1] + pd.stack_pages * PAGE
        for pd in config.pds
    }
    maps = Counter[str]()
    pds = [pd.name for pd in config.pds]
    if len(config.regions) > limits["REGIONS"]:
        yield ("region",), f"expected at most {limits['REGIONS']}"
    for i, region in enumerate(config.regions):
        at: KeyPath = ("region", i)
        yield from _once("region", region.name, names, at)
        if region.size % region.page_size:
            yield (*at, "size"), f"expected a multiple of its page_size, {region.page_size:#x}"
        elif region.pages.count > PAGES_MAX:
            small = region.page_size == PAGE and region.physical is None
            more = f", or page_size = {LARGE_PAGE:#x}" if small else ""
            yield (*at, "size"), f"expected at most {PAGES_MAX} pages{more}"
        for key in ("epoch", "physical_word"):
            word = getattr(region, key)
            if word is not None and (word % _WORD or word >= region.size):
                yield (*at, key), f"expected a multiple of {_WORD} below its size, {region.size}"
        if region.epoch is not None and region.epoch == region.physical_word:
            yield (*at, "physical_word"), "is where the epoch is; expected another word"
        if region.after == "refill" and region.fill is None:
            yield (*at, "after"), 'nothing fills it; expected keep or zero, or a key "fill"'
        if not region.maps:
            yield at, "expected at least one [[region.map]]"
        yield from machine.device_problems(config, i)
        for j, each in enumerate(region.maps):
            here: KeyPath = (*at, "map", j)
            if each.pd not in pds:
                yield (*here, "pd"), unknown("PD", each.pd, pds)
            if each.pd in [other.pd for other in region.maps[:j]]:
                yield (*here, "pd"), f"{each.pd} has it already; expected another PD"
            if each.address % region.page_size:
                said = f"expected a multiple of its page_size, {region.page_size:#x}"
                yield (*here, "address"), said
            at_, end = each.address, each.address + region.size
            others = places.setdefault(each.pd, [])
            if any(at_ < last and first < end for first, last in others):
                said = f"another region of {each.pd} is there"
                yield (*here, "address"), f"{said}; expected another address"
            if at_ < ends.get(each.pd, 0) and _VADDRS[0] < end:
                said = f"{each.pd} has its own pages and its stack there"
                yield (*here, "address"), f"{said}; expected another address"
            others.append((at_, end))
            maps[each.pd] += 1
            if maps[each.pd] == limits["MAPS"] + 1:
                yield (*here, "pd"), f"{each.pd} has more than {limits['MAPS']} regions"


def _drives(config: Config) -> Iterator[Problem]:
    names: set[str] = set()
    for i, drive in enumerate(config.drives):
        yield from _once("drive", drive.name, names, ("drive", i))
    if len(config.drives) > MAX_DRIVES:
        yield ("drive",), f"expected at most {MAX_DRIVES}"


def _policy(config: Config) -> Iterator[Problem]:
    policy = config.policy
    if policy.policy == "depth":
        for key, there in (("fr_max", policy.fr_max is not None), ("rsi_min", policy.rsi_min)):
            if there:
                yield ("policy", key), 'has no effect; expected policy = "metric" or "both"'
        return
    if policy.fr_max is None and not policy.rsi_min:
        yield ("policy", "policy"), f'"{policy.policy}" needs fr_max or rsi_min'
    if policy.policy == "metric" and policy.pd_depth != 0:
        yield ("policy", "pd_depth"), 'has no effect with policy = "metric"; expected "both"'
    if len(policy.rsi_min) > MAX_TYPES:
        yield ("policy", "rsi_min"), f"expected at most {MAX_TYPES} types"
    types = {space.type for pd in config.pds for space in pd.spaces} | OWN_TYPES
    types |= {MEMORY, REGION} if has_memory(config) else set()
    for name, share in policy.rsi_min.items():
        at: KeyPath = ("policy", "rsi_min", name)
        if name not in types:
            yield at, f"no space has this type; expected one of {', '.join(sorted(types))}"
        try:
            parse_share(share)
        except UsageError as error:
            yield at, str(error)


def _references(config: Config) -> Iterator[Problem]:
    names = [pd.name for pd in config.pds]
    late = {pd.name for pd in config.pds if pd.start == "after-cleanup"}
    owner = {space.name: pd.name for pd in config.pds for space in pd.spaces}
    for i, pd in enumerate(config.pds):
        earlier = names[:i]
        handlers = (
            [(("pd", i, "fault_handler"), pd.fault_handler)] if pd.fault_handler is not None else []
        )
        at: KeyPath
        for j, name in enumerate(pd.holds_pds):
            at = ("pd", i, "holds_pds", j)
            if name == pd.name:
                yield at, "is the PD itself; expected another PD"
            elif name not in names:
                yield at, unknown("PD", name, names)
        for at, name in handlers:
            if name == pd.name:
                yield at, "is the PD itself; expected an earlier PD"
            elif name not in names:
                yield at, unknown("PD", name, earlier)
            elif name not in earlier:
                yield at, f'"{name}" is created after "{pd.name}"; expected an earlier PD'
            elif name in late and pd.name not in late:
                yield at, f'"{name}" starts after-cleanup, "{pd.name}" at boot; expected the same'
        at = ("pd", i, "post_mortem")
        if pd.post_mortem == pd.name:
            yield at, "is the PD itself; expected another PD"
        elif pd.post_mortem is not None and pd.post_mortem not in names:
            yield at, unknown("PD", pd.post_mortem, names)
        yield from _repeated(("pd", i, "holds_pds"), pd.holds_pds)
        for j, name in enumerate(pd.may_set_policy_of):
            at = ("pd", i, "may_set_policy_of", j)
            if name not in names:
                yield at, unknown("PD", name, names)
            elif name != pd.name and name not in pd.holds_pds:
                yield at, f'"{pd.name}" does not hold "{name}"; expected it in its holds_pds'
        yield from _repeated(("pd", i, "may_set_policy_of"), pd.may_set_policy_of)
        for j, name in enumerate(pd.requests):
            at = ("pd", i, "requests", j)
            if name not in owner:
                yield at, unknown("space", name, list(owner))
            elif owner[name] == pd.name:
                yield at, f'"{name}" is a space of this PD itself; expected another PD\'s'
            elif owner[name] in late and pd.name not in late:
                said = f'"{name}" is of "{owner[name]}", which starts after-cleanup'
                yield at, f"{said}, and this PD at boot"
        yield from _repeated(("pd", i, "requests"), pd.requests)
        yield from _repeated(("pd", i, "spawns"), pd.spawns)


def _spawning(config: Config) -> Iterator[Problem]:
    """A spawned PD has at most the priority of its creator."""
    for i, pd in enumerate(config.pds):
        if not pd.spawns and pd.spawn_priority is not None:
            yield ("pd", i, "spawn_priority"), f'"{pd.name}" spawns no programs'
        elif not pd.spawns and pd.spawn_allow:
            yield ("pd", i, "spawn_allow"), f'"{pd.name}" spawns no programs'
        elif pd.spawn_priority is not None and pd.spawn_priority > pd.priority:
            said = f"is {pd.spawn_priority}, and its own priority is {pd.priority}"
            yield ("pd", i, "spawn_priority"), f"{said}; expected {pd.priority} or less"


def _budgets(config: Config) -> Iterator[Problem]:
    """A budget has a period, which is not shorter."""
    for i, pd in enumerate(config.pds):
        budget, period = pd.budget_us, pd.period_us
        if budget is None and period is not None:
            yield ("pd", i, "period_us"), "is the period of no budget; expected a budget_us too"
        elif budget is not None and period is None:
            yield ("pd", i, "budget_us"), "has no period; expected a period_us too"
        elif budget is not None and period is not None and budget > period:
            yield ("pd", i, "budget_us"), f"is {budget}; expected at most period_us, {period}"
        if pd.overrun is not None and (budget or 0) >= (period or 0):
            yield ("pd", i, "overrun"), "there is no budget below its period that could be used up"
    passive = {space.name: pd.name for pd in config.pds if pd.passive for space in pd.spaces}
    for i, pd in enumerate(config.pds):
        if pd.passive and (pd.budget_us is not None or pd.background):
            key = "background" if pd.background else "budget_us"
            yield ("pd", i, key), "a passive PD runs on the time of its callers"
        if pd.has_timeout:
            for j, name in enumerate(pd.requests):
                if name in passive:
                    said = f'"{name}" is of "{passive[name]}", which is passive, and would use up '
                    said += f'the budget of "{pd.name}"; expected overrun = "wait"'
                    yield ("pd", i, "requests", j), said


def _background(config: Config) -> Iterator[Problem]:
    """Background PDs never wait. Priorities of other PDs exceed theirs by at least 2.

    The thread that detects that all other PDs rest runs at a priority in between.
    """
    highest = max((pd.priority for pd in config.pds if pd.background), default=None)
    if highest is None:
        return
    for i, pd in enumerate(config.pds):
        for key in LIMITS if pd.background else ():
            if getattr(pd, key) is not None:
                said = "a background PD never waits; expected no such limit, or background = false"
                yield ("pd", i, key), said
        if not pd.background and pd.priority < highest + 2:
            said = f"is {pd.priority}, and a background PD's is {highest}"
            yield ("pd", i, "priority"), f"{said}; expected {highest + 2} or more"
        spawned = pd.priority if pd.spawn_priority is None else pd.spawn_priority
        if not pd.background and pd.priority >= highest + 2 > spawned:
            said = f"is {spawned}, and a background PD's priority is {highest}"
            yield ("pd", i, "spawn_priority"), f"{said}; expected {highest + 2} or more"


def _cleaner(config: Config) -> Iterator[Problem]:
    """Each PD runs while a cleanup is carried out, or none of its instructions does."""
    cleaner = config.system.cleaner_priority
    if cleaner is None:
        return
    at: KeyPath = ("system", "cleaner_priority")
    for pd in config.pds:
        spawned = pd.priority if pd.spawn_priority is None else pd.spawn_priority
        if pd.priority == cleaner or (pd.spawns and spawned == cleaner):
            whose = pd.name if pd.priority == cleaner else f"what {pd.name} spawns"
            yield at, f'is {cleaner}, and so is the priority of "{whose}"; expected another'
        elif pd.background and pd.priority + 2 > cleaner:
            said = f"is {cleaner}, and a background PD's is {pd.priority}"
            yield at, f"{said}; expected {pd.priority + 2} or more"


def _respawns(config: Config) -> Iterator[Problem]:
    for i, pd in enumerate(config.pds):
        for key in ("respawn_budget", "respawn_window_ms", "respawn_delay_ms"):
            if getattr(pd, key) is not None and not pd.respawn:
                yield ("pd", i, key), f'"{pd.name}" does not respawn; expected respawn = true'


def _without_scenario(config: Config) -> Iterator[Problem]:
    """Keys that only the scenario uses are errors if there is no scenario."""
    if config.system.scenario:
        return
    said = "needs the scenario, and scenario = false"
    if not config.system.ends:
        yield ("system", "ends"), said
    if config.crashes:
        yield ("crash", 0), said
    if config.system.extract:
        yield ("system", "extract"), said
    if config.system.stop_in_order:
        yield ("system", "stop_in_order"), said
    for key in sorted(config.bench.model_fields_set):
        yield ("bench", key), said
    for i, pd in enumerate(config.pds):
        if pd.start == "after-cleanup":
            yield ("pd", i, "start"), said


def _expected(config: Config) -> Iterator[Problem]:
    """Names in [expect] are those of PDs or of programs that PDs spawn."""
    expect = config.expect
    known = [pd.name for pd in config.pds]
    known += sorted({name for pd in config.pds for name in pd.spawns} - set(known))
    for key, names in (
        ("alive", expect.alive or ()),
        ("dead", expect.dead),
        ("crashes", expect.crashes),
        ("waits", expect.waits or ()),
    ):
        for j, name in enumerate(names):
            if name not in known:
                yield ("expect", key, j), unknown("PD", name, known)
        yield from _repeated(("expect", key), names)
    for key, table in (("said", expect.said), ("exits", expect.exits)):
        for name in table:
            if name not in known:
                yield ("expect", key, name), unknown("PD", name, known)
    if expect.nobody_left and expect.alive is not None:
        yield ("expect", "nobody_left"), "alive says who is left; expected only one of the two"
    for j, name in enumerate(expect.dead):
        if name in (expect.alive or ()):
            yield ("expect", "dead", j), f'"{name}" is in alive, too; expected it in one of them'


def _limits(config: Config) -> Iterator[Problem]:
    """Limits: a PD's startup information fits one page, and the root task's tables are bounded."""
    for i, pd in enumerate(config.pds):
        for key, names, constant in (
            ("space", pd.spaces, "CR_STARTUP_SPACES"),
            ("requests", pd.requests, "CR_STARTUP_REQUESTS"),
            ("holds_pds", () if pd.abi == "microkit" else pd.holds_pds, "CR_STARTUP_PDS"),
        ):
            most = headers.constant("protocol.h", constant)
            if len(names) > most:
                yield ("pd", i, key), f"{len(names)} entries; expected at most {most}"
    most = headers.constant("limits.h", quotas.PDS)
    if len(config.pds) > most:
        yield ("pd", most), f"{len(config.pds)} PDs; expected at most {most}"


def _bench(config: Config) -> Iterator[Problem]:
    inject = config.bench.inject
    yield from _repeated(("bench", "inject"), inject)
    most = headers.constant("image.h", "CR_IMAGE_MAX_INJECTIONS")
    if len(inject) > most:
        yield ("bench", "inject"), f"{len(inject)} entries; expected at most {most}"
    left, own = config.bench.numbers_left, core_spaces(config)
    if left is not None and left < own:
        yield ("bench", "numbers_left"), f"is {left}, and the root task's own spaces need {own}"


def _repeated(at: KeyPath, names: tuple[str, ...]) -> Iterator[Problem]:
    for j, name in enumerate(names):
        if name in names[:j]:
            yield (*at, j), f'"{name}" is in the list twice'


def _links(config: Config) -> Iterator[Problem]:
    names = [pd.name for pd in config.pds]
    seen: set[frozenset[str]] = set()
    for i, link in enumerate(config.links):
        for j, name in enumerate(link.between):
            if name not in names:
                yield ("link", i, "between", j), unknown("PD", name, names)
        pair = frozenset(link.between)
        if len(pair) == 1:
            yield (
                ("link", i, "between"),
                f'"{link.between[0]}" is linked with itself; expected two PDs',
            )
        if pair in seen:
            yield ("link", i, "between"), "the two are linked already"
        seen.add(pair)


def _dropped(config: Config) -> Iterator[Problem]:
    names = [pd.name for pd in config.pds]
    for i, each in enumerate(config.dropped):
        if not each.between:
            yield ("dropped", i, "between"), "is empty; expected at least one PD"
        if not each.name.isprintable():
            yield ("dropped", i, "name"), "has a character that cannot be printed"
        for j, name in enumerate(each.between):
            if name not in names:
                yield ("dropped", i, "between", j), unknown("PD", name, names)


def _cycles(config: Config) -> Iterator[Problem]:
    """Requests must not form a cycle unless the policy allows it.

    In a cycle there is no order in which every PD finds the spaces that it requests.
    """
    if config.policy.allow_cycles:
        return
    index = {pd.name: i for i, pd in enumerate(config.pds)}
    owner = {space.name: pd.name for pd in config.pds for space in pd.spaces}
    wants = {pd.name: [owner[name] for name in pd.requests if name in owner] for pd in config.pds}
    done: set[str] = set()
    for start in wants:
        path = [start]
        branches = [iter(wants[start])]
        while branches and start not in done:
            following = next(branches[-1], None)
            if following is None:
                branches.pop()
                done.add(path.pop())
            elif following in path:
                around = path[path.index(following) :]
                text = " -> ".join([*around, following])
                expected = "expected none, or allow_cycles = true in [policy]"
                at: KeyPath = ("pd", index[following], "requests")
                yield at, f"the requests form a cycle: {text}; {expected}"
                return
            elif following not in done:
                path.append(following)
                branches.append(iter(wants[following]))


def _crashes(config: Config) -> Iterator[Problem]:
    names = [pd.name for pd in config.pds]
    times: Counter[str] = Counter()
    for i, crash in enumerate(config.crashes):
        pd = config.pd(crash.pd)
        if pd is None:
            yield ("crash", i, "pd"), unknown("PD", crash.pd, names)
            continue
        if not pd.respawn and crash.repeat > 1:
            yield (
                ("crash", i, "repeat"),
                f'"{pd.name}" does not respawn, so it can crash once; expected 1',
            )
        if not pd.respawn and times[pd.name]:
            yield (
                ("crash", i, "pd"),
                f'"{pd.name}" crashed before and does not respawn; expected another PD',
            )
        if pd.abi == "microkit" and crash.how != "kill":
            said = "passes no checkpoints"
            yield ("crash", i, "how"), f'"{pd.name}" is for Microkit and {said}; expected "kill"'
        times[pd.name] += crash.repeat
        if i == 0 and pd.start == "after-cleanup":
            yield (
                ("crash", i, "pd"),
                f'"{pd.name}" starts after the first cleanup; expected one from boot',
            )
        if crash.how == "terminate":
            yield from _terminator(config, i, crash)
        elif crash.by is not None:
            yield ("crash", i, "by"), f'only how = "terminate" has a "by"; this is "{crash.how}"'
        for key in ("after_ns", "spread_ns", "seed"):
            if getattr(crash, key) is not None and crash.how not in BY_TIME:
                said = f'only how = "kill" and how = "freeze" take "{key}"; this is "{crash.how}"'
                yield ("crash", i, key), said


def _terminator(config: Config, i: int, crash: Crash) -> Iterator[Problem]:
    if crash.by is None:
        yield ("crash", i, "by"), 'missing: how = "terminate" needs the PD that does it'
        return
    by = config.pd(crash.by)
    if by is None:
        yield ("crash", i, "by"), unknown("PD", crash.by, [pd.name for pd in config.pds])
    elif crash.pd not in by.holds_pds:
        yield (
            ("crash", i, "by"),
            f'"{by.name}" does not hold "{crash.pd}"; expected it in its holds_pds',
        )
    elif i == 0 and by.start == "after-cleanup":
        yield (
            ("crash", i, "by"),
            f'"{by.name}" starts after the first cleanup; expected one there at boot',
        )
