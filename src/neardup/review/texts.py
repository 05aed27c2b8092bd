"""Texts of chosen documents: read from the result if it has them, else from the input, which may have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.documents import Batch, Problems, Source, choose_columns, document_ids, open_inputs, stamp
from neardup.engines.core.documents import InputColumns, TextColumns, compared_texts, plan_fields
from neardup.errors import InputError
from neardup.plan import Plan
from neardup.plurals import counted
from neardup.review.finished import FoundTexts

if TYPE_CHECKING:
    from neardup.review.folder import RunFolder

__all__ = [
    "DocumentPart",
    "Place",
    "changed_inputs",
    "find_texts",
    "given_place",
    "input_place",
    "matching_documents",
    "texts_in",
]

FLAGS = {"--html": True, "--no-html": False}


@dataclass(frozen=True)
class Place:
    """Files with documents, and how they are read."""

    paths: tuple[str, ...]
    columns: InputColumns
    format: str | None = None
    is_output: bool = False  # of a run: ids that it gave to documents are in a column

    @staticmethod
    def of_output(path: Path, folder: RunFolder) -> Place:
        """A file of documents that a run wrote."""
        return Place((str(path),), given_place(folder.report).columns, is_output=True)

    def open(self) -> list[Source]:
        """The sources; none for an empty file."""
        if self.is_output and Path(self.paths[0]).is_file() and not Path(self.paths[0]).stat().st_size:
            return []
        html_text = self.columns.html_text
        return open_inputs(
            self.paths, format=self.format, html_text=html_text, unescape_formulas=self.is_output
        )

    def id_column(self, source: Source) -> str | None:
        """The column with the ids by which the run names documents; None: documents are numbered."""
        names = source.names()
        if self.is_output and "document_id" in names and self.columns.id != "document_id":
            return "document_id"
        return self.chosen(source)[1]

    def chosen(self, source: Source) -> tuple[str, str | None]:
        """The text column and the id column of a source."""
        names = source.names()
        known = (name if name in names else None for name in (self.columns.text, self.columns.id))
        text, identity = known if self.is_output else (self.columns.text, self.columns.id)
        return choose_columns(names, text=text, id=identity, source=source.name)


def given_place(report: dict[str, Any], paths: tuple[str, ...] = ()) -> Place:
    """The input, or these files, with its options: from the words that the report keeps for `neardup compare`."""
    words = report.get("compare") or []
    values = dict(pairwise(words))
    paths = paths or tuple(words[place + 1] for place, word in enumerate(words[:-1]) if word == "--in")
    html = next((FLAGS[word] for word in words if word in FLAGS), None)
    columns = InputColumns(
        values.get("--text-column"), values.get("--id-column"), html, html_text=report["html_text"]
    )
    return Place(paths, columns, values.get("--format"))


def input_place(folder: RunFolder) -> Place | None:
    """Where the run read its input; None if the report does not say, as for standard input."""
    place = given_place(folder.report)
    return place if place.paths else None


def find_texts(
    ids: set[str], results: Sequence[Place], given: Place | None, plan: Plan, finished_at: float
) -> FoundTexts:
    """The texts of these documents, from the first place that has them."""
    found: dict[str, str] = {}
    notes: list[str] = []
    for place in results:
        _search(place, ids, found, plan)
    if ids <= found.keys():
        return FoundTexts(found)
    if given is None:
        notes.append("The report does not name the input, so that only documents in the result are shown.")
    else:
        try:
            sources = given.open()
            notes += changed_inputs(sources, finished_at)
            _search(given, ids, found, plan, sources)
        except InputError as error:
            notes.append(f"The input cannot be read any more: {error}.")
    if missing := len(ids - found.keys()):
        notes.append(f"{counted(missing, 'document')} to be shown could not be found.")
    return FoundTexts(found, tuple(notes))


def changed_inputs(sources: Sequence[Source], finished_at: float, what: str = "input") -> Iterator[str]:
    """A sentence if files of the input were written after the run."""
    files = (entry for source in sources for entry in stamp(source))
    changed = [path for path, _, modified in files if modified / 1e9 > finished_at]
    if changed:
        more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
        yield f"The {what} changed after the run ({changed[0]}{more}): texts may differ from what was compared."


def texts_in(place: Place, ids: set[str], plan: Plan, sources: Sequence[Source]) -> dict[str, str]:
    """The texts of these documents that a place has."""
    found: dict[str, str] = {}
    _search(place, ids, found, plan, sources)
    return found


def _search(
    place: Place, ids: set[str], found: dict[str, str], plan: Plan, sources: Sequence[Source] | None = None
) -> None:
    """Adds the texts that a place has; reading stops when all are found."""

    def missing() -> pa.Array:
        return pa.array(sorted(ids - found.keys()), pa.string())

    for part in matching_documents(place, plan, missing, sources=sources):
        found.update(zip(part.names.to_pylist(), part.texts.to_pylist(), strict=True))


@dataclass(frozen=True)
class DocumentPart:
    """Documents of a batch that were asked for: names, texts as they were compared, and columns."""

    names: pa.Array
    texts: pa.Array
    columns: pa.RecordBatch


def matching_documents(
    place: Place,
    plan: Plan,
    asked: Callable[[], pa.Array],
    columns: Sequence[str] = (),
    sources: Sequence[Source] | None = None,
) -> Iterator[DocumentPart]:
    """The documents of a place whose names are asked for, batch by batch, until `asked` is empty."""
    for source in place.open() if sources is None else sources:
        text, _ = place.chosen(source)
        identity = place.id_column(source)
        if place.is_output and identity is None:
            continue  # numbers in the result are not those of the input
        names = source.names()
        fields = tuple(name for name in plan_fields(plan) if name in names)
        compared = TextColumns(text, fields, place.columns.is_html(text), place.columns.html_text)
        further = [name for name in columns if name in names]
        requested = dict.fromkeys(name for name in (text, identity, *fields, *further) if name)
        for batch in source.read(list(requested), Problems()):
            names_asked = asked()
            if not len(names_asked):
                return
            names_of_batch = document_ids(batch, identity).cast(pa.string())
            rows = pc.indices_nonzero(pc.is_in(names_of_batch, names_asked))
            if len(rows):
                few = Batch(
                    batch.source, batch.numbers[rows.to_numpy()], batch.columns.take(rows), None, batch.format
                )
                texts = compared_texts(plan, few, compared, Problems())
                yield DocumentPart(names_of_batch.take(rows), texts, few.columns.select(further))
