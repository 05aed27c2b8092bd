"""The folder that a Spark run writes to: tables as folders of parquet files, and the stages of an unfinished run.

Stages are in DIR/.stages (or in the work folder), under the digest of the run: plan, inputs, columns. The same command
resumes from them; the stages of another run are refused, or removed with --force.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neardup.documents import Source, stamp
from neardup.engines.local.checkpoint.workspace import make_private
from neardup.engines.local.write import (
    DOCUMENTS,
    PROBLEMS,
    Mode,
    files_of_last_run,
)
from neardup.engines.local.write_tables import REPORT, record_files
from neardup.errors import InputError, OutputError, ParameterError, PlanError
from neardup.escapes import escape_json
from neardup.output import OutputFolder, is_spark_result, only_writer, remove_result

MANIFEST = ("manifest.json", ".manifest.json.new")  # files of a folder of stages


def table_names(mode: Mode) -> dict[str, str]:
    """The tables that `dedup` writes: file name, and name in the result."""
    names = [*DOCUMENTS[mode], "pairs", "clusters"]
    return {f"{name}.parquet": name for name in names}


@dataclass(frozen=True)
class SparkOutput:
    """The tables and the stages of a run."""

    folder: Path
    tables: dict[str, str]  # file name, and name in the result
    stages: Path
    keeps_stages: bool  # after the run
    has_report: bool  # whether the folder gets report.json and problems.jsonl

    @staticmethod
    def of(
        folder: Path, work_dir: str | None, tables: dict[str, str], digest: str, has_report: bool
    ) -> SparkOutput:
        """The output of the run with this digest."""
        folder = folder.absolute()
        work = Path(work_dir).absolute() if work_dir else folder / ".stages"
        return SparkOutput(folder, tables, work / digest, bool(work_dir), has_report)

    @property
    def files(self) -> list[str]:
        """The files of every run, in the order of the local engine's report."""
        records = record_files()
        names = [name for name in self.tables if name not in records]
        return [*names, *records] if self.has_report else list(self.tables)

    @property
    def has_stages(self) -> bool:
        """Whether an earlier run has left complete stages."""
        return _is_run(self.stages)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Has no other run write to the folder, or to the work folder, meanwhile."""
        used = {self.folder.resolve(), *([self.stages.parent.resolve()] if self.keeps_stages else [])}
        with ExitStack() as locks:
            for path in used:
                locks.enter_context(only_writer(path))
            yield

    def make_private_stages(self) -> None:
        """Makes the folder of stages, readable by nobody else; refused if it is a link or belongs to somebody else."""
        for path in (self.stages,) if self.keeps_stages else (self.stages.parent, self.stages):
            make_private(path)

    @contextmanager
    def partial_tables(self) -> Iterator[dict[str, Path]]:
        """Hidden names for the tables, which get their own when all are complete; a link is replaced, not followed."""
        mark = secrets.token_hex(4)
        paths = {name: self.folder / f".{name}.{mark}.partial" for name in self.tables}
        try:
            yield paths
            for name, path in paths.items():
                remove_result(self.folder / name)
                path.rename(self.folder / name)
        finally:
            for path in paths.values():
                shutil.rmtree(path, ignore_errors=True)

    def open(self, sources: Sequence[Source], force: bool) -> None:
        """Makes the folder; raises if it has results, if these are inputs, or if it cannot be written."""
        self._refuse_inputs(sources)
        existing = [name for name in self.files if (self.folder / name).exists()]
        # A resumed run may overwrite the results that it had started to write.
        if existing and not force and not self.has_stages:
            raise OutputError(
                f"{self.folder / existing[0]} exists already: choose another output, or overwrite with --force"
            )
        for path in (self.folder / name for name in existing):
            if path.is_dir() and not is_spark_result(path) and not self.has_stages:
                raise OutputError(f"{path} is a folder: remove it or choose another output folder")
        self._clear_stages(force)
        _make(self.folder)

    def _refuse_inputs(self, sources: Sequence[Source]) -> None:
        for path in (Path(entry[0]).resolve() for source in sources for entry in stamp(source)):
            for name in self.tables:
                if (self.folder / name).resolve() in (path, *path.parents):
                    raise OutputError(
                        f"{self.folder / name} is an input of this run: choose another output folder"
                    )

    def _clear_stages(self, force: bool) -> None:
        """Removes the stages of other runs with --force, or raises."""
        above = self.stages.parent
        found = above.iterdir() if above.is_dir() else []
        others = [path for path in found if _is_run(path) and path != self.stages]
        if others and not force:
            raise PlanError(
                f"{above} holds stages of another run (of other files, columns or options): remove them with "
                "--force, or choose another folder."
            )
        for path in others:
            shutil.rmtree(path)

    @contextmanager
    def cleared_if_refused(self) -> Iterator[None]:
        """Removes the stages of a run that is refused because of its input or options."""
        try:
            yield
        except (InputError, PlanError, ParameterError):
            self.remove_stages()
            raise

    def finish(self, report: dict[str, Any]) -> None:
        """Writes report and problems, and removes the stages and the stale results of an earlier run."""
        if self.has_report:
            with OutputFolder(self.folder, force=True) as folder:
                stale = files_of_last_run(folder) - set(report["files"])
                if report["problems"]["total"]:
                    lines = (json.dumps(problem) + "\n" for problem in report["problems"]["first"])
                    folder.file(PROBLEMS).write_text("".join(lines))
                text = escape_json(json.dumps(report, indent=2, ensure_ascii=False)) + "\n"
                folder.file(REPORT).write_text(text, encoding="utf-8")
                folder.commit()
            for name in stale:
                remove_result(self.folder / name)
        if not self.keeps_stages:
            self.remove_stages()

    def remove_stages(self) -> None:
        """Removes the stages of this run, and the folder above them if it is ours and empty."""
        shutil.rmtree(self.stages, ignore_errors=True)
        above = self.stages.parent
        if not self.keeps_stages and above.is_dir() and not any(above.iterdir()):
            above.rmdir()


def _is_run(path: Path) -> bool:
    """Whether a folder holds stages."""
    return any((path / name).is_file() for name in MANIFEST)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
