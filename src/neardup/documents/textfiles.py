"""Plain text: one document a file (.txt, .md, .html), or one document a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents.blocks import Bytes, FileSource, line_blocks, slices
from neardup.documents.document_columns import page_text
from neardup.documents.encodings import decoded
from neardup.documents.limits import LIMITS, Limits
from neardup.documents.problems import Problems
from neardup.documents.source import Batch, Batches, StringColumns, picked, sliced, string_batches
from neardup.documents.stored import open_binary, stored_bytes
from neardup.documents.values import clean, plain, row_report
from neardup.output import reason
from neardup.remote.addresses import path_of
from neardup.text import HtmlText

HTML_SUFFIXES = (".html", ".htm", ".xhtml")


def file_bytes(
    path: str | Path, known_as: str, limits: Limits, problems: Problems, record: int | None = None
) -> bytes | None:
    """The bytes of a file that is one document, or None if it cannot be read, which is reported."""
    try:
        with open_binary(path) as file:
            limits.refuse_larger(stored_bytes(str(path)), known_as)
            data = file.read(limits.record + 1)
    except OSError as error:
        problems.add(known_as, f"unreadable file: {reason(error)}", record=record)
        return None
    if len(data) > limits.record:
        problems.add(known_as, limits.too_long, record=record)
        return None
    return data


@dataclass(frozen=True)
class TextSource(StringColumns):
    """All text files of a run, one document each; `files` are pairs of a path and its id."""

    name: str
    files: tuple[tuple[str, str], ...]
    format: str = "text"
    compression: str | None = None
    limits: Limits = LIMITS
    html_text: HtmlText = "article"  # which text of HTML is compared
    encoding: str | None = None  # as the user gives it
    column_names = ("path", "text")  # the path of a file is its id

    @cached_property
    def size(self) -> int | None:
        """The bytes of all files."""
        return sum(Bytes(path, path).stored_bytes() for path, _ in self.files)

    @property
    def rows(self) -> int | None:
        """The number of files."""
        return len(self.files)

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of documents; a file that cannot be read is reported."""
        return string_batches(self, self._rows(problems), "text", columns)

    def _rows(self, problems: Problems) -> Iterator[dict[str, Any]]:
        for number, (path, known_as) in enumerate(self.files, start=1):
            text = self._text(path, known_as, number, problems)
            if text is not None:
                yield {"number": number, "path": clean(known_as), "text": text}

    def pages(self, problems: Problems) -> Iterator[str]:
        """The files as they are, HTML with its tags."""
        for number, (path, known_as) in enumerate(self.files, start=1):
            data = file_bytes(path, known_as, self.limits, problems, number)
            if data is not None:
                yield decoded(data, self.encoding)[0]

    def _text(self, path: str, known_as: str, number: int, problems: Problems) -> str | None:
        data = file_bytes(path, known_as, self.limits, problems, number)
        if data is None:
            return None
        text, wrong = decoded(data, self.encoding)
        if wrong is not None:
            problems.add(known_as, wrong, record=number, action="replaced")
        if path_of(path).lower().endswith(HTML_SUFFIXES):
            report = partial(problems.add, known_as, record=number)
            text = page_text(text, self.html_text, lambda why, action: report(why, action=action))
        return clean(text)


@dataclass(frozen=True)
class LineSource(StringColumns, FileSource):
    """The lines of one file, one document each; blank lines are numbered and skipped."""

    format: str = "lines"
    column_names = ("text",)  # documents are numbered

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of lines, without their ends."""
        for block in line_blocks(self, problems):
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
