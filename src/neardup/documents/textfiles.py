"""Plain text: one document a file (.txt, .md, .html), or one document a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.documents.blocks import Bytes, line_blocks, slices
from neardup.documents.document_columns import page_text
from neardup.documents.encodings import decoded
from neardup.documents.limits import LIMITS, Limits
from neardup.documents.problems import Problems
from neardup.documents.source import BATCH_BYTES, BATCH_ROWS, Batch, empty_columns, sliced
from neardup.documents.values import clean, plain, row_report
from neardup.output import reason

if TYPE_CHECKING:
    from neardup.text.article import HtmlText

__all__ = ["LineSource", "TextSource", "file_bytes"]

HTML_SUFFIXES = (".html", ".htm", ".xhtml")


def file_bytes(
    path: Path, known_as: str, limits: Limits, problems: Problems, record: int | None = None
) -> bytes | None:
    """The bytes of a file that is one document, or None if it cannot be read, which is reported."""
    try:
        with path.open("rb") as file:
            data = file.read(limits.record + 1)
    except OSError as error:
        problems.add(known_as, f"unreadable file: {reason(error)}", record=record)
        return None
    if len(data) > limits.record:
        too_long = f"record too long: more than {limits.record:,} bytes (--max-record)"
        problems.add(known_as, too_long, record=record)
        return None
    return data


@dataclass(frozen=True)
class TextSource:
    """All text files of a run, one document each; `files` are pairs of a path and its id."""

    name: str
    files: tuple[tuple[str, str], ...]
    format: str = "text"
    compression: str | None = None
    limits: Limits = LIMITS
    html_text: HtmlText = "visible"  # which text of HTML is compared

    @cached_property
    def size(self) -> int | None:
        """The bytes of all files."""
        return sum(Bytes(path, path).size() for path, _ in self.files)

    @property
    def rows(self) -> int | None:
        """The number of files."""
        return len(self.files)

    def names(self) -> list[str]:
        """The path of a file is its id."""
        return ["path", "text"]

    def schema(self) -> pa.Schema:
        """Both as strings."""
        return pa.schema([("path", pa.string()), ("text", pa.string())])

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """Batches of documents; a file that cannot be read is reported."""
        found: list[tuple[int, str, str]] = []
        size = 0
        for number, (path, known_as) in enumerate(self.files, start=1):
            text = self._text(path, known_as, number, problems)
            if text is not None:
                found.append((number, known_as, text))
                size += len(text)
            if found and (size >= BATCH_BYTES or len(found) >= BATCH_ROWS):
                yield self._batch(found, columns)
                found, size = [], 0
        if found:
            yield self._batch(found, columns)

    def _text(self, path: str, known_as: str, number: int, problems: Problems) -> str | None:
        data = file_bytes(Path(path), known_as, self.limits, problems, number)
        if data is None:
            return None
        text, wrong = decoded(data)
        if wrong is not None:
            problems.add(known_as, wrong, record=number, action="replaced")
        if path.lower().endswith(HTML_SUFFIXES):
            report = partial(problems.add, known_as, record=number)
            text = page_text(text, self.html_text, lambda why, action: report(why, action=action))
        return clean(text)

    def _batch(self, found: list[tuple[int, str, str]], columns: Sequence[str] | None) -> Batch:
        numbers, paths, texts = zip(*found, strict=True)
        arrays = {"path": pa.array(map(clean, paths), pa.string()), "text": pa.array(texts, pa.string())}
        return Batch(
            self.name,
            np.array(numbers, dtype=np.int64),
            picked(arrays, columns, len(found)),
            None,
            self.format,
        )


def picked(arrays: Mapping[str, pa.Array[Any]], columns: Sequence[str] | None, rows: int) -> pa.RecordBatch:
    """The requested columns; nulls for a column that does not exist."""
    names = list(arrays) if columns is None else list(columns)
    if not names:
        return empty_columns(rows)
    missing = pa.nulls(rows, pa.string())
    return pa.RecordBatch.from_arrays([arrays.get(name, missing) for name in names], names=names)


@dataclass(frozen=True)
class LineSource:
    """The lines of one file, one document each; blank lines are numbered and skipped."""

    name: str
    path: str
    compression: str | None = None
    size: int | None = None
    format: str = "lines"
    rows: int | None = None
    limits: Limits = LIMITS

    def names(self) -> list[str]:
        """Only the text: documents are numbered."""
        return ["text"]

    def schema(self) -> pa.Schema:
        """The text as a string."""
        return pa.schema([("text", pa.string())])

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """Batches of lines, without their ends."""
        for block in line_blocks(Bytes(self.name, self.path, self.compression, self.limits), problems):
            data = np.frombuffer(block.data, dtype=np.uint8)
            starts = np.concatenate([[0], block.ends[:-1] + 1])
            ends = block.ends - ((block.ends > starts) & (data[block.ends - 1] == ord("\r")))
            filled = np.flatnonzero(ends > starts)
            numbers = block.line + filled
            texts = slices(block.data, starts[filled], ends[filled])
            texts = plain(texts, row_report(problems.add, self.name, numbers))
            if len(filled):
                table = picked({"text": texts.cast(pa.string())}, columns, len(filled))
                yield from sliced(Batch(self.name, numbers, table, None, self.format))
