"""Sources for the inputs that a user names: files, folders, globs, standard input, tables in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from neardup.documents.dialects import Dialect, described, detected, refuse_elsewhere
from neardup.documents.document_columns import TEXT_NAMES
from neardup.documents.input_files import (
    FORMATS,
    InputFile,
    expanded,
    is_endless,
    is_stream,
    raw_head,
    sniffed,
)
from neardup.documents.limits import LIMITS, Limits
from neardup.documents.remote_files import remote_files
from neardup.documents.source import Source, UnreadableSource
from neardup.documents.stored import file_stamp
from neardup.errors import InputError, ParameterError
from neardup.plurals import counted
from neardup.remote import is_address
from neardup.text import HtmlText

GATHERED = ("text", "mail", "news")  # formats of which all files are one source


@dataclass(frozen=True)
class Reading:
    """How files are read."""

    limits: Limits
    unescape: bool
    html_text: HtmlText
    dialect: Dialect


class Inputs(list[Source]):
    """The sources of a run, in a stable order, with notes about skipped files."""

    def __init__(self, sources: Iterable[Source] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(sources)
        self.notes = list(notes)


def open_inputs(
    inputs: Sequence[Any],
    *,
    format: str | None = None,
    limits: Limits = LIMITS,
    unescape_formulas: bool = False,
    html_text: HtmlText = "article",
    dialect: Dialect | None = None,
) -> Inputs:
    """One source for each file or table; all text files are one source, and so is all mail.

    An input is a path (file, folder, glob, "-" for standard input) or data in memory. A name inside a
    folder is relative to it when the folder is the only input, otherwise it begins with the folder as given.
    An empty file is left out. `format` is the format of files without a known suffix, and selects among the files
    of a folder. A file or folder that a folder or glob names and that cannot be read is a source without rows,
    which reports the reason when it is read. `unescape_formulas` is for csv that neardup wrote (see formulas.py).
    `html_text` says which text of HTML files is compared (see text/article.py), `dialect` how csv is written.
    """
    if format is not None and format not in FORMATS:
        raise ParameterError("format", "neardup", f"one of {', '.join(FORMATS)}", format)
    if not inputs:
        raise InputError("no input was given: name a file, a folder, or - for standard input")
    found: list[InputFile | Source] = []
    notes: list[str] = []
    for item in inputs:
        if isinstance(item, (str, os.PathLike)):
            found += _files(os.fspath(item), format, len(inputs) == 1, notes)
        else:
            from neardup.documents.memory import MemorySource, memory_source
            from neardup.documents.parquet import ParquetSource

            if isinstance(item, (MemorySource, ParquetSource)):
                found.append(item)
                continue
            found.append(memory_source(item, "input" if len(inputs) == 1 else f"input {len(found) + 1}"))
    _refuse_twice(found)
    how = Reading(limits, unescape_formulas, html_text, dialect or Dialect())
    refuse_elsewhere(how.dialect, {one.format for one in found})
    opened = _opened(found, how, notes)
    return Inputs(_not_empty(opened, notes), notes)


def _files(given: str, format: str | None, alone: bool, notes: list[str]) -> list[InputFile]:
    if given == "-":
        return [_spooled(sys.stdin.buffer, "stdin", format)]
    if is_address(given) and (given := _local(given)) and is_address(given):
        files, skipped = remote_files(given, format, alone=alone)
        return _noted(given, files, skipped, notes)
    if is_endless(given):
        raise InputError(f"{given} is a device: name a file, a folder, a pipe, or - for standard input")
    if is_stream(given):
        with Path(given).open("rb") as stream:
            return [_spooled(stream, given, format)]
    files, skipped = expanded(given, format, alone=alone)
    return _noted(given, files, skipped, notes)


def _noted(given: str, files: list[InputFile], skipped: int, notes: list[str]) -> list[InputFile]:
    if skipped:
        notes.append(f"{given}: {counted(skipped, 'file')} of unknown format skipped")
    return files


def _local(address: str) -> str:
    """The path that a file:// address names; another address as it is."""
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(address).path) if address.lower().startswith("file:/") else address


def _spooled(stream: IO[bytes], name: str, format: str | None) -> InputFile:
    """A stream as a temporary file, because it is read more than once; the file is removed at exit."""
    import atexit
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="neardup-stdin-", delete=False) as file:
        atexit.register(Path(file.name).unlink, missing_ok=True)
        shutil.copyfileobj(stream, file, 1 << 20)
    if not Path(file.name).stat().st_size:
        raise InputError(f"{'standard input' if name == 'stdin' else name} is empty")
    kind, codec = sniffed(file.name)
    return InputFile(file.name, name, format or kind, codec)


def _refuse_twice(found: Iterable[InputFile | Source]) -> None:
    paths: set[str] = set()
    for one in found:
        if isinstance(one, InputFile):
            path = one.path if is_address(one.path) else str(Path(one.path).absolute())
            if path in paths:
                raise InputError(
                    f"{one.name} is given twice: every document in it would be its own duplicate"
                )
            paths.add(path)


def _opened(found: Sequence[InputFile | Source], how: Reading, notes: list[str]) -> list[Source]:
    """Sources in the order given; all text files are one source at the position of the first, and so is all mail."""
    sources: list[Source] = []
    done: set[str] = set()
    for one in found:
        if not isinstance(one, InputFile):
            sources.append(one)
        elif one.unreadable is not None:
            sources.append(UnreadableSource(one.name, one.unreadable))
        elif one.format not in GATHERED:
            sources.append(_file_source(one, how, notes))
        elif one.format not in done:
            done.add(one.format)
            same = [each for each in found if isinstance(each, InputFile) and each.format == one.format]
            sources.append(_gathered(one.format, same, how))
    return sources


def _gathered(format: str, files: Sequence[InputFile], how: Reading) -> Source:
    name = files[0].name if len(files) == 1 else f"{format} files"
    pairs = tuple((file.path, file.name) for file in files)
    if format == "mail":
        from neardup.documents.mail import MailSource

        return MailSource(name, pairs, limits=how.limits)
    if format == "news":
        from neardup.documents.news import NewsSource

        return NewsSource(name, pairs, limits=how.limits)
    from neardup.documents.textfiles import TextSource

    return TextSource(name, pairs, limits=how.limits, html_text=how.html_text, encoding=how.dialect.encoding)


def _file_source(found: InputFile, how: Reading, notes: list[str]) -> Source:
    size, limits, encoding = _size(found), how.limits, how.dialect.encoding
    if found.format == "parquet":
        from neardup.documents.parquet import ParquetSource

        return ParquetSource(found.name, found.path, size, limits=limits)
    if found.format in ("jsonl", "json"):
        from neardup.documents.jsonl import JsonlSource

        array = found.format == "json"
        return JsonlSource(
            found.name, found.path, found.compression, limits, size, encoding=encoding, array=array
        )
    if found.format == "warc":
        from neardup.documents.warc import WarcSource

        return WarcSource(found.name, found.path, found.compression, limits, size)
    if found.format == "lines":
        from neardup.documents.textfiles import LineSource

        return LineSource(found.name, found.path, found.compression, limits, size, encoding=encoding)
    return _delimited(found, size, how, notes)


def _delimited(found: InputFile, size: int | None, how: Reading, notes: list[str]) -> Source:
    """A csv or tsv file, in the dialect that was given or that its beginning shows."""
    from neardup.documents.delimited import DelimitedSource

    dialect = how.dialect
    with suppress(OSError, InputError):
        head = raw_head(found.path, found.compression)
        dialect = detected(dialect, found.format, head, TEXT_NAMES)
        if (note := described(dialect, how.dialect, found.format)) is not None:
            notes.append(f"{found.name}: {note}")
    return DelimitedSource(
        found.name,
        found.path,
        found.compression,
        how.limits,
        size,
        encoding=dialect.encoding,
        format=found.format,
        unescape=how.unescape,
        dialect=dialect,
    )


def _size(found: InputFile) -> int | None:
    """The bytes on disk; None if they cannot be determined, which the source reports when it is read."""
    try:
        return file_stamp(found.path)[1]
    except OSError:
        return None


def _not_empty(sources: list[Source], notes: list[str]) -> list[Source]:
    """The sources but for empty files, which have no columns to choose from."""
    full = [source for source in sources if source.size != 0 or source.format in (*GATHERED, "memory")]
    if not full:
        names = ", ".join(source.name for source in sources[:3])
        raise InputError(f"{names} {'is' if len(sources) == 1 else 'are'} empty: give a file with documents")
    if len(full) < len(sources):
        notes.append(f"{counted(len(sources) - len(full), 'empty file')} left out")
    return full
