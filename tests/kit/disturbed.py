# SPDX-License-Identifier: BSD-2-Clause
"""Random systems of which nothing is known but that the root task must treat them rightly.

Each is made of what `kit.chaos` makes, of configurations of the tests, or of both, side by side.
Then it is disturbed: PDs, edges, rights, crashes of every kind, policies and failures of the root
task are added at random. What breaks a rule for configurations is left out. The same seed yields
the same system for an architecture, for kernels with MCS and for those without.
"""

from __future__ import annotations

import copy
import random
import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from pydantic import ValidationError

from cellreap.errors import CellreapError
from cellreap.system.config import Config, override
from cellreap.system.config.threads import OF_PROCESS
from kit.chaos import Table, chaos
from kit.paths import BOOT_CONFIGS, CONFIGS, ROOT, TESTS
from kit.random_devices import mapped, of_machine

QEMU: Final = ("-icount", "shift=6,sleep=off")
"""An instruction takes 64 ns, so that each run of a system is the same."""
HALTER: Final = "halter"
"""It halts the machine, as any PD of a debug kernel can. Then nothing comes to its end."""
MOST_PDS: Final = 14
"""of a configuration that is taken"""
MOST_PROGRAMS: Final = 12
"""before a system is disturbed: the image must have room for them"""
MOST_RESPAWNS: Final = 8
"""A PD that crashes in each of its lives comes to an end."""
WAYS: Final = (
    *("page-fault", "cap-fault", "illegal-instruction", "unknown-syscall", "exit", "kill"),
    *("terminate", "freeze", "hang", "block"),
)
BY_TIME: Final = ("kill", "freeze")
NEVER_ENDS: Final = ("hang", "block", "freeze")
BEATS: Final = (20, 100, 400, 2000)
"""Values of heartbeat_ms and call_ms."""
CHECKPOINT: Final = re.compile(r"cr_checkpoint|cr_next_round")
SPAWNED: Final = ("idler", "crasher", "worker", "foundling")
FUZZED: Final = 63
"""All bits of argument 2 of fuzzer.c."""
MESSAGES: Final = 300
"""Most messages of a fuzzer."""
STEPS: Final = 250
MADE: Final = 400
NAMED: Final = ("requests", "holds_pds", "may_set_policy_of")
NAMES: Final = ("fault_handler", "post_mortem", "thread_of")
_SHARED: Final = {"region": "map", "channel": "end"}
"""Table -> its tables that name the PDs which have it."""
OF_A_PD: Final = ("interrupt", "port")
LISTS: Final = ("link", *OF_A_PD, *_SHARED, "drive")
_OF_MCS: Final = ("budget_us", "period_us", "overrun", "passive")
QUOTAS: Final = (
    *("nodes", "edges", "spaces", "types", "requests", "tickets", "pds", "bytes", "maps", "pages"),
)
FILL: Final = BOOT_CONFIGS / "region.toml"


def is_valid(table: Table) -> bool:
    """Whether a configuration keeps every rule for configurations."""
    try:
        override(Config.model_validate(table))
    except (ValidationError, CellreapError):
        return False
    return True


@cache
def _taken(arch: str) -> tuple[tuple[str, Table], ...]:
    """The configurations of the tests that can be a part of a system for the architecture."""
    found = []
    folders = (CONFIGS, CONFIGS / "disk", BOOT_CONFIGS)
    for path in sorted(path for folder in folders for path in folder.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        regions = {key for each in table.get("region", []) for key in each}
        for region in table.get("region", []):
            region |= {"fill": str(path.parent / region["fill"])} if "fill" in region else {}
        apart = {"reconcile", "scenario"} & table["system"].keys() or {"program"} & table.keys()
        device = "physical" in regions or set(OF_A_PD) & table.keys()
        there = not device or path.stem.endswith(f"_{arch}")
        halts = any(pd["program"] == HALTER for pd in table["pd"])
        if there and not apart and not halts and len(table["pd"]) <= MOST_PDS:
            found.append((path.stem, table))
    return tuple(found)


@cache
def _has_checkpoints(program: str) -> bool:
    """Whether a program passes checkpoints, at which a scenario can crash it."""
    paths = [folder / f"{program}.c" for folder in (ROOT / "examples", TESTS / "pds")]
    return any(
        CHECKPOINT.search(path.read_text(encoding="utf-8")) for path in paths if path.exists()
    )


def _renamed(table: Table, prefix: str) -> Table:
    """A configuration in which all PDs, and what they have, have a prefix."""
    made = copy.deepcopy(table)
    for pd in made["pd"]:
        pd["name"] = prefix + pd["name"]
        for key in NAMES:
            if key in pd:
                pd[key] = prefix + pd[key]
        for key in NAMED:
            if key in pd:
                pd[key] = [prefix + name for name in pd[key]]
        for space in pd.get("space", []):
            space["name"] = prefix + space["name"]
    for link in made.get("link", []):
        link["between"] = [prefix + name for name in link["between"]]
    for kind in OF_A_PD:
        for each in made.get(kind, []):
            each |= {"name": prefix + each["name"], "pd": prefix + each["pd"]}
    for kind, ends in _SHARED.items():
        for each in made.get(kind, []):
            each["name"] = prefix + each["name"]
            if "device" in each:
                each["device"] = prefix + each["device"]
            for end in each[ends]:
                end["pd"] = prefix + end["pd"]
    for drive in made.get("drive", []):
        drive["name"] = prefix + drive["name"]
    for crash in made.get("crash", []):
        for key in ("pd", "by"):
            if key in crash:
                crash[key] = prefix + crash[key]
    return made


def completed(table: Table) -> Table:
    """The configuration with all that disturbances add to."""
    made: Table = {key: dict(table.get(key, {})) for key in ("system", "policy", "bench")}
    made |= {key: list(table.get(key, [])) for key in ("program", "pd", "crash", *LISTS)}
    first = made["bench"].get("inject", [])
    made["bench"]["inject"] = [first] if isinstance(first, str) else list(first)
    made["policy"]["allow_cycles"] = True
    return made


def _side_by_side(parts: list[Table]) -> Table:
    made = completed(parts[0])
    for part in parts[1:]:
        for key in ("pd", "crash", *LISTS):
            made[key] += part.get(key, [])
    for pd in made["pd"]:
        _limit(pd)
    return made


def _limit(pd: Table) -> None:
    """Lets a PD come to its end within a few thousand events."""
    if "respawn_budget" in pd:
        pd["respawn_budget"] = min(pd["respawn_budget"], MOST_RESPAWNS)
    if pd["program"] == "fuzzer":
        args: list[int] = [*pd.get("args", []), 0, 0]
        most = MESSAGES // 5 if pd.get("may_extract") else MESSAGES  # each one tells the model
        pd["args"] = [args[0], min(args[1] or most, most), *args[2:4]]


def _base(rng: random.Random, seed: int, arch: str) -> Table:
    count = rng.choice([0, 1, 1, 1, 2, 2, 3])
    taken = rng.sample(_taken(arch), count)
    parts = [chaos(seed, "async")] if count == 0 or rng.random() < 0.1 else []
    parts += [_renamed(table, f"p{n}_") for n, (_, table) in enumerate(taken)]
    return _side_by_side(parts)


# -- disturbances: each changes a table, whether that is valid then or not


def _pds(table: Table) -> list[Table]:
    found: list[Table] = table["pd"]
    return found


def _some(rng: random.Random, table: Table) -> Table:
    return rng.choice(_pds(table))


def _spaces(table: Table) -> list[str]:
    return [space["name"] for pd in _pds(table) for space in pd.get("space", [])]


def _system(rng: random.Random, table: Table) -> None:
    values: Table = {
        "mode": ["sync", "async"],
        "deadline_ms": [100, 300, 1000, 2000],
        "await_ms": [50, 200, 1000],
        "cleaner_priority": [20, 89, 95, 99, 105, 150],
        "collect": ["after-cleanup"],
        "extract": [True],
        "stop_in_order": [True],
        "trace_time": [True],
    }
    key = rng.choice(list(values))
    table["system"][key] = rng.choice(values[key])


def _truth(rng: random.Random, table: Table) -> None:
    table["system"]["truth"] = True


def _depths(rng: random.Random, table: Table) -> None:
    table["policy"] |= {
        "pd_depth": rng.choice([0, 1, 2, "inf"]),
        "rs_depth": rng.choice([0, 1, 2, "inf"]),
        "allow_cycles": True,
    }


def _closeness(rng: random.Random, table: Table) -> None:
    kinds = sorted({space["type"] for pd in _pds(table) for space in pd.get("space", [])})
    policy = table["policy"]
    policy["policy"] = rng.choice(["metric", "both"])
    if policy["policy"] == "metric":
        policy.pop("pd_depth", None)
    if rng.random() < 0.6 or not kinds:
        policy["fr_max"] = rng.randint(0, 2)
    else:
        policy["rsi_min"] = {rng.choice(kinds): f"{rng.randint(1, 4)}/4"}


def _respawn(rng: random.Random, table: Table) -> None:
    pd = _some(rng, table)
    pd["respawn"] = True
    if rng.random() < 0.5:
        pd |= {"respawn_budget": rng.randint(1, 4), "respawn_delay_ms": rng.choice([0, 1, 30])}
        pd["respawn_window_ms"] = rng.choice([1000, 100_000, 100_000])


def _own(rng: random.Random, table: Table) -> None:
    key, value = rng.choice(
        [
            ("pinned", True),
            ("prevent_destroy", True),
            ("pd_depth", rng.choice([0, 1, "inf"])),
            ("rs_depth", rng.choice([0, 1, "inf"])),
            ("deadline_ms", rng.choice([50, 200, 1000, 0])),
            ("heartbeat_ms", rng.choice(BEATS)),
            ("heartbeat_ms", rng.choice(BEATS)),
            ("call_ms", rng.choice(BEATS)),
            ("call_ms", rng.choice(BEATS)),
            ("priority", rng.choice([80, 90, 100, 110, 120])),
            ("spawn_priority", rng.choice([80, 90, 100])),
            ("stack_pages", rng.choice([1, 2, 8])),
            ("cspace_bits", rng.choice([5, 6, 8])),
            ("start", "after-cleanup"),
            ("may_extract", True),
            ("may_collect", True),
            ("may_listen", True),
            ("may_set_depth", True),
        ]
    )
    _some(rng, table)[key] = value


def _edge(rng: random.Random, table: Table) -> None:
    pd, other = _some(rng, table), _some(rng, table)["name"]
    kind = rng.choice(["fault_handler", "post_mortem", "holds_pds", "requests", "link", "policy"])
    if kind in NAMES:
        pd[kind] = other
    elif kind == "link":
        table["link"].append({"between": [pd["name"], other]})
    elif kind == "policy":
        pd["holds_pds"] = [*pd.get("holds_pds", []), other]
        pd["may_set_policy_of"] = [*pd.get("may_set_policy_of", []), other]
    elif kind == "holds_pds":
        pd["holds_pds"] = [*pd.get("holds_pds", []), other]
    elif spaces := _spaces(table):
        pd["requests"] = [*pd.get("requests", []), rng.choice(spaces)]


def _region(rng: random.Random, table: Table) -> None:
    number, names = len(table["region"]), [pd["name"] for pd in _pds(table)]
    region: Table = {
        "name": f"region{number}",
        "size": 4096 * rng.choice([1, 1, 2, 5]),
        "after": rng.choice(["keep", "zero"]),
        "map": mapped(rng, table, rng.sample(names, min(len(names), rng.randint(1, 3)))),
    }
    if rng.random() < 0.3:
        region |= {"fill": str(FILL), "after": rng.choice(["keep", "zero", "refill"])}
    if rng.random() < 0.5:
        region["epoch"] = 0
    if rng.random() < 0.2:
        region |= {"page_size": 1 << 21, "size": 1 << 21}
        for place, each in enumerate(region["map"]):
            each["address"] = (1 << 30) + ((place + number) << 21)
    table["region"].append(region)


def _left(rng: random.Random, table: Table) -> None:
    """Numbers that come to their end."""
    table["bench"][rng.choice(["numbers_left", "generations_left"])] = rng.randint(1, 40)


def _channel(rng: random.Random, table: Table) -> None:
    number, names = len(table["channel"]), [pd["name"] for pd in _pds(table)]
    ends: list[Table] = [
        {"pd": name, "notify": rng.random() < 0.8} for name in rng.sample(names, min(len(names), 2))
    ]
    if rng.random() < 0.3:
        ends[0]["id"] = rng.randrange(32)
    table["channel"].append({"name": f"channel{number}", "end": ends})


def _quota(rng: random.Random, table: Table) -> None:
    pd = _some(rng, table)
    word = rng.choice(QUOTAS)
    most = rng.randint(0, 30) << (16 if word == "bytes" else 0)
    pd["quota"] = {**pd.get("quota", {}), word: most}


def _time(rng: random.Random, table: Table) -> None:
    """Of MCS."""
    pd = _some(rng, table)
    if rng.random() < 0.3:
        pd["passive"] = True
        return
    pd["budget_us"] = rng.choice([200, 1000, 5000, 20_000])
    pd["period_us"] = pd["budget_us"] * rng.choice([1, 2, 5])
    pd["overrun"] = rng.choice(["wait", "wait", "fault"])


def _spawner(rng: random.Random, table: Table) -> None:
    pd = _some(rng, table)
    pd["spawns"] = [*pd.get("spawns", []), rng.choice(SPAWNED)]
    pd.setdefault("spawn_allow", rng.randint(0, 4))


def _thread(rng: random.Random, table: Table) -> None:
    """A thread of a PD, or of its process. It asks for the same, and has no spaces."""
    process = _some(rng, table)
    name = process.get("thread_of", process["name"])
    process = next(pd for pd in _pds(table) if pd["name"] == name)
    keys = process.keys() & {*OF_PROCESS, "priority", "args", "requests"}
    thread: Table = {"name": f"thread{len(_pds(table))}", "thread_of": name}
    _pds(table).append(thread | {key: process[key] for key in sorted(keys)})


def _background(rng: random.Random, table: Table) -> None:
    """A PD at a lower priority than all others, which mostly computes for ever."""
    priority = min(pd.get("priority", 100) for pd in _pds(table)) - 2
    if rng.random() < 0.3:
        _some(rng, table).update(background=True, priority=priority)
        return
    name = f"background{len(_pds(table))}"
    spinner = {"name": name, "program": "spinner", "background": True, "priority": priority}
    _pds(table).append(spinner)


def _deployed(rng: random.Random, table: Table) -> None:
    """A system that nothing ends: it has no scenario, or that goes on. Then nobody is asked whether
    it has hung, which would be done for ever.
    """
    for pd in _pds(table):
        pd.pop("heartbeat_ms", None)
    if rng.random() < 0.5:
        table["system"]["ends"] = False
        return
    table["system"] |= {"scenario": False}
    for key in ("ends", "extract", "stop_in_order"):
        table["system"].pop(key, None)
    table["crash"], table["bench"] = [], {}
    for pd in _pds(table):
        pd.pop("start", None)


def _crash(rng: random.Random, table: Table) -> None:
    how = rng.choice(WAYS)
    pds = [pd for pd in _pds(table) if _has_checkpoints(pd["program"])]
    if how not in BY_TIME:  # a fuzzer may come to a checkpoint by chance, and not read its order
        pds = [pd for pd in pds if pd["program"] != "fuzzer"]
    if not pds:
        return
    pd = rng.choice(pds)
    crash: Table = {"pd": pd["name"], "how": how, "at": rng.choice([1, 1, 1, 2])}
    if how in BY_TIME:
        key = rng.choice(["after_ns", "spread_ns"])
        crash |= {key: rng.randrange(1_000_000), "seed": rng.randrange(1000)}
    elif how == "terminate":
        crash["by"] = pd["name"]
        crash["pd"] = rng.choice([*pd.get("holds_pds", []), pd["name"]])
    if how in NEVER_ENDS and rng.random() < 0.8:  # else only a deadline may find it
        pd.setdefault("heartbeat_ms", rng.choice(BEATS))
    if rng.random() < 0.2 and pd.get("respawn"):
        crash["repeat"] = rng.randint(2, 4)
    table["crash"].append(crash)


def _inject(rng: random.Random, table: Table) -> None:
    often = rng.choice(["", "", "", ":always", ":x2", ":x3"])
    if rng.random() < 0.5:
        most = rng.choice([50, MADE])
        text = f"make:{rng.randint(1, most)}:error{rng.choice(['', '', ':x2', ':always'])}"
    else:
        where = rng.choice(["", "", ".end", *(f".{call}" for call in range(1, 5))])
        how = rng.choice(["fault", "error", "hang"])
        text = f"step:{rng.randint(1, rng.choice([25, STEPS]))}{where}:{how}{often}"
    table["bench"]["inject"].append(text)


def _fuzzer(rng: random.Random, table: Table) -> None:
    """A PD that asks for anything, with some rights, at some of the others."""
    name = f"fuzz{len(_pds(table))}"
    pds, spaces = [pd["name"] for pd in _pds(table)], _spaces(table)
    bits = rng.choice([0, 0, 1, 2, 4, 8, 16, 32, rng.randrange(FUZZED + 1)])
    pd: Table = {
        "name": name,
        "program": "fuzzer",
        "priority": rng.choice([90, 100, 110]),
        "requests": rng.sample(spaces, min(len(spaces), rng.randint(0, 3))),
        "holds_pds": rng.sample(pds, min(len(pds), rng.choice([0, 0, 1, 2]))),
        "spawns": [rng.choice(SPAWNED)],
        "spawn_allow": rng.randint(0, 3),
        "args": [rng.randrange(1 << 31), rng.randint(50, MESSAGES), bits, 0],
        "space": [{"name": f"{name}_space", "type": "FUZZ"}],
    }
    rights = ("may_extract", "may_collect", "may_listen", "may_set_depth", "allocates")
    pd |= {right: True for right in rights if rng.random() < 0.3}
    if pd["holds_pds"] and rng.random() < 0.3:
        pd["may_set_policy_of"] = list(pd["holds_pds"])
    if rng.random() < 0.3:
        pd |= {"respawn": True, "respawn_budget": rng.randint(1, 3)}
    _limit(pd)
    _pds(table).append(pd)


def _tree(rng: random.Random, table: Table) -> None:
    """A PD that spawned two others, and one that terminates it, mostly with them."""
    number, spaces = len(_pds(table)), _spaces(table)
    if not spaces:
        return
    parent = f"parent{number}"
    _pds(table).append(
        {
            "name": parent,
            "program": "parent",
            "requests": [rng.choice(spaces)],
            "spawns": ["idler"],
            "spawn_allow": rng.randint(1, 4),
            "args": [rng.choice([0, 0, 1])],
        }
    )
    _pds(table).append(
        {
            "name": f"boss{number}",
            "program": "terminator",
            "holds_pds": [parent],
            "args": [rng.choice([4, 64 + 4, 64 + 4 + 2, 64 + 4 + 16]), rng.randint(1, 3), 3],
        }
    )


def _drop_crashes(rng: random.Random, table: Table) -> None:
    table["crash"] = [crash for crash in table["crash"] if rng.random() < 0.5]


Disturbance = tuple[float, Callable[[random.Random, Table], None]]
"""How likely it is, and what it does."""
OF_ANY_SYSTEM: Final[tuple[Disturbance, ...]] = (
    (0.7, _system),
    (0.5, _system),
    (0.5, _system),
    (0.2, _truth),
    (0.6, _depths),
    (0.15, _closeness),
    *((0.5, _respawn),) * 4,
    *((0.5, _own),) * 8,
)
"""Those that need nothing of a PD."""
FAILURES: Final[tuple[Disturbance, ...]] = ((0.3, _inject),) * 4
DISTURBANCES: Final[tuple[Disturbance, ...]] = (
    (0.3, _drop_crashes),
    (0.35, _fuzzer),
    (0.35, _fuzzer),
    (0.25, _tree),
    *OF_ANY_SYSTEM,
    *((0.5, _edge),) * 8,
    *((0.3, _region),) * 2,
    *((0.3, _channel),) * 2,
    *((0.2, _quota),) * 2,
    (0.1, _left),
    (0.3, _spawner),
    *((0.5, _crash),) * 4,
    *FAILURES,
    *((0.1, _thread),) * 2,
    (0.1, _background),
)
"""In the order in which they are made. One of them is made often, before and after the others."""


def _programs(table: Table) -> set[str]:
    return {name for pd in table["pd"] for name in (pd["program"], *pd.get("spawns", []))}


def disturb(rng: random.Random, table: Table, disturbances: Sequence[Disturbance]) -> Table:
    """The configuration with some of the disturbances, as far as it is valid then."""
    for likely, change in disturbances:
        if rng.random() < likely:
            changed = copy.deepcopy(table)
            change(rng, changed)
            if is_valid(changed):
                table = changed
    return table


def disturbed(seed: int, arch: str = "x86_64", mcs: bool = False) -> Table:
    """The configuration of a seed, as the tables of a TOML file. arch, mcs: of the kernel."""
    rng = random.Random(f"disturbed {seed}")
    table = _base(rng, seed, arch)
    table["system"]["name"] = f"disturbed{seed}"
    while len(_programs(table)) > MOST_PROGRAMS or not is_valid(table):  # such as too long a name
        table = _base(rng, seed, arch)
        table["system"]["name"] = f"disturbed{seed}"
    for pd in table["pd"]:
        for key in () if mcs else _OF_MCS:
            pd.pop(key, None)
    times = ((0.5, _time),) * 4 if mcs else ()
    disturbances = (*DISTURBANCES, *of_machine(arch), *times)
    often = ((0.6, rng.choice(list(dict.fromkeys(change for _, change in disturbances)))),) * 8
    table = disturb(rng, table, (*often, *disturbances, *often, (0.08, _deployed)))
    if arch == "riscv64" and not mcs:
        table["system"].pop("trace_time", None)  # no such kernel leaves a counter to user level
    return table
