# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap capdl`: the distribution of capabilities after a cleanup, in seL4's capDL."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import after_option, json_option
from cellreap.errors import UsageError
from cellreap.inputs import beside
from cellreap.runs.distribution import differences, distribution
from cellreap.system.capdl.writing import WRITERS, write
from cellreap.system.files import refuse_output, write_atomically
from cellreap.trace.events import printable


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@after_option(
    1,
    "After the N-th cleanup. What is there at boot is in the image, as system.cdl.",
    required=True,
)
@click.option(
    "--image",
    type=click.Path(path_type=Path),
    metavar="IMAGE",
    help="The image that was booted. Default: TRACE with the ending .img.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Default: stdout."
)
@click.option(
    "--writer",
    type=click.Choice(WRITERS),
    default="auto",
    show_default=True,
    help="tool: python-capdl-tool, if it can be imported; auto: that one if it can, else own.",
)
@json_option
def capdl(
    trace: Path, after: int, image: Path | None, output: Path | None, writer: str, as_json: bool
) -> int:
    """Write the capabilities after a cleanup in capDL.

    TRACE is the console log of a run of IMAGE. The description has every PD that is there after the
    cleanup, with its objects, its capabilities and their derivations. If the trace has the kernel's
    snapshot after the cleanup, the CSpaces are compared with it. The exit code is 1 if the trace
    does not pass `cellreap check` with this image, or if the snapshot has other capabilities.
    """
    if image is None:
        image = beside(trace, ".img")
        if not image.is_file():
            raise UsageError(f"no --image, and there is no {image}: expected the booted image")
    refuse_output(output, trace, image)
    found = distribution(trace, image, after)
    problems = [f"{printable(str(trace))}:{problem}" for problem in found.report.violations]
    compared = found.made is not None and bool(found.snapshot)
    if found.made is not None and compared:
        told = differences(found.made, found.pds, found.snapshot)
        problems += [f"{printable(str(trace))}: {text}" for text in told]
    for problem in problems:
        click.echo(problem, err=True)
    text, used = (None, None) if found.made is None else write(found.made, writer)
    if output is not None and text is not None:
        write_atomically(output, text.encode())
    if as_json:
        shown = {"after": after, "writer": used, "compared": compared, "problems": problems}
        echo_json("capdl", {**shown, "capdl": text})
    elif output is None and text is not None:
        click.echo(text, nl=False)
    return ExitCode.FAILED if problems or text is None else ExitCode.DONE
