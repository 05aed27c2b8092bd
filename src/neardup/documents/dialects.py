"""How a csv file is written: delimiter, encoding and header, as given or as its beginning shows."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from neardup.documents.encodings import encoding_of
from neardup.errors import InputError, ParameterError
from neardup.text.encoding import encoding_named

DELIMITERS = {"csv": ",", "tsv": "\t"}
USUAL = (",", ";", "\t", "|")
NAMED = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "\\t": "\t"}
ROWS = 50  # records of the beginning that a delimiter is judged by
WINDOWS = "cp1252"
_SEP = re.compile(r"sep=(.)\r?\n?\Z", re.IGNORECASE)
_UNUSED = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D, 0xFE, 0xFF])  # of cp1252, or next to never used in it


@dataclass(frozen=True)
class Dialect:
    """What a user says about csv files; None is detected."""

    delimiter: str | None = None
    encoding: str | None = None
    columns: tuple[str, ...] | None = None  # the names, if the files have no header
    skip: bool = False  # the first line is "sep=;", not a record

    @staticmethod
    def of(delimiter: str | None, encoding: str | None, columns: str | Sequence[str] | None) -> Dialect:
        """The dialect of these options; a ParameterError says what cannot be."""
        names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else columns
        if names is not None and (not names or not all(names)):
            raise ParameterError("columns", "reading", "names with commas between them, like a,b,c", columns)
        one = None if delimiter is None else NAMED.get(delimiter, delimiter)
        if one is not None and (len(one) != 1 or not one.isascii() or one in '"\r\n'):
            raise ParameterError("delimiter", "reading", "one ASCII character, or tab", delimiter)
        named = None if names is None else tuple(names)
        return Dialect(one, None if encoding is None else checked_encoding(encoding), named)


DETECTED = Dialect()


def checked_encoding(name: str) -> str:
    """The name of an encoding of text that Python knows."""
    if not (found := encoding_named(name)):
        raise ParameterError("encoding", "reading", "the name of an encoding, such as cp1252", name)
    return found


def detected(given: Dialect, format: str, head: bytes, known: Sequence[str]) -> Dialect:
    """The dialect of a file with these first bytes; `known` are the usual names of text columns."""
    encoding = given.encoding or encoding_by(head)
    text = head.decode(encoding or encoding_of(head)[0], "replace").lstrip("\ufeff")
    lines = text.splitlines(keepends=True)
    named = _SEP.match(lines[0]) if lines else None
    delimiter = given.delimiter or (DELIMITERS[format] if format == "tsv" else None)
    if named is not None:
        delimiter, lines = given.delimiter or named[1], lines[1:]
    delimiter = delimiter or delimiter_by(lines, known)
    return replace(given, delimiter=delimiter, encoding=encoding, skip=named is not None)


def encoding_by(head: bytes) -> str | None:
    """cp1252 for text that has its letters and nothing of UTF-8; None for Unicode."""
    if encoding_of(head) != ("utf-8", 0) or head.isascii():
        return None
    high = bytes(byte for byte in head if byte > 127)
    if any(byte in _UNUSED for byte in high):
        return None
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = error.end == len(head) and error.reason == "unexpected end of data"
        left = head.decode("utf-8", "ignore")
        return None if cut or not left.isascii() else WINDOWS
    return None


def delimiter_by(lines: Sequence[str], known: Sequence[str]) -> str:
    """The usual delimiter that gives a text column in the header, and rows of one width; else the comma."""
    scores = [(_score(lines[:-1] or lines, one, known), -place, one) for place, one in enumerate(USUAL)]
    best = max(scores)
    return best[2] if best[0][1] > 1 else ","


def _score(lines: Sequence[str], delimiter: str, known: Sequence[str]) -> tuple[bool, int, float]:
    """Whether the header has a usual name of a text column, its width if that is more than 1, and how many rows fit."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            rows.append(row)
            if len(rows) > ROWS:
                break
    except csv.Error:
        pass
    rows = [row for row in rows if row]
    if not rows or len(rows[0]) < 2:
        return False, 1, 0.0
    width = len(rows[0])
    fit = sum(len(row) == width for row in rows) / len(rows)
    names = {cell.strip().lower() for cell in rows[0]}
    return bool(names & set(known)), 2 if fit > 0.5 else 1, fit + width / 1000


def described(found: Dialect, given: Dialect, format: str) -> str | None:
    """What was detected and is not the rule, for a note."""
    parts = []
    if found.encoding != given.encoding:
        parts.append(f"encoding {found.encoding} (--encoding)")
    if given.delimiter is None and not found.skip and found.delimiter != DELIMITERS[format]:
        shown = {"\t": "tab"}.get(found.delimiter or "", repr(found.delimiter))
        parts.append(f"delimiter {shown} (--delimiter)")
    return "read with " + ", ".join(parts) if parts else None


def refuse_elsewhere(given: Dialect, formats: set[str]) -> None:
    """Refuse options of csv where no csv is read."""
    if formats & {"csv", "tsv"}:
        return
    for name in ("delimiter", "columns"):
        if getattr(given, name) is not None:
            raise InputError(
                f"--{name} is for csv and tsv, and no input is one: leave it out, or add --format csv"
            )
