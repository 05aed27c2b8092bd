"""The texts of two named documents: files, standard input, or ids in a corpus."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neardup.errors import InputError
from neardup.escapes import escape_controls

if TYPE_CHECKING:
    from neardup.documents import Problems, Source
    from neardup.engines.core.documents import InputColumns
    from neardup.text.article import HtmlText

__all__ = ["Where", "are_same", "read_texts", "spoken"]

Names = tuple[str, str]
HTML_BEGINNINGS = ("<!doctype html", "<html")


@dataclass(frozen=True)
class Where:
    """Where the documents are, and how they are read; without a corpus each is a file of its own."""

    corpus: tuple[str, ...] = ()
    text_column: str | None = None
    id_column: str | None = None
    format: str | None = None
    html: bool | None = None  # None: a column called html is
    fields: tuple[str, ...] = ()  # columns that stand behind the text
    markup: bool = False  # pages are compared with their tags
    html_text: HtmlText = "article"  # the part of HTML to compare

    @property
    def columns(self) -> InputColumns:
        """Which columns of the corpus mean what."""
        from neardup.engines.core.documents import InputColumns

        return InputColumns(self.text_column, self.id_column, self.html, html_text=self.html_text)


def are_same(names: Names, where: Where) -> bool:
    """Whether both names stand for one document."""
    if where.corpus:
        return names[0] == names[1]
    if names == ("-", "-"):
        raise InputError("only one of the two documents can come from standard input")
    paths = [Path(name) for name in names]
    return all(path.is_file() for path in paths) and paths[0].samefile(paths[1])


def read_texts(names: Names, where: Where) -> tuple[str, str]:
    """Both texts, as `dedup` reads them; a document without text is an error."""
    if where.corpus:
        found = _find(names, where)
        texts = found[names[0]], found[names[1]]
    else:
        texts = _read(names[0], where), _read(names[1], where)
    for name, text in zip(names, texts, strict=True):
        if not text.strip():
            raise InputError(f"{spoken(name)} is empty: nothing to compare")
    return texts


def spoken(name: str) -> str:
    """The name of a document in a sentence."""
    return "standard input" if name == "-" else escape_controls(name)


def _read(name: str, where: Where) -> str:
    """The text of a file that holds one document."""
    from neardup.documents import Problems, open_inputs
    from neardup.documents.input_files import format_of

    if name == "-":
        return _standard_input(where)
    if Path(name).is_dir():
        raise InputError(f"{name} is a folder: name two files, or two ids of its documents with --in {name}")
    problems = Problems()
    format = where.format or (None if format_of(name) else "text")
    source = open_inputs([name], format=format, html_text=where.html_text)[0]
    found = list(islice(_documents(source, where, problems), 2))
    if len(found) > 1:
        raise InputError(f"{name} has many documents: compare two by their ids with --in {name}")
    if problems.first and not found:
        raise InputError(str(problems.first[0]))
    for problem in problems.first:
        _note(problem)
    return found[0][1] if found else ""


def _standard_input(where: Where) -> str:
    """All that comes in, as text; a page is recognised by its beginning."""
    from neardup.documents.encodings import decoded

    text, _ = decoded(sys.stdin.buffer.read())
    if text.lstrip()[:20].lower().startswith(HTML_BEGINNINGS):
        from neardup.documents import page_text

        return page_text(
            text, where.html_text, lambda why, action: _note(f"standard input: {why} ({action})")
        )
    return text


def _note(message: object) -> None:
    click.echo(f"neardup: {escape_controls(message)}", err=True)


def _find(names: Names, where: Where) -> dict[str, str]:
    """The texts by id; reading stops when both are found."""
    from neardup.documents import Problems, open_inputs

    found: dict[str, str] = {}
    sources = open_inputs(where.corpus, format=where.format, html_text=where.html_text)
    for identity, text in chain.from_iterable(_documents(s, where, Problems(), names) for s in sources):
        found.setdefault(identity, text)
        if len(found) == len(set(names)):
            return found
    missing = next(name for name in names if name not in found)
    some = [identity for identity, _ in islice(_documents(sources[0], where, Problems()), 3)]
    hint = f"; its ids are like {', '.join(some)}" if some else ""
    raise InputError(f"{', '.join(where.corpus)} has no document {missing!r}{hint}")


def _documents(
    source: Source, where: Where, problems: Problems, chosen: Names | None = None
) -> Iterator[tuple[str, str]]:
    """The id and the text of every document of a source, or of the chosen ones."""
    from neardup.documents import Batch, choose_columns, document_ids, document_texts, plain_column
    from neardup.engines.core.documents import with_fields

    text, identity = choose_columns(
        source.names(), text=where.text_column, id=where.id_column, source=source.name
    )
    html = where.columns.is_html(text)
    names = source.names()
    fields = [name for name in where.fields if not names or name in names]  # a plain file has none of them
    if where.corpus and len(fields) < len(where.fields):
        missing = next(name for name in where.fields if name not in fields)
        raise InputError(f"{source.name} has no column {missing!r}, which the model reads")
    columns = dict.fromkeys(name for name in (text, identity, *fields) if name)
    for batch in source.read(list(columns), problems):
        ids = list(map(str, document_ids(batch, identity).to_pylist()))
        rows = [row for row, one in enumerate(ids) if chosen is None or one in chosen]
        if rows:
            few = Batch(batch.source, batch.numbers[rows], batch.columns.take(rows), None, batch.format)
            shown = html and not where.markup
            texts = document_texts(few, text, problems, html=shown, html_text=where.html_text)
            texts = with_fields(texts, [plain_column(few, name) for name in fields])
            yield from zip((ids[row] for row in rows), texts.to_pylist(), strict=True)
