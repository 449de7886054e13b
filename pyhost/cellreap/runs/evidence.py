# SPDX-License-Identifier: BSD-2-Clause
"""The files of a run: they are kept if the user asks for it, or if the run does not pass."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from cellreap.errors import UsageError
from cellreap.runs.places import programs_beside
from cellreap.system.locks import alone


def make_output(output: Path) -> None:
    """Makes the directory that -o names, if it is not there. UsageError if that fails."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"-o {output}: {error.strerror}; expected a directory") from None


class Evidence:
    """The folder of a run. `with` deletes it, unless the run was recorded and did not pass."""

    def __init__(self, output: Path | None, system: str, for_microkit: bool = False) -> None:
        """output: where the user wants the files. None: in a new folder, if the run fails.
        for_microkit: the PDs are.
        """
        self._output = output
        self._for_microkit = for_microkit
        self._system = system
        self._alone = contextlib.ExitStack()
        self.folder = Path()
        self.passed = False

    def __enter__(self) -> Evidence:
        if self._output is None:
            self.folder = Path(tempfile.mkdtemp(prefix=f"cellreap-{self._system}-"))
            return self
        make_output(self._output)
        self.folder = self._output
        self._alone.enter_context(alone(self.image))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._alone.close()
        if not self.stays:
            shutil.rmtree(self.folder)
        elif error is not None:  # nobody else will tell
            print("\n".join(self.told()), file=sys.stderr)

    @property
    def image(self) -> Path:
        """The image."""
        return self.folder / f"{self._system}.img"

    @property
    def trace(self) -> Path:
        """The raw console, with the trace."""
        return self.folder / f"{self._system}.trace"

    @property
    def report(self) -> Path:
        """The report in JSON."""
        return self.trace.with_suffix(".json")

    @property
    def stays(self) -> bool:
        """Whether the files are kept: they were asked for, or tell of a failure."""
        recorded = self.trace.exists() and self.trace.stat().st_size > 0
        return self._output is not None or (recorded and not self.passed)

    def told(self) -> list[str]:
        """Lines that say where the files are, and what to do with them."""
        drives = sorted(self.folder.glob(f"{self._system}.*.drive"))
        files = (self.image, programs_beside(self.image), self.trace, self.report, *drives)
        names = ", ".join(file.name for file in files if file.exists())
        told = [f"kept in {self.folder}: {names or 'nothing'}"]
        if self.trace.exists():
            trace = shlex.quote(str(self.trace))
            told.append(f"next: cellreap report {trace} draws it for a browser;")
            option, what = "--records", "its records"
            if self._for_microkit:
                option, what = "--console", "what its PDs printed"
            told.append(f"      cellreap show {trace} {option} prints {what}")
        return told
