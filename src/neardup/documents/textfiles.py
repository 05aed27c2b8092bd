"""Plain text: one document a file (.txt, .md, .html), or one document a line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents.blocks import Bytes, line_blocks, slices
from neardup.documents.output import reason
from neardup.documents.source import BATCH_BYTES, BATCH_ROWS, Batch, Problems, empty_columns, sliced
from neardup.documents.values import clean, plain, row_report

__all__ = ["LineSource", "TextSource", "decoded"]

HTML_SUFFIXES = (".html", ".htm", ".xhtml")
_MARKS = (  # the longer marks first: that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes) -> tuple[str, bool]:
    """The text of a file by its byte order mark, or as UTF-8, and whether all of it could be decoded."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding), True
    except UnicodeDecodeError:
        return data.decode(encoding, "replace"), False


@dataclass(frozen=True)
class TextSource:
    """All text files of a run, one document each; `files` are pairs of a path and the id it is known by."""

    name: str
    files: tuple[tuple[str, str], ...]
    format: str = "text"
    compression: str | None = None

    @cached_property
    def size(self) -> int | None:
        """The bytes of all files."""
        return sum(Path(path).stat().st_size for path, _ in self.files if Path(path).exists())

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
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            problems.add(known_as, f"unreadable file: {reason(error)}", record=number)
            return None
        text, good = decoded(data)
        if not good:
            problems.add(known_as, "invalid UTF-8", record=number, action="replaced")
        if path.lower().endswith(HTML_SUFFIXES):
            from neardup.text.html import visible_text

            return clean(visible_text(text))
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
    """The columns asked for; nulls for one that is not there."""
    names = list(arrays) if columns is None else list(columns)
    if not names:
        return empty_columns(rows)
    missing = pa.nulls(rows, pa.string())
    return pa.RecordBatch.from_arrays([arrays.get(name, missing) for name in names], names=names)


@dataclass(frozen=True)
class LineSource:
    """The lines of one file, one document each; blank lines count in the numbering, and nothing else."""

    name: str
    path: str
    compression: str | None = None
    size: int | None = None
    format: str = "lines"
    rows: int | None = None

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
        for block in line_blocks(Bytes(self.name, self.path, self.compression), problems):
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
