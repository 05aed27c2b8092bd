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
from neardup.documents.limits import Meter
from neardup.documents.problems import Problems

FIELD = (1 << 31) - 1  # the longest cell that the standard library accepts
LONGER = 4  # a record may have this part of the limit: parsing its cells takes so many times its bytes
WINDOW = 1 << 12  # the bytes that are parsed first behind a line that cannot be parsed
MALFORMED = "malformed csv: a quote is not closed, or a line end is outside quotes"
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


def record_blocks(
    where: Bytes, delimiter: str, problems: Problems, *, skip: bool = False
) -> Iterator[Records]:
    """Blocks of whole records, about 4 MB each; a record that is longer is a block of its own.

    With `skip` the first line is not a record.

    A record longer than a quarter of the limit is treated as an unclosed quote.
    """
    meter = Meter(where.limits, where.stored_bytes(), where.compression)
    pending: list[bytes] = []
    size, newline, wait, begun = 0, b"", 0, 0
    skipping = False  # the rest of a line that was given up before its end
    for piece in pieces(where, problems, meter):
        newline = newline or newline_of(piece)
        if skip:
            piece, skip = piece.partition(newline)[2], False
        if skipping:
            end = piece.find(newline) + 1
            piece, skipping = piece[end or len(piece) :], end == 0
        pending.append(piece)
        size += len(piece)
        longest = meter.longest(begun) // LONGER
        if size <= min(wait, longest, where.limits.memory):
            continue
        blocks = _Blocks(b"".join(pending), delimiter, newline)
        yield from blocks.whole(longest)
        rest, skipping = blocks.rest, blocks.skipping
        where.limits.refuse_larger(len(rest), where.name)
        wait = 2 * len(rest) if rest and not blocks.at else 0  # doubling: a long record is scanned few times
        begun = meter.stored if blocks.at else begun
        pending, size = [rest], len(rest)
    yield from _Blocks(b"".join(pending), delimiter, newline).whole(0, final=True)


class _Blocks:
    """The records of some bytes, and what is left behind the last whole one."""

    def __init__(self, data: bytes, delimiter: str, newline: bytes) -> None:
        self._data, self._delimiter, self._newline = data, delimiter, newline
        self.at, self.skipping = 0, False

    @property
    def rest(self) -> bytes:
        """The bytes behind the last record."""
        return self._data[self.at :]

    def whole(self, longest: int, *, final: bool = False) -> Iterator[Records]:
        """Blocks of whole records; a first line that cannot be parsed is its own, unless a longer record may follow.

        Behind such a line a growing part of the bytes is parsed, not all: the next line may be no better.
        """
        window = len(self._data)
        while self.at < len(self._data):
            found, window = self._first(window, final)
            if not found.cut:
                if not (final or found.broken) and len(self._data) - self.at <= longest:
                    return
                found, window = unclosed(self._line(), self._newline), WINDOW
                self.skipping = not final and self.at + found.cut == len(self._data) and not self._ended()
            yield found
            self.at += found.cut

    def _first(self, window: int, final: bool) -> tuple[Records, int]:
        """The first whole records that a part of the bytes has, and the size of the part to try next."""
        left = len(self._data) - self.at
        while window < left:
            found = split(self._data[self.at : self.at + window], self._delimiter, self._newline)
            window *= 2
            if found.cut or found.broken:
                return found, window
        return split(self.rest, self._delimiter, self._newline, final=final), left

    def _line(self) -> bytes:
        end = self._data.find(self._newline, self.at)
        return self._data[self.at : end + 1 if end >= 0 else len(self._data)]

    def _ended(self) -> bool:
        return self._data.endswith(self._newline)


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
    broken = None
    while True:
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error:  # `unclosed` handles what the reader refuses
            broken = MALFORMED
            break
        if reader.line_num >= len(bounds):  # the sentinel: alone, or inside an open quote
            break
        if row:
            starts.append(bounds[done])
            ends.append(int(lines[reader.line_num - 1]))
            cells.append(row)
        done = reader.line_num
    spans = np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
    return Records(data[: bounds[done]], *spans, bounds[done], cells, None if done else broken)


def _texts(data: bytes, bounds: list[int]) -> Iterator[str]:
    # Bytes that are not UTF-8 stay recognisable as lone surrogates until the cells are known.
    for start, end in pairwise(bounds):
        yield data[start:end].decode("utf-8", "surrogateescape")
    yield "."


def unclosed(data: bytes, newline: bytes) -> Records:
    """The first line as a record that cannot be parsed, so that reading continues with the second."""
    end = data.find(newline)
    end = len(data) if end < 0 else end
    return Records(data[:end], np.array([0]), np.array([end]), min(end + 1, len(data)), None, MALFORMED)
