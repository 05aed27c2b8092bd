"""Texts of the documents to label, from the input of a run, in one pass over it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from neardup.documents import Batch, Problems, document_ids, document_texts
from neardup.engines.core.documents import InputColumns
from neardup.errors import InputError
from neardup.evaluate.corpus import Documents
from neardup.plurals import counted
from neardup.review.folder import RunFolder
from neardup.review.texts import Place, input_place

__all__ = ["CorpusTexts", "documents_of", "input_of", "read_texts"]

LONGEST_RAW = 200_000  # characters of a text as it was read


@dataclass
class CorpusTexts:
    """Texts by id: as they are compared, and as they were read if that differs."""

    texts: dict[str, str] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)  # documents from the beginning of the input


def input_of(run: RunFolder) -> Place:
    """The input of a run; an InputError if its report does not name one."""
    place = input_place(run)
    if place is None:
        raise InputError(
            f"{run.path} does not name its input (it was standard input): run neardup dedup over a file to label it"
        )
    return place


def read_texts(place: Place, ids: Collection[str], others: int = 0) -> CorpusTexts:
    """The texts of these documents, and of `others` more; reading stops when all are found.

    Memory holds these texts and one batch.
    """
    found, missing = CorpusTexts(), set(ids)
    for source in place.open():
        text, identity = place.chosen(source)
        html = place.columns.is_html(text)
        for batch in source.read([name for name in (text, identity) if name], Problems()):
            names = document_ids(batch, identity).cast(pa.string())
            rows = pc.indices_nonzero(pc.is_in(names, pa.array(sorted(missing), pa.string())))
            _take(found, batch, rows, names, text, html, place)
            missing -= found.texts.keys()
            room = others - len(found.others)
            if room > 0:
                first = pa.array(range(min(room, len(names))), pa.int64())
                texts = _texts(batch, first, text, html, place)
                found.others |= dict(zip(names.take(first).to_pylist(), texts, strict=True))
            elif not missing:
                return found
    return found


def _rows(batch: Batch, rows: pa.Array) -> Batch:
    return Batch(batch.source, batch.numbers[rows.to_numpy()], batch.columns.take(rows), None, batch.format)


def _texts(batch: Batch, rows: pa.Array, text: str, html: bool, place: Place) -> list[str]:
    few = _rows(batch, rows)
    found = document_texts(few, text, Problems(), html=html, html_text=place.columns.html_text)
    return [one or "" for one in found.to_pylist()]


def _take(
    found: CorpusTexts, batch: Batch, rows: pa.Array, names: pa.Array, text: str, html: bool, place: Place
) -> None:  # fmt: skip
    if not len(rows):
        return
    ids = names.take(rows).to_pylist()
    found.texts |= dict(zip(ids, _texts(batch, rows, text, html, place), strict=True))
    if html:
        raw = document_texts(_rows(batch, rows), text, Problems(), html=False).to_pylist()
        found.raw |= {id: (one or "")[:LONGEST_RAW] for id, one in zip(ids, raw, strict=True)}


def documents_of(texts: dict[str, str]) -> Documents:
    """Documents in memory with these texts."""
    if not texts:
        raise InputError(f"{counted(0, 'document')}: nothing to compare")
    ids = pa.array(list(texts), pa.large_string())
    return Documents(ids, pa.chunked_array([pa.array(list(texts.values()), pa.large_string())]))


def columns_of(place: Place) -> InputColumns:
    """How a sampling run reads the input: equal ids get numbers, as a sample must not fail where the run did not."""
    given = place.columns
    return InputColumns(given.text, given.id, given.html, "rename", given.html_text)
