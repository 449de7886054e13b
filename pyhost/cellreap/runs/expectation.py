# SPDX-License-Identifier: BSD-2-Clause
"""What a configuration or an image demands of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cellreap.inputs import read_at_most
from cellreap.system.capdl.constants import body_slot, roottask
from cellreap.system.config import (
    PAGE,
    Config,
    Depth,
    Expect,
    Pd,
    badge_of,
    both_ends,
    call_badge,
    called,
    closeness_of,
    deadline_of,
    fault_badge,
    hold_slots,
    lines,
    links_of,
    on_kernel,
    override,
    parent_of,
    parse_config,
    processes,
    quotas,
    read_text,
    respawn_of,
    signal_ends,
)
from cellreap.system.config.region import kept_from_others
from cellreap.system.config.tables import is_pinned, may, need
from cellreap.system.image import Image, Sizes, read_image
from cellreap.system.sdk import debug_missing, takes_snapshots, timer_missing
from cellreap.trace.expected import (
    Depths,
    Expected,
    ExpectedCall,
    ExpectedCrash,
    ExpectedEnd,
    ExpectedLine,
    ExpectedMap,
    ExpectedOutcome,
    ExpectedPd,
    ExpectedSizes,
)

_ZIP = b"PK\x03\x04"


def is_image(path: Path) -> bool:
    """Whether a file begins as an image does. InputError if it cannot be read."""
    return read_at_most(path, len(_ZIP))[: len(_ZIP)] == _ZIP


def expected_by(path: Path) -> Expected:
    """What an image, or a configuration, demands. InputError if the file is neither."""
    if is_image(path):
        image = read_image(path)
        return expected_of_image(image, config_of(image))
    return expected_of_config(parse_config(read_text(path), path), str(path))


def expected_of_config(config: Config, source: str) -> Expected:
    """What a configuration demands on a kernel that is not known. source: its file."""
    with_timer = expected_of(config, source, timer=True)
    return replace(with_timer, without_timer=expected_of(config, source, timer=False))


def config_of(image: Image) -> Config:
    """The configuration that an image's root task contains."""
    return override(image.config, **image.manifest.overrides.model_dump())


def expected_of_image(image: Image, config: Config) -> Expected:
    """What an image demands. config: what its root task contains."""
    manifest = image.manifest
    timer = timer_missing(image.options, manifest.arch) is None
    kernel = f"{manifest.kernel.name} {manifest.kernel.version}"
    missing = debug_missing(image.options)
    expected = expected_of(on_kernel(config, missing), str(image.path), timer)
    return replace(
        expected,
        truth=expected.truth or "some",
        arch=manifest.arch,
        kernel=kernel,
        sizes=_sizes(manifest.sizes),
        snapshots_up_to=(
            roottask("system/truth.h", "CR_SEEN_MAX") if takes_snapshots(kernel) else 0
        ),
    )


def expected_of(config: Config, source: str, timer: bool) -> Expected:
    """What a configuration demands, without what follows from programs and kernel.

    source: its file. timer: whether the kernel leaves a timer to user level.
    """
    depths = (_depth(config.policy.pd_depth), _depth(config.policy.rs_depth))
    shares = {word: quotas.quotas(config, word) for word in quotas.words()}
    return Expected(
        source=source,
        system=config.system.name,
        depths=depths,
        closeness=closeness_of(config),
        mode=config.system.mode,
        await_ms=config.system.await_ms if timer else 0,
        stops_in_order=config.system.stop_in_order,
        reconciles=config.system.reconcile is not None,
        collects=config.system.collect == "after-cleanup",
        pds=tuple(
            _pd(config, account, pd, depths, timer, _quotas(shares, account, pd))
            for account, pd in enumerate(config.pds, 1)
        ),
        links=frozenset(frozenset(pair) for pair in links_of(config)),
        crashes=tuple(
            ExpectedCrash(crash.pd, crash.how, crash.by, crash.repeat) for crash in config.crashes
        ),
        extract=config.system.extract,
        runs_between=timer and config.system.cleaner_priority is not None,
        inject=config.bench.inject,
        truth={None: None, False: "none", True: "all"}[config.system.truth],
        has_times=timer and config.system.trace_time,
        outcome=_outcome(config.expect, config.system.stop_in_order),
    )


def _outcome(expect: Expect, stops: bool) -> ExpectedOutcome:
    return ExpectedOutcome(
        alive=None if expect.alive is None else frozenset(expect.alive),
        dead=frozenset(expect.dead),
        said=expect.said,
        exits=expect.exits,
        cleanups=expect.cleanups,
        crashes=frozenset(expect.crashes),
        waits=None if expect.waits is None else frozenset(expect.waits),
        nobody_left=expect.nobody_left or stops,
    )


def _pd(
    config: Config, account: int, pd: Pd, system: Depths, timer: bool, own: dict[str, int]
) -> ExpectedPd:
    flags = {
        "set_depth": pd.may_set_depth,
        "extract": pd.may_extract,
        "spawn": bool(pd.spawns),
        "listen": pd.may_listen,
        "collect": pd.may_collect,
    }
    depths = (
        system[0] if pd.pd_depth is None else _depth(pd.pd_depth),
        system[1] if pd.rs_depth is None else _depth(pd.rs_depth),
    )
    rule = respawn_of(pd, timer)
    return ExpectedPd(
        name=pd.name,
        account=account,
        pinned=is_pinned(pd),
        protected=pd.prevent_destroy,
        late=pd.start == "after-cleanup",
        priority=pd.priority,
        rights=frozenset(flag for flag, has in flags.items() if has),
        trusts=tuple(
            1 + [other.name for other in config.pds].index(name) for name in pd.may_set_policy_of
        ),
        reader=[None, *(each.name for each in config.pds)].index(pd.post_mortem),
        deadline_ms=deadline_of(config, pd, timer),
        limits=(
            pd.heartbeat_ms or 0,
            pd.call_ms or 0,
            pd.budget_us or 0,
            pd.period_us or 0,
            int(pd.passive),
        ),
        depths=None if pd.pd_depth is None and pd.rs_depth is None else depths,
        respawn=(
            (rule["respawn_budget"], rule["respawn_window_ms"], rule["respawn_delay_ms"])
            if pd.respawn
            else None
        ),
        handler=pd.fault_handler,
        holds=hold_slots(config, pd),
        parent=None if pd.child_id is None else parent_of(config, pd.name),
        parent_badge=None if pd.child_id is None else fault_badge(pd),
        process=pd.thread_of if pd.name not in processes(config) else pd.name,
        requests=frozenset(pd.requests),
        spaces={space.name: space.type for space in pd.spaces},
        spawns=frozenset(pd.spawns),
        allocates=pd.allocates,
        maps=tuple(
            ExpectedMap(
                region.name,
                region.pages,
                each.address // PAGE,
                each.writable,
                region.caches(each),
                region.place,
                len(region.on_death),
                any(entry.until is not None for entry in region.on_death),
                kept_from_others(config.regions, region),
            )
            for region in config.regions
            for each in region.maps
            if each.pd == pd.name
        ),
        microkit=pd.abi == "microkit",
        ends=tuple(
            ExpectedEnd(end.channel, end.peer, end.slot, badge_of(config, other))
            for end, other in signal_ends(config)
            if end.pd == pd.name
        ),
        calls=tuple(
            ExpectedCall(end.peer, end.calls, call_badge(other))
            for end, other in both_ends(config)
            if end.pd == pd.name and end.calls
        ),
        has_door=pd.name in called(config),
        lines=tuple(
            ExpectedLine(line.kind, line.slot, line.first, line.last, line.bit)
            for line in lines(config)
            if line.pd == pd.name
        ),
        spawn_priority=pd.priority if pd.spawn_priority is None else pd.spawn_priority,
        spawn_allow=pd.spawn_allow,
        cspace_slots=1 << pd.cspace_bits,
        quotas=own,
    )


def _quotas(shares: dict[str, list[int] | None], account: int, pd: Pd) -> dict[str, int]:
    """The quotas of an account, without those that only the root task knows."""
    found = {word: each[account - 1] for word, each in shares.items() if each is not None}
    for word in shares.keys() - found.keys():
        asked = getattr(pd.quota, word)
        if asked is not None:
            found[word] = asked
            if word == "bytes":  # memory is set aside in whole blocks
                found[word] -= asked % (1 << roottask("kernel/untyped.h", "CR_RESERVE_MIN_BITS"))
        elif not may(pd, word):
            found[word] = need(pd, word)
    return found


def _sizes(sizes: Sizes) -> ExpectedSizes:
    return ExpectedSizes(
        base_bytes=sizes.base_bytes,
        base_slots=sizes.base_slots,
        bodies=sizes.bodies,
        spawned=sizes.spawned,
        base_objects=sizes.base_objects,
        objects=sizes.objects,
        spawned_objects=sizes.spawned_objects,
        body_slots=body_slot("CR_BODY_ROOT_SLOTS"),
        resource_slots=roottask("system/body.h", "CR_RESOURCE_ROOT_SLOTS"),
        spawned_cspace_slots=1 << body_slot("CR_SPAWNED_CSPACE_BITS"),
    )


def _depth(depth: Depth) -> str:
    return str(depth)
