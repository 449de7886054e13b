# SPDX-License-Identifier: BSD-2-Clause
"""A campaign's file, and the cells that it describes: one boot for each combination of values."""

from __future__ import annotations

import functools
import itertools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import tomlkit
from pydantic import Field, StringConstraints

from cellreap.api.systems import System
from cellreap.arches import ARCHES, DEFAULT_ARCH
from cellreap.boards.description import find_board, load_description
from cellreap.cached import digest_of
from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.model.plan import MAX_DEPTH
from cellreap.system.config import Depth, override, parse_config, read_text
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toml_tables import Table, checked, dotted, expect, toml_values

MAX_CELLS = 100_000
_BOARD_ARCH = "aarch64"

_Text = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=4096),
    expect("a text of one line"),
]
_Depth = Annotated[
    Annotated[int, Field(ge=0, le=MAX_DEPTH)] | Literal["inf"],
    expect(f'an integer from 0 to {MAX_DEPTH}, or "inf"'),
]
_Arch = Annotated[str, Field(pattern=f"^({'|'.join(ARCHES)})$"), expect(" or ".join(ARCHES))]
_Seconds = Annotated[float, Field(gt=0, le=1e9), expect("a number of seconds above 0")]
_Seed = Annotated[int, Field(ge=0, lt=1 << 63), expect("an integer from 0")]
_Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$"),
    expect("a name of letters, digits, _ and -"),
]
_Injection: TypeAlias = _Text | tuple[_Text, ...]


class Settings(Table):
    """[campaign]: what holds for all cells."""

    name: _Name
    """The name of the campaign."""
    attempts: Annotated[int, Field(ge=1, le=100), expect("an integer from 1 to 100")] = 2
    """How often a cell is booted whose boot hangs."""
    idle: Annotated[_Seconds, Field(strict=False)] = 60.0
    """A boot hangs that says nothing for so many seconds."""
    timeout: Annotated[_Seconds, Field(strict=False)] | None = None
    """A boot hangs that takes so many seconds."""
    qemu_args: Annotated[tuple[_Text, ...], Field(strict=False)] = ()
    """Further arguments for QEMU."""


class Matrix(Table):
    """[matrix]: lists of values. There is a cell for each combination."""

    config: Annotated[tuple[_Text, ...], Field(strict=False, min_length=1)]
    """Configurations, relative to the campaign's file."""
    pd_depth: Annotated[tuple[_Depth, ...], Field(strict=False, min_length=1)] | None = None
    """Depths that replace those of the configurations."""
    rs_depth: Annotated[tuple[_Depth, ...], Field(strict=False, min_length=1)] | None = None
    """The same for spaces."""
    crash: Annotated[tuple[_Text, ...], Field(strict=False, min_length=1)] | None = None
    """PDs that crash instead of those of the configurations."""
    inject: Annotated[tuple[_Text, ...], Field(strict=False, min_length=1)] | None = None
    """Failures of the root task, as bench.inject of a configuration has them; "none" for none."""
    seed: Annotated[tuple[_Seed, ...], Field(strict=False, min_length=1)] | None = None
    """Seeds that replace those of the configurations' crashes by time."""
    arch: Annotated[tuple[_Arch, ...], Field(strict=False, min_length=1)] | None = None
    """Architectures."""
    board: Annotated[tuple[_Text, ...], Field(strict=False, min_length=1)] | None = None
    """Boards, by their names or as descriptions relative to the campaign's file."""
    kernel: Annotated[tuple[_Text, ...], Field(strict=False, min_length=1)] | None = None
    """seL4, refkernel, or SDK directories relative to the campaign's file."""


class CampaignFile(Table):
    """A campaign's file."""

    campaign: Settings
    """What holds for all cells."""
    matrix: Matrix
    """The values of the cells."""


_NOT_SHOWN = ("folder", "text", "made_from")
_NOT_NAMED = ("folder", "text", "made_from")


@dataclass(frozen=True)
class Cell:
    """One combination of values. None: what the configuration says, or the default kernel.

    No board: it runs in QEMU.
    """

    folder: str
    """The folder of the campaign's file. The same cell may be in another one elsewhere."""
    config: str
    text: str
    """The text of the configuration, with the injection and the seed."""
    arch: str
    kernel: str | None
    pd_depth: Depth | None
    rs_depth: Depth | None
    crash: str | None
    inject: str | None
    seed: int | None
    board: str | None
    made_from: str = ""
    """A name for all that its result depends on (identity.py). Empty: not known yet."""

    @functools.cached_property
    def id(self) -> str:
        """A name that no other cell of the campaign has: it is of the values alone."""
        told = {key: value for key, value in asdict(self).items() if key not in _NOT_NAMED}
        return digest_of(repr(sorted(told.items())))

    @functools.cached_property
    def key(self) -> str:
        """A name of the cell as it is made now. No result of another cell has it, nor one that was
        made from something else.
        """
        return digest_of(self.id, self.made_from)

    @property
    def path(self) -> Path:
        """The file of the configuration."""
        return Path(self.folder) / self.config

    @property
    def kernel_path(self) -> str | None:
        """The kernel: a name, or the path of an SDK directory."""
        if self.kernel is None or "/" not in self.kernel:
            return self.kernel
        return str((Path(self.folder) / self.kernel).absolute())

    def board_path(self) -> Path:
        """The description of the board. UsageError if there is none of that name."""
        assert self.board is not None
        return _board_path(Path(self.folder), self.board)

    @property
    def values(self) -> dict[str, Any]:
        """The values of the matrix that the cell has."""
        found = {key: value for key, value in asdict(self).items() if key not in _NOT_SHOWN}
        return {**found, "config": str(self.path), "kernel": self.kernel_path}

    @property
    def title(self) -> str:
        """The cell in a line: only what the matrix says."""
        said = [Path(self.config).stem, self.arch]
        for key, value in self.values.items():
            if key not in ("config", "arch") and value is not None:
                said.append(f"{key}={Path(value).name if key == 'kernel' else value}")
        return " ".join(said)

    def system(self) -> System:
        """The system of the cell."""
        path = self.path
        variant = "" if self.inject is None and self.seed is None else f"{self.inject} {self.seed}"
        read = System(path, self.text, parse_config(self.text, path), variant=variant)
        return read.changed(crash=self.crash, pd_depth=self.pd_depth, rs_depth=self.rs_depth)


@dataclass(frozen=True)
class Campaign:
    """A campaign: its settings and its cells, in the order of the file."""

    settings: Settings
    cells: tuple[Cell, ...]


def read_campaign(path: Path) -> Campaign:
    """Reads a campaign. InputError for the first problem, also in its configurations."""
    text = read_text(path)
    values = toml_values(text, path)
    lines = Lines(text)
    tables: dict[tuple[str, ...], type[Table]] = {("campaign",): Settings, ("matrix",): Matrix}
    found = checked(values, path, lines, CampaignFile, tables)
    return Campaign(found.campaign, tuple(_cells(found.matrix, path, lines)))


def _cells(matrix: Matrix, path: Path, lines: Lines) -> list[Cell]:
    axes: list[list[tuple[int, Any]]] = []
    names = ("config", "arch", "kernel", "pd_depth", "rs_depth", "crash", "inject", "seed", "board")
    count = 1
    for name in names:
        axis = getattr(matrix, name) or (_default_arch(matrix) if name == "arch" else None,)
        for number, value in enumerate(axis):
            if value in axis[:number]:
                raise _problem(path, lines, name, number, f"{value!r} is in the list twice")
        axes.append(list(enumerate(axis)))
        count *= len(axis)
    if count > MAX_CELLS:
        raise InputError(
            str(path),
            lines.of(("matrix",)),
            "matrix",
            f"{count} cells; expected at most {MAX_CELLS}",
        )
    _check_boards(matrix, path, lines)
    cells = []
    texts = [_text_of(matrix, number, path, lines) for number in range(len(matrix.config))]
    for combined in itertools.product(*axes):
        at = dict(zip(names, (number for number, _ in combined), strict=True))
        value = dict(zip(names, (value for _, value in combined), strict=True))
        text = _changed(texts[at["config"]], value["inject"], value["seed"])
        cell = Cell(
            str(path.parent),
            value["config"],
            text,
            value["arch"],
            value["kernel"],
            value["pd_depth"],
            value["rs_depth"],
            value["crash"],
            None if value["inject"] == "none" else value["inject"],
            value["seed"],
            value["board"],
        )
        try:
            cell.system()
        except InputError as error:  # the file alone was right
            name = "inject" if value["inject"] is not None else "seed"
            said = f"{cell.path}: {error.field}: {error.expected}"
            raise _problem(path, lines, name, at[name], said) from None
        except CellreapError as error:
            message = str(error).removeprefix("--crash: ").removeprefix("--crash ")
            raise _problem(path, lines, "crash", at["crash"], message) from None
        cells.append(cell)
    return cells


def _default_arch(matrix: Matrix) -> str:
    return _BOARD_ARCH if matrix.board else DEFAULT_ARCH


def _check_boards(matrix: Matrix, path: Path, lines: Lines) -> None:
    """InputError if a board is not described, or cannot have one of the architectures."""
    for number, board in enumerate(matrix.board or ()):
        try:
            load_description(_board_path(path.parent, board))
        except UsageError as error:
            message = str(error).removeprefix(f"--board {board}: ")
            raise _problem(path, lines, "board", number, message) from None
    if not matrix.board:
        return
    for number, arch in enumerate(matrix.arch or ()):
        if arch != _BOARD_ARCH:
            raise _problem(path, lines, "arch", number, f"boards need {_BOARD_ARCH}")


def _board_path(folder: Path, board: str) -> Path:
    if board.endswith(".toml") or "/" in board:
        return folder / board
    return find_board(board)


def _text_of(matrix: Matrix, number: int, path: Path, lines: Lines) -> str:
    """The text of a configuration, which is read before it is changed, with its own messages."""
    file = path.parent / matrix.config[number]
    try:
        text = read_text(file)
    except InputError as error:
        if error.line_number is not None:
            raise
        raise _problem(
            path, lines, "config", number, f"{file}: {error.expected}; expected a configuration"
        ) from None
    config = parse_config(text, file)
    if matrix.seed is not None and all(crash.seed is None for crash in config.crashes):
        message = f"{file} has no crash with a seed for [matrix] seed to replace"
        raise _problem(path, lines, "config", number, message)
    override(config)
    return text


def _problem(path: Path, lines: Lines, name: str, number: int, message: str) -> InputError:
    at: KeyPath = ("matrix", name, number)
    return InputError(str(path), lines.of(at), dotted(at), message)


def _changed(text: str, inject: str | None, seed: int | None) -> str:
    """The text of a configuration with another injection and another seed of its crashes."""
    if inject is None and seed is None:
        return text
    document = tomlkit.parse(text)
    if inject == "none":
        document.get("bench", {}).pop("inject", None)
    elif inject is not None:
        document.setdefault("bench", tomlkit.table())["inject"] = inject
    if seed is not None:
        for crash in document["crash"]:
            if "seed" in crash:
                crash["seed"] = seed
    return tomlkit.dumps(document)
