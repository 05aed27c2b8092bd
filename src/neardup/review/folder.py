"""The folder that `dedup` wrote: its report is checked when it is opened, its tables are read in batches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents import Problems, Source, open_inputs
from neardup.engines.core.tables import IN_REFERENCE
from neardup.engines.local.checkpoint.workspace import can_be_resumed
from neardup.errors import InputError, PlanError
from neardup.output import is_file_name, one_line
from neardup.plan import Plan
from neardup.plurals import plural
from neardup.remote.addresses import is_address, shown
from neardup.review.checked_report import REPORT, damaged_report, read_report
from neardup.review.finished import FoundTexts, Mask, TableName, booleans
from neardup.review.texts import Place, find_texts, input_place

__all__ = ["RunFolder", "open_folder"]

DOCUMENTS = ("removed", "annotated", "kept")
MATCH = ("duplicate_of", "similarity", "relation", "evidence")


def open_folder(path: str | os.PathLike[str]) -> RunFolder:
    """The finished run of a folder; an InputError says what is missing or damaged."""
    if is_address(path):
        raise InputError(f"{shown(str(path))} is an address: copy the result to a folder and name that")
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(
            f"{folder} {'is no folder' if folder.exists() else 'does not exist'}: name an output of neardup dedup"
        )
    if can_be_resumed(folder) or (folder / ".stages").is_dir():
        raise InputError(f"{folder} has an unfinished run: finish it with neardup dedup --resume")
    report = read_report(folder)
    if not all(map(is_file_name, report["files"])):
        raise damaged_report(folder, "files is missing or wrong")
    if (unit := report.get("unit")) is not None:
        noun = plural(str(unit).partition(":")[0])
        raise InputError(
            f"{folder} is about {noun}; the report and the studio show documents: removed_units in it has each removal"
        )
    try:
        plan = Plan.from_json(json.dumps(report["plan"]))
    except PlanError as error:
        raise damaged_report(folder, one_line(error)) from None
    found = RunFolder(folder, report, plan)
    for name in ("pairs", "clusters"):
        found.file(name)
    _ = found.finished_at  # known from now on, whatever is written later
    return found


@dataclass(frozen=True)
class RunFolder:
    """A finished run, in its folder."""

    path: Path
    report: dict[str, Any]
    plan: Plan

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.resolve().name

    def file(self, name: str) -> Path:
        """A table of the result, by its name without the ending."""
        found = [one for one in self.report["files"] if one.partition(".")[0] == name]
        if not found:
            raise InputError(f"{self.path / REPORT} lists no table of {name}: run neardup dedup again")
        if not (self.path / found[0]).exists():
            raise InputError(
                f"{self.path / found[0]} is missing, which {REPORT} lists: run neardup dedup again"
            )
        return self.path / found[0]

    def table(self, name: TableName, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """A table in batches."""
        path = self.file(name)
        for source in _sources(path):
            missing = [column for column in columns if column not in source.names()]
            if missing:
                raise InputError(f"{path} is damaged (no column {missing[0]!r}): run neardup dedup again")
            for batch in _read(source, columns, path):
                yield batch.select(list(columns))

    @cached_property
    def _documents(self) -> dict[str, Path]:
        """The files of documents that are there."""
        listed = {one.partition(".")[0]: self.path / one for one in self.report["files"]}
        return {name: listed[name] for name in DOCUMENTS if name in listed and listed[name].exists()}

    def columns(self) -> list[str]:
        """The columns of kept or annotated documents; none if documents were not written."""
        chosen = self._documents.get("kept") or self._documents.get("annotated")
        names = [source.names() for source in _sources(chosen)] if chosen else []
        return list(dict.fromkeys(name for part in names for name in part))

    def documents(self, column: str) -> Iterator[tuple[pa.Array, Mask]]:
        """A column of all documents, and which of them are kept."""
        for name, path in self._documents.items():
            for source in _sources(path):
                added = _added("keep", source.names()) if name == "annotated" else None
                columns = [one for one in (column, added) if one and one in source.names()]
                for batch in _read(source, columns, path) if column in columns else ():
                    kept = booleans(batch, added) if added else np.full(len(batch), name == "kept")
                    yield batch.column(column), kept

    def in_references(self) -> Iterator[pa.RecordBatch]:
        """Documents that a reference has, with their matches; none if documents were not written."""
        for name in ("removed", "annotated") if "against" in self.report else ():
            path = self._documents.get(name)
            for source in _sources(path) if path else ():
                ours = {_added(one, source.names()): one for one in (*MATCH, IN_REFERENCE)}
                place = Place.of_output(path, self) if path else None
                identity = place.id_column(source) if place else None
                if identity is None or not ours.keys() <= set(source.names()):
                    continue
                for batch in _read(source, [identity, *ours], path or self.path):
                    named = {
                        "id": batch.column(identity),
                        **{our: batch.column(own) for own, our in ours.items()},
                    }
                    yield pa.RecordBatch.from_pydict(named)

    def texts(self, ids: set[str]) -> FoundTexts:
        """The texts of these documents: from the documents in the folder, else from the input."""
        places = [Place.of_output(path, self) for path in self._documents.values()]
        return find_texts(ids, places, input_place(self), self.plan, self.finished_at)

    def places(self) -> list[Place]:
        """Where documents of the run are, in the order in which to look: in the folder, then in the input."""
        given = input_place(self)
        return [Place.of_output(path, self) for path in self._documents.values()] + ([given] if given else [])

    @cached_property
    def finished_at(self) -> float:
        """When the report was written, as Unix time."""
        return (self.path / REPORT).stat().st_mtime

    def check_unchanged(self) -> None:
        """An InputError if another run has been written here since this one was opened."""
        if (self.path / REPORT).stat().st_mtime != self.finished_at:
            raise InputError(
                f"{self.path} has another result since the studio was started: start the studio again."
            )


def _added(name: str, names: Sequence[str]) -> str:
    """The name of a column that `dedup` added: its own, or with a prefix where the input has that name."""
    return f"neardup_{name}" if f"neardup_{name}" in names else name


def _sources(path: Path) -> list[Source]:
    """A table as sources; none for an empty file, as jsonl without rows is."""
    if path.is_file() and not path.stat().st_size:
        return []
    return open_inputs([str(path)], unescape_formulas=True)


def _read(source: Source, columns: Sequence[str], path: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a result; a damaged one is an error, not a problem of the input."""
    problems = Problems()
    for batch in source.read(list(dict.fromkeys(columns)), problems):
        yield batch.columns
    if problems.total:
        raise InputError(f"{path} is damaged ({problems.first[0].reason}): run neardup dedup again")
