# SPDX-License-Identifier: BSD-2-Clause
"""The command `cellreap`.

An error is one line on stderr. stdout contains results only. To add a command, add a module and a
line in `_COMMANDS`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from cellreap import __version__
from cellreap.cli.exit_codes import ExitCode
from cellreap.errors import CellreapError, closest
from cellreap.signals import ending_signals_raise

# Name -> module, attribute, help. A command is imported when it is used, so that `cellreap plan`
# does not load what only `cellreap boot` needs.
_COMMANDS: Final[dict[str, tuple[str, str, str]]] = {
    "plan": (
        "cellreap.cli.plan_cmd",
        "plan",
        "Show what a crash or a collection would doom, and in which order.",
    ),
    "reconcile": (
        "cellreap.cli.reconcile_cmd",
        "reconcile",
        "Show what a new configuration leaves behind of a saved state.",
    ),
    "metrics": (
        "cellreap.cli.metrics_cmd",
        "metrics",
        "Say how close PDs are: what they share, and how far a fault may reach.",
    ),
    "audit": (
        "cellreap.cli.audit_cmd",
        "audit",
        "Say what each single crash would do, at each depth.",
    ),
    "build": (
        "cellreap.cli.build_cmd",
        "build",
        "Build an image: root task, PDs and configuration.",
    ),
    "boot": ("cellreap.cli.boot_cmd", "boot", "Boot an image and record its trace."),
    "flash": (
        "cellreap.cli.flash_cmd",
        "flash",
        "Boot an image on a board with U-Boot and record its trace.",
    ),
    "check": ("cellreap.cli.check_cmd", "check", "Replay a trace against the reference model."),
    "show": ("cellreap.cli.show_cmd", "show", "Tell the story of a kept trace."),
    "graph": ("cellreap.cli.graph_cmd", "graph", "Draw a model state, or what a cleanup did."),
    "report": ("cellreap.cli.report_cmd", "report", "Make a page about a run, for a browser."),
    "capdl": (
        "cellreap.cli.capdl_cmd",
        "capdl",
        "Write the capabilities after a cleanup in capDL.",
    ),
    "conformance": (
        "cellreap.cli.conformance_cmd",
        "conformance",
        "Check that a kernel behaves as required.",
    ),
    "run": ("cellreap.cli.run_cmd", "run", "Build, boot and check a configuration."),
    "campaign": (
        "cellreap.cli.campaign_cmd",
        "campaign",
        "Build, boot and check every combination of a matrix.",
    ),
    "init": (
        "cellreap.cli.init_cmd",
        "init",
        "Make a project: a server, a client and a test.",
    ),
    "import": (
        "cellreap.cli.import_cmd",
        "import_command",
        "Make a configuration of a Microkit system description.",
    ),
    "debug": ("cellreap.cli.debug_cmd", "debug", "Boot a system that waits for a debugger."),
    "programs": (
        "cellreap.cli.programs_cmd",
        "programs",
        "List the programs that come with cellreap.",
    ),
    "docs": ("cellreap.cli.docs_cmd", "docs", "List the pages about cellreap, or show one."),
    "cache": ("cellreap.cli.cache_cmd", "cache", "List or delete what builds keep."),
    "completion": (
        "cellreap.cli.completion_cmd",
        "completion",
        "Print a script for the completion of a shell.",
    ),
}


class _OutputClosed(Exception):
    """The reader of stdout closed it. No OSError, because click exits with 1 for an OSError."""


class _LazyGroup(click.Group):
    """A group that knows the names and help of its commands, and imports a command when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = closest(args[0], _COMMANDS)
            also = "" if near is None else f" Did you mean '{near}'?"
            ctx.fail(f"No such command '{args[0]}'.{also}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            _refuse_repeated(click.Context(command, parent=ctx, info_name=name), rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][2]) for name in self.list_commands(ctx)])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(int(code)), code.meaning) for code in ExitCode])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            raise _OutputClosed from None


def _refuse_repeated(ctx: click.Context, args: Sequence[str]) -> None:
    """Ends with an error if an option has two values of which click would drop the first."""
    seen = set()
    for param in ctx.command.make_parser(ctx).parse_args(list(args))[2]:
        if isinstance(param, click.Option) and not (param.multiple or param.is_flag):
            if param in seen:
                ctx.fail(f"{max(param.opts, key=len)}: is given twice; expected once")
            seen.add(param)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cellreap")
def cli() -> None:
    """Cleans up after crashed seL4 protection domains and checks the result."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and exits.

    args: without the program's name. None: the arguments of this process.
    """
    run_and_exit(cli, "cellreap", args)


def run_and_exit(command: click.Command, name: str, args: Sequence[str] | None = None) -> NoReturn:
    """Runs a command and exits with its exit code. An error becomes one line on stderr.

    name: the program's name in messages. args: as for `main`.
    """
    _need_streams(name)
    # pydantic would read the metadata of all that is installed, to look for plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        with ending_signals_raise():
            result = command.main(
                args=None if args is None else list(args), prog_name=name, standalone_mode=False
            )
            sys.stdout.flush()
    except (_OutputClosed, BrokenPipeError):
        # Python flushes stdout again when it exits and would report the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(ExitCode.OUTPUT_CLOSED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(ExitCode.USAGE)
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        _complain(name, error.format_message(), ctx)
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{name}: interrupted", err=True)
        sys.exit(ExitCode.INTERRUPTED)
    except CellreapError as error:
        _complain(name, error.line())
    except OSError as error:
        what = error.strerror or str(error)
        _complain(name, f"{error.filename}: {what}" if error.filename else what)
    sys.exit(result if isinstance(result, int) else ExitCode.DONE)


def _need_streams(name: str) -> None:
    """Ends the program if stdout is closed. A closed stdin or stderr becomes /dev/null.

    Otherwise the next file that is opened would get the number of the closed stream.
    """
    for file, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, file)
            if null > 2:
                os.close(null)
    closed = sys.stdout is None
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 - open as long as the program
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
    if closed:
        _complain(name, "stdout is closed: expected a terminal, a file or a pipe")


def _complain(name: str, message: str, ctx: click.Context | None = None) -> NoReturn:
    line = " ".join(message.split())
    # Bytes of a path that are not UTF-8 appear as surrogates, which a stream cannot encode.
    line = line.encode(errors="backslashreplace").decode()
    see = f" (see {ctx.command_path} --help)" if ctx is not None else ""
    click.echo(f"{name}: error: {line}{see}", err=True)
    sys.exit(ExitCode.USAGE)


if __name__ == "__main__":
    main()
