"""Documents written back with parts of their texts cut out or masked; all else in them stays as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Numbers
from neardup.documents import Batch, OutputLayout, Problems, Source, choose_columns, output_layout
from neardup.documents.document_columns import is_string
from neardup.documents.jsonl_writer import json_text
from neardup.engines.core.documents import InputColumns
from neardup.engines.local.checkpoint.texts import Spool
from neardup.errors import InputError

SPACES = b" \t\r\n\f\v"


@dataclass(frozen=True)
class Cuts:
    """Parts of documents, in order: bytes begin … end of each. They do not overlap."""

    document: Numbers
    begin: Numbers
    end: Numbers
    mark: str | None = None  # what stands in their place

    def __len__(self) -> int:
        return len(self.document)

    def rows(self, start: int, stop: int) -> tuple[int, int]:
        """The cuts of documents start … stop."""
        first, last = np.searchsorted(self.document, [start, stop])
        return int(first), int(last)

    def apply(self, text: bytes, first: int, last: int) -> bytes:
        """A text without its cuts, or with the mark in their places."""
        begins, ends = self.begin[first:last].tolist(), self.end[first:last].tolist()
        if self.mark is None:
            ends = [behind(text, end) for end in ends]
        parts = [text[end:begin] for end, begin in zip([0, *ends], [*begins, len(text)], strict=True)]
        return ("" if self.mark is None else self.mark).encode().join(parts)


def behind(text: bytes, end: int) -> int:
    """Where a cut ends: behind the punctuation and the blanks that follow on its line, before the next token.

    What follows is punctuation if it ends at a blank or at the end of the text: "word)." but not "word-other".
    """
    stop = end
    while (
        stop < len(text) and text[stop] < 128 and not chr(text[stop]).isalnum() and text[stop] not in SPACES
    ):
        stop += 1
    if stop < len(text) and text[stop] not in SPACES:
        return end
    while stop < len(text) and text[stop] in b" \t":
        stop += 1
    return stop


def rewritable_layout(sources: list[Source], columns: InputColumns, format: str | None) -> OutputLayout:
    """The layout of documents whose texts change; refused where the text is a part of HTML."""
    for source in sources:
        if names := source.names():
            text, _ = choose_columns(names, text=columns.text, id=columns.id, source=source.name)
            if columns.is_html(text):
                raise InputError(
                    f"{source.name}: parts of the HTML in column {text!r} cannot be cut out: write a report only, "
                    "or take the column as plain text with --no-html"
                )
    layout = output_layout(sources, format)
    return replace(layout, verbatim=layout.verbatim and layout.format == "jsonl")


def changed_batches(
    sources: list[Source],
    columns: InputColumns,
    spool: Spool,
    layout: OutputLayout,
    cuts: Cuts,
    problems: Problems,
) -> Iterator[Batch]:
    """All documents again, in the order of the input, those with cuts changed."""
    done = 0
    for source in sources:
        if not source.names():
            continue
        text, _ = choose_columns(source.names(), text=columns.text, id=columns.id, source=source.name)
        for batch in source.read(layout.columns, problems, raw=layout.verbatim):
            stop = min(done + len(batch), len(spool.offsets) - 1)
            yield with_texts(batch, text, _new_texts(spool, cuts, done, stop))
            done += len(batch)


def _new_texts(spool: Spool, cuts: Cuts, start: int, stop: int) -> dict[int, bytes]:
    """The new texts of documents start … stop that have cuts, by their places in the batch."""
    first, last = cuts.rows(start, stop)
    numbers = cuts.document[first:last]
    edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1)) + first
    used = np.unique(numbers)
    texts = spool.read(used)
    return {
        int(used[k]) - start: cuts.apply(texts.document(k), begin, end)
        for k, (begin, end) in enumerate(pairwise(edges.tolist()))
    }


def with_texts(batch: Batch, column: str, texts: dict[int, bytes]) -> Batch:
    """The batch with some of its texts replaced."""
    if not texts:
        return batch
    if batch.raw is not None and batch.format == "jsonl":
        records = batch.raw.to_pylist()
        for row, text in texts.items():
            records[row] = _record(records[row], column, text.decode("utf-8", "replace"))
        return replace(batch, raw=pa.array(records, batch.raw.type))
    place = batch.columns.schema.get_field_index(column)
    stored = batch.columns.column(place)
    kind = stored.type if is_string(stored.type) else pa.string()
    mask = np.zeros(len(batch), np.bool_)
    mask[list(texts)] = True
    new = pa.array([texts[row].decode("utf-8", "replace") for row in sorted(texts)], kind)
    array = pc.replace_with_mask(stored if stored.type == kind else stored.cast(kind), pa.array(mask), new)
    return replace(batch, columns=batch.columns.set_column(place, column, array))


def _record(record: bytes, column: str, text: str) -> bytes:
    """A record of JSON with another text."""
    row = json.loads(record.decode("utf-8", "replace").removeprefix("\ufeff"), strict=False)
    row[column] = text
    return json_text(row).encode("utf-8", "replace")
