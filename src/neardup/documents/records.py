"""The records of csv files, as spans of bytes.

Almost every block is tidy: each quote opens or closes a cell or is doubled inside one. Then a line end is a
record's end exactly when an even number of quotes precede it, which is computed for a whole block at once.
The standard library's reader parses blocks with other quotes (5" pipes) record by record: it has the same rules
and is four times slower.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neardup.columns import Numbers
from neardup.documents.blocks import Bytes, newline_of, pieces, positions
from neardup.documents.problems import Problems

FIELD = (1 << 31) - 1  # the longest cell that the standard library accepts
_RETURN = ord("\r")


@dataclass(frozen=True)
class Records:
    """Whole records of a block, without blank ones: the start and end of each, and its cells if already parsed."""

    data: bytes
    starts: Numbers
    ends: Numbers
    cut: int  # the bytes of the records, including line ends and blank records
    cells: list[list[str]] | None = None
    broken: str | None = None  # why the (only) record cannot be parsed


def record_blocks(where: Bytes, delimiter: str, problems: Problems) -> Iterator[Records]:
    """Blocks of whole records, about 4 MB each; a record that is longer is a block of its own.

    A record longer than a quarter of the limit is treated as an unclosed quote.
    """
    pending: list[bytes] = []
    size, newline, wait, longest = 0, b"", 0, where.limits.record // 4
    skipping = False  # the rest of a line that was given up before its end
    for piece in pieces(where, problems):
        newline = newline or newline_of(piece)
        if skipping:
            end = piece.find(newline) + 1
            piece, skipping = piece[end or len(piece) :], end == 0
        pending.append(piece)
        size += len(piece)
        rest = b"".join(pending) if size > wait else b""
        while len(rest) > wait:
            found = split(rest, delimiter, newline)
            if not found.cut and len(rest) <= longest:
                wait = 2 * len(rest)  # doubling keeps a long record from being scanned again and again
                break
            if not found.cut:
                found = unclosed(rest, newline)
                skipping = found.ends[0] == len(rest)
            yield found
            rest, wait = rest[found.cut :], 0
        if rest or not wait:
            pending, size = [rest], len(rest)
    rest = b"".join(pending)
    while rest:
        found = split(rest, delimiter, newline, final=True)
        yield (found := found if found.cut else unclosed(rest, newline))
        rest = rest[found.cut :]


def split(data: bytes, delimiter: str, newline: bytes, *, final: bool = False) -> Records:
    """The whole records at the beginning of the data; at the end of a file the last line may lack its end."""
    lines = positions(data, newline)
    if final and not data.endswith(newline):
        lines = np.append(lines, len(data))
    quotes = positions(data, b'"')
    if not tidy(data, quotes, delimiter):
        return parsed_records(data, lines, delimiter)
    ends = lines[np.searchsorted(quotes, lines) % 2 == 0]
    return filled(data, ends)


def tidy(data: bytes, quotes: Numbers, delimiter: str) -> bool:
    """Whether every quote opens a cell, closes one, or is one half of a doubled quote."""
    if not len(quotes):
        return True
    padded = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    edge = np.zeros(256, dtype=np.bool_)
    edge[[ord(character) for character in ('"', delimiter, "\n", "\r")]] = True
    return bool(edge[padded[quotes[0::2]]].all() and edge[padded[quotes[1::2] + 2]].all())


def filled(data: bytes, ends: Numbers) -> Records:
    """The records with these ends, without the blank ones."""
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    characters = np.frombuffer(data, dtype=np.uint8)
    first = characters[np.minimum(starts, len(data) - 1)]
    full = (ends - starts > 1) | ((ends - starts == 1) & (first != _RETURN))
    cut = min(int(ends[-1]) + 1, len(data)) if len(ends) else 0
    return Records(data[:cut], starts[full], ends[full], cut)


def parsed_records(data: bytes, lines: Numbers, delimiter: str) -> Records:
    """The whole records among these lines, parsed one by one up to the first unclosed quote."""
    csv.field_size_limit(FIELD)
    bounds = [0, *(np.minimum(lines + 1, len(data))).tolist()]
    reader = csv.reader(_texts(data, bounds), delimiter=delimiter)
    starts, ends, cells, done = [], [], [], 0
    while True:
        try:
            row = next(reader)
        except (StopIteration, csv.Error):  # `unclosed` handles what the reader refuses
            break
        if reader.line_num >= len(bounds):  # the sentinel: alone, or inside an open quote
            break
        if row:
            starts.append(bounds[done])
            ends.append(int(lines[reader.line_num - 1]))
            cells.append(row)
        done = reader.line_num
    spans = np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
    return Records(data[: bounds[done]], *spans, bounds[done], cells)


def _texts(data: bytes, bounds: list[int]) -> Iterator[str]:
    # Bytes that are not UTF-8 stay recognisable as lone surrogates until the cells are known.
    for start, end in pairwise(bounds):
        yield data[start:end].decode("utf-8", "surrogateescape")
    yield "."


def unclosed(data: bytes, newline: bytes) -> Records:
    """The first line as a record that cannot be parsed, so that reading continues with the second."""
    end = data.find(newline)
    end = len(data) if end < 0 else end
    reason = "malformed csv: a quote is not closed, or a line end is outside quotes"
    return Records(data[:end], np.array([0]), np.array([end]), min(end + 1, len(data)), None, reason)
