"""The folder that a run on Spark writes to: results of an earlier run, and the stages of one that was stopped.

Stages lie in DIR/.stages (or in the work folder) below a name that stands for the run: plan, input, columns. The same
command goes on from them; those of another run are an error, or are removed with --force.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neardup.documents import Source, stamp
from neardup.engines.local.write import DOCUMENTS, RESULTS, Mode, files_of_last_run, remove_result
from neardup.errors import InputError, OutputError, ParameterError, PlanError

TABLES = ("pairs", "clusters")
REPORT = "report.json"
MANIFEST = ("manifest.json", ".manifest.json.new")  # which a folder of stages has


@dataclass(frozen=True)
class Target:
    """Where a run writes its results and its stages."""

    folder: Path
    stages: Path
    mode: Mode
    lasting: bool  # whether the stages stay when the run has ended

    @staticmethod
    def of(output: str, work_dir: str | None, mode: Mode, digest: str) -> Target:
        """The places of the run that the digest stands for."""
        folder = Path(output).absolute()
        work = Path(work_dir).absolute() if work_dir else folder / ".stages"
        return Target(folder, work / digest, mode, bool(work_dir))

    @property
    def tables(self) -> list[str]:
        """The folders of the result."""
        return [*TABLES, *DOCUMENTS[self.mode]]

    @property
    def has_stages(self) -> bool:
        """Whether a part of the run is done."""
        return _is_run(self.stages)

    def open(self, sources: Sequence[Source], force: bool) -> None:
        """Makes the folder; refuses to overwrite what is there, what is read, or what cannot be written."""
        self._refuse_inputs(sources)
        there = [name for name in (*self.tables, REPORT) if (self.folder / name).exists()]
        # A run that was stopped while it wrote had leave to.
        if there and not force and not self.has_stages:
            raise OutputError(
                f"{self.folder / there[0]} exists: choose another folder, or overwrite it with --force"
            )
        self._clear_stages(force)
        _make(self.folder)

    def _refuse_inputs(self, sources: Sequence[Source]) -> None:
        for path, *_ in (entry for source in sources for entry in stamp(source)):
            for name in RESULTS:
                if (self.folder / name).resolve() in Path(path).resolve().parents:
                    raise OutputError(
                        f"{self.folder / name} is an input of this run: choose another output folder"
                    )

    def _clear_stages(self, force: bool) -> None:
        """Removes the stages of other runs, with leave to."""
        above = self.stages.parent
        others = (
            [path for path in above.iterdir() if _is_run(path) and path != self.stages]
            if above.is_dir()
            else []
        )
        if others and not force:
            raise PlanError(
                f"{above} holds what is done of another run (of other files, columns or options): remove it with "
                "--force, or choose another folder."
            )
        for path in others:
            shutil.rmtree(path)

    @contextmanager
    def cleared_if_refused(self) -> Iterator[None]:
        """Leaves no stages of a run that was refused because of its input or options."""
        try:
            yield
        except (InputError, PlanError, ParameterError):
            self.remove_stages()
            raise

    def finish(self, report: dict[str, Any]) -> None:
        """Writes the report, and removes what is of no use any more: stages, and results of an earlier run."""
        stale = files_of_last_run(self.folder) - {*self.tables, REPORT}
        (self.folder / REPORT).write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        for name in stale:
            remove_result(self.folder / name)
        if not self.lasting:
            self.remove_stages()

    def remove_stages(self) -> None:
        """Removes the stages of this run, and the folder above them if we made it and it is empty."""
        shutil.rmtree(self.stages, ignore_errors=True)
        if not self.lasting and self.stages.parent.is_dir() and not any(self.stages.parent.iterdir()):
            self.stages.parent.rmdir()


def _is_run(path: Path) -> bool:
    """Whether a folder holds stages of ours."""
    return any((path / name).is_file() for name in MANIFEST)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".neardup-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
