"""The text and the id of each document: which columns hold them, and their values as strings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers, Texts
from neardup.documents.problems import Problems
from neardup.documents.source import Batch
from neardup.documents.values import Report, known_times, plain, row_report
from neardup.errors import InputError
from neardup.text import HtmlText

TEXT_NAMES = ("text", "content", "contents", "body", "html")
ID_NAMES = ("id", "doc_id", "url", "path")
NO_ARTICLE = ("no article", "compared by all its visible text")  # a problem, and what is done


def choose_columns(
    names: Sequence[str], *, text: str | None, id: str | None, source: str
) -> tuple[str, str | None]:
    """The text column and the id column (None: documents are numbered) of a source.

    A source without columns, such as a file without a readable line, accepts every name.
    """
    if not names:
        return text or TEXT_NAMES[0], id
    if text is not None:
        require_column(text, names, source, " (--text-column)")
    if id is not None:
        require_column(id, names, source, " (--id-column)")
    found = text if text is not None else _first(names, TEXT_NAMES)
    if found is None:
        known = ", ".join(TEXT_NAMES)
        raise InputError(
            f"{source} has no text column ({known}); its columns are {_listed(names)}: "
            "name one with --text-column"
        )
    return found, id if id is not None else _first([name for name in names if name != found], ID_NAMES)


def require_column(name: str, names: Sequence[str], source: str, why: str = "") -> None:
    """Raises if a source with columns lacks this one; `why` says what requests it."""
    if names and name not in names:
        raise InputError(f"{source} has no column {name!r}{why}; its columns are {_listed(names)}")


def _first(names: Sequence[str], usual: Sequence[str]) -> str | None:
    for name in usual:
        if name in names:
            return name
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in usual if name in lower), None)


def _listed(names: Sequence[str], most: int = 20) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(name if len(name) <= 40 else name[:39] + "…" for name in names[:most]) + more


def plain_column(batch: Batch, column: str) -> pa.Array[Any]:
    """A column in a plain type; bytes that are not UTF-8 are replaced silently, impossible times are null."""
    return known_times(plain(batch.columns.column(column), lambda row, reason, action: None))


def document_texts(
    batch: Batch, column: str, problems: Problems, *, html: bool = False, html_text: HtmlText = "article"
) -> pa.Array[Any]:
    """The texts of a batch as strings without nulls: a document without text is counted and kept as empty.

    The text of HTML is its visible text or its article; a page without an article is counted and keeps all of it.
    """
    array = batch.columns.column(column)
    if not (batch.plain and is_string(array.type)):
        array = plain(array, row_report(problems.add, batch.source, batch.numbers))
    if array.null_count:
        import pyarrow.compute as pc

        for row in pc.indices_nonzero(array.is_null()).to_pylist():
            problems.add(batch.source, "no text", record=int(batch.numbers[row]), action="taken as empty")
        array = _strings(array).fill_null("")
    array = _strings(array)
    if html:
        report = row_report(problems.add, batch.source, batch.numbers)
        if html_text == "article":
            return _articles(array, report)
        pages = enumerate(array.to_pylist())
        array = pa.array(
            [page_text(page, html_text, partial(report, row)) for row, page in pages], array.type
        )
    return array


def _articles(array: pa.Array[Any], report: Report) -> pa.Array[Any]:
    """The article of each page; a page without an article is reported."""
    from neardup.text.article import extract_articles

    texts, found = extract_articles(Texts.from_arrow(array))
    for row in np.flatnonzero(~found).tolist():
        report(row, *NO_ARTICLE)
    return texts.to_arrow(array.type)


def page_text(page: str | bytes, html_text: HtmlText, report: Callable[[str, str], None]) -> str:
    """The text of one HTML page; a page without an article is reported."""
    if html_text == "visible":
        from neardup.text.html import visible_text

        return visible_text(page)
    from neardup.text.article import extract_text

    text, found = extract_text(page, html_text)
    if not found:
        report(*NO_ARTICLE)
    return text


def _strings(array: pa.Array[Any]) -> pa.Array[Any]:
    """The values as strings."""
    if is_string(array.type):
        return array
    try:
        return array.cast(pa.string())
    except pa.ArrowException:  # Arrow prints most types, not all
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string())


def is_string(found: pa.DataType) -> bool:
    """Whether the type is string or large_string, which are read without a copy."""
    return pa.types.is_string(found) or pa.types.is_large_string(found)


def document_ids(batch: Batch, column: str | None, problems: Problems | None = None) -> pa.Array[Any]:
    """The ids of a batch: integers or strings; a missing id becomes `source:number` and is reported."""
    if column is None:
        return pa.array(_numbered(batch.source, batch.numbers), pa.string())
    stored = batch.columns.column(column)
    if pa.types.is_binary(stored.type) or pa.types.is_large_binary(stored.type):
        stored = pa.array([_named(value) for value in stored.to_pylist()], pa.string())
    array = plain(stored, lambda row, reason, action: None)
    if pa.types.is_integer(array.type) and not array.null_count:
        return array if pa.types.is_uint64(array.type) else array.cast(pa.int64())
    array = _strings(array).cast(pa.string())
    if array.null_count:
        import pyarrow.compute as pc

        for row in pc.indices_nonzero(array.is_null()).to_pylist():
            number = int(batch.numbers[row])
            (problems or Problems()).add(
                batch.source, "no id", record=number, action=f"named {batch.source}:{number}"
            )
        array = pc.coalesce(array, pa.array(_numbered(batch.source, batch.numbers), pa.string()))
    return array


def _named(value: bytes | None) -> str | None:
    """Bytes as text, or in hexadecimal digits if they are not UTF-8: replaced characters could make two ids equal."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return "0x" + value.hex() if value is not None else None


def _numbered(source: str, numbers: Numbers) -> list[str]:
    return [f"{source}:{number}" for number in numbers.tolist()]


def joined_ids(parts: Sequence[pa.Array[Any]]) -> pa.Array[Any]:
    """The ids of all batches in one array: integers if all are, otherwise strings."""
    types = {part.type for part in parts}
    if len(types) <= 1:
        return pa.concat_arrays(parts) if parts else pa.array([], pa.string())
    return pa.concat_arrays([part.cast(pa.large_string()) for part in parts])
