# SPDX-License-Identifier: BSD-2-Clause
"""Options that several commands share. Each is declared here, once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import click

from cellreap.api.planning import ENGINES
from cellreap.arches import ARCHES, DEFAULT_ARCH
from cellreap.errors import UsageError
from cellreap.model.closeness import MAX_FR, MAX_TYPES, Closeness, parse_share
from cellreap.model.plan import MAX_DEPTH
from cellreap.runs.boot import DEFAULT_IDLE, MAX_UNTIMED_BYTES
from cellreap.system.sdk import board_of
from cellreap.system.trace_key import VARIABLE, parse_key

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Finite(click.FloatRange):
    """A number, and neither `nan`, which is in each range, nor `inf`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r}, expected a number", param, ctx)
        return number


class Depth(NamedTuple):
    """A depth given as an option. limit: None: unlimited.

    It is a tuple, so that None can mean "not given".
    """

    limit: int | None


def to_depth(ctx: click.Context, param: click.Parameter, value: str | None) -> Depth | None:
    """Callback of a depth option: 0, 1, 2, ... in decimal, or `inf`. None if it is not given."""
    if value is None:
        return None
    if value == "inf":
        return Depth(None)
    if value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= MAX_DEPTH:
        return Depth(int(value))
    raise click.BadParameter(
        f"'{value}', expected inf or a number from 0 to {MAX_DEPTH}", ctx=ctx, param=param
    )


def given(depth: Depth | None) -> int | Literal["inf"] | None:
    """A depth as configurations have it."""
    if depth is None:
        return None
    return "inf" if depth.limit is None else depth.limit


def _together(*options: Decorator) -> Decorator:
    """Several options as one decorator. --help lists them in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object."
)


SOURCE = "CONFIG.toml|X.system|TRACE|MODEL.csv"
"""What a model state is read from, in the usage of a command."""

_BOARD = "cellreap.board"


def _keep_board(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_BOARD] = value


def _with_board(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    return board_of(value, ctx.meta.get(_BOARD))


def sdk_options(meaning: str) -> Decorator:
    """--sdk and --board. meaning: the help of --sdk."""
    return _together(
        click.option(
            "--sdk",
            type=click.Path(path_type=Path),
            callback=_with_board,
            metavar="DIR",
            help=meaning,
        ),
        click.option(
            "--board",
            is_eager=True,  # before --sdk, which it completes
            expose_value=False,
            callback=_keep_board,
            metavar="NAME[/CONFIG]",
            help="A board of Microkit's SDK, such as qemu_virt_aarch64. CONFIG is debug if not "
            "given. The SDK is that of --sdk, else of $CELLREAP_MICROKIT_SDK.",
        ),
    )


sdk_option: Decorator = sdk_options(
    "The seL4 SDK, or that of Microkit with --board. If not given: $CELLREAP_SDK_<ARCH>, else the "
    "SDK installed for the user, else refkernel."
)


def engine_option(what: str) -> Decorator:
    """--engine. what: what it does, for example "computes the plan"."""
    return click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default=ENGINES[0],
        show_default=True,
        help=f"What {what}: the root task's own code, or the model in Python.",
    )


def image_option(text: str) -> Decorator:
    """--image. text: its help."""
    return click.option(
        "--image", type=click.Path(path_type=Path), metavar="IMAGE|CONFIG.toml", help=text
    )


qemu_option: Decorator = click.option(
    "--qemu-arg",
    "qemu_args",
    multiple=True,
    metavar="ARG",
    help="Further arguments for QEMU. One option may hold several words: "
    "--qemu-arg '-icount shift=0'.",
)


typed_option: Decorator = click.option(
    "--typed",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="What the UART of the console receives: this file, from its beginning.",
)


idle_option: Decorator = click.option(
    "--idle",
    type=Finite(min=0, min_open=True),
    default=DEFAULT_IDLE,
    show_default=True,
    metavar="SECONDS",
    help="End the run if nothing is printed for this time.",
)


timeout_option: Decorator = click.option(
    "--timeout",
    type=Finite(min=0, min_open=True),
    default=None,
    metavar="SECONDS",
    help="End the run after this time. If not given, the run may take any time, and ends "
    f"after {MAX_UNTIMED_BYTES >> 20} MiB of output.",
)


programs_option: Decorator = click.option(
    "--programs",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The ELF files of the PDs' programs, for the source lines of faults. If not given: the "
    "folder IMAGE.programs beside the image.",
)


strict_option: Decorator = click.option(
    "--strict",
    is_flag=True,
    help="Refuse a state that is illegal or from which something must be left out, and a trace "
    "that does not pass its check.",
)


explain_option: Decorator = click.option(
    "--explain",
    "explained",
    metavar="NODE",
    help="Show which path dooms a node, or why it survives.",
)


def after_option(least: int, meaning: str, *, required: bool = False) -> Decorator:
    """--after. least: the lowest number. meaning: its help."""
    return click.option(
        "--after", type=click.IntRange(min=least), metavar="N", required=required, help=meaning
    )


def kernel_options(purpose: str) -> Decorator:
    """--arch and --sdk. purpose: the help of --arch, for example "Architecture to run on." """
    return _together(
        click.option(
            "--arch",
            type=click.Choice(list(ARCHES)),
            default=DEFAULT_ARCH,
            show_default=True,
            help=purpose,
        ),
        sdk_option,
    )


def _to_key(ctx: click.Context, param: click.Parameter, value: str | None) -> bytes | None:
    return None if value is None else parse_key(value, "--trace-key")


trace_key_option: Decorator = click.option(
    "--trace-key",
    callback=_to_key,
    metavar="HEX",
    help="The image's secret, 32 hex digits, from which each run derives the key of its trace. If "
    f"not given: ${VARIABLE}, else a secret of this image and user.",
)


def depth_options(default: str | None = None, note: str = "") -> Decorator:
    """--pd-depth and --rs-depth, as Depth. default: if None, they are None if not given."""
    shown = default is not None

    def depth(name: str, meaning: str) -> Decorator:
        return click.option(
            name,
            callback=to_depth,
            metavar="N|inf",
            default=default,
            show_default=shown,
            help=f"{meaning}{note}.",
        )

    return _together(
        depth("--pd-depth", "How many hops of clients are destroyed"),
        depth("--rs-depth", "How many hops of mapped spaces are destroyed"),
    )


def _to_shares(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, tuple[int, int]]:
    """Callback of --rsi-min: TYPE=SHARED/ALL, each type once."""
    found: dict[str, tuple[int, int]] = {}
    for value in values:
        name, _, share = value.partition("=")
        if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,14}", name) or name in found:
            what = f"'{value}', expected TYPE=SHARED/ALL, each type once"
            raise click.BadParameter(what, ctx=ctx, param=param)
        try:
            found[name] = parse_share(share)
        except UsageError as error:
            raise click.BadParameter(f"'{value}', {error}", ctx=ctx, param=param) from None
    if len(found) > MAX_TYPES:
        raise click.BadParameter(f"expected at most {MAX_TYPES} types", ctx=ctx, param=param)
    return found


_POLICY_FILE = ".toml"


class _PolicyType(click.ParamType[str | Path]):
    """One of some words, or the file of a policy."""

    name = "policy"

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | Path:
        if value in self._words:
            return value
        if not value.endswith(_POLICY_FILE):
            known = ", ".join((*self._words, f"FILE{_POLICY_FILE}"))
            self.fail(f"expected one of {known}, got '{value}'", param, ctx)
        return Path(value)


def _policy_option(words: tuple[str, ...], meaning: str) -> Decorator:
    return click.option(
        "--policy",
        type=_PolicyType(words),
        metavar="|".join((*words, f"FILE{_POLICY_FILE}")),
        help=meaning,
    )


policy_file_option: Decorator = _policy_option(
    (), "The policy beside X.system: its depths, and the directions of connections."
)

policy_options: Decorator = _together(
    _policy_option(
        ("depth", "metric", "both"),
        "Which PDs policy dooms: dependents up to --pd-depth, PDs that are close to the one that "
        "crashes, or dependents that are. Default: as the configuration or the trace has it, "
        "depth for CSV. Or the policy beside X.system.",
    ),
    click.option(
        "--fr-max",
        type=click.IntRange(0, MAX_FR),
        metavar="N",
        help="With --policy: a PD is close if FR is at most N.",
    ),
    click.option(
        "--rsi-min",
        multiple=True,
        callback=_to_shares,
        metavar="TYPE=SHARED/ALL",
        help="With --policy: a PD is close if RSI of the type is at least this share. May be "
        "repeated.",
    ),
)
"""--policy, --fr-max and --rsi-min: see `chosen_policy`."""


def chosen_policy(
    policy: str | None, fr_max: int | None, rsi_min: dict[str, tuple[int, int]]
) -> Closeness | Literal["depth"] | None:
    """The policy of these options. None: none was given. UsageError if they do not fit."""
    there = fr_max is not None or bool(rsi_min)
    if policy in ("metric", "both"):
        if not there:
            raise UsageError(f"--policy {policy}: expected --fr-max or --rsi-min too")
        chosen = cast(Literal["metric", "both"], policy)
        return Closeness(chosen, fr_max, tuple((name, *rsi_min[name]) for name in rsi_min))
    if there:
        raise UsageError("--fr-max, --rsi-min: expected --policy metric or --policy both too")
    return None if policy is None else "depth"
