"""Where the records of a csv file begin and end.

Almost every block is tidy: each quote opens or closes a cell or is doubled inside one. Then a line end is a
record's end exactly when an even number of quotes precede it, which is found for a whole block at once.
Blocks with other quotes (5" pipes) are walked record by record with the standard library's reader, which
has the same rules and is four times slower.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neardup.documents.blocks import Bytes, pieces, places
from neardup.documents.source import Problems

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Records", "record_blocks", "walked"]

LONGEST = 256 << 20  # a longer record is taken for a quote that is never closed
_QUOTE, _RETURN = ord('"'), ord("\r")


@dataclass(frozen=True)
class Records:
    """Whole records of a block: where each begins and ends, and its cells where they were parsed already."""

    data: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    cells: list[list[str]] | None
    broken: dict[int, str]  # records that could not be parsed, and why

    @property
    def cut(self) -> int:
        """The bytes up to the end of the last record, with its line end."""
        return min(len(self.data), int(self.ends[-1]) + 1) if len(self.ends) else 0


def record_blocks(where: Bytes, delimiter: str, problems: Problems) -> Iterator[Records]:
    """Blocks of whole records, about 4 MB each; a record that is longer is a block of its own."""
    rest, newline, wait = b"", b"\n", 0
    for piece in pieces(where, problems):
        if not rest and b"\n" not in piece and b"\r" in piece:
            newline = b"\r"
        rest += piece
        while len(rest) >= wait:
            found = split(rest, delimiter, newline, final=len(rest) > LONGEST)
            if not found.cut:
                wait = 2 * len(rest)  # doubling keeps a long record from being scanned again and again
                break
            yield found
            rest, wait = rest[found.cut :], 0
    while rest:
        found = split(rest, delimiter, newline, final=True)
        yield found
        rest = rest[found.cut :]


def split(data: bytes, delimiter: str, newline: bytes, *, final: bool) -> Records:
    """The whole records at the beginning of the data; all of it is records when `final`."""
    quotes = places(data, b'"')
    if not tidy(data, quotes, delimiter):
        return walked(data, delimiter, newline, final=final)
    lines = places(data, newline)
    if final and (not len(lines) or lines[-1] != len(data) - 1):
        lines = np.append(lines, len(data))
    inside = np.searchsorted(quotes, lines) % 2 == 1
    if final and len(inside) and inside[-1]:
        return walked(data, delimiter, newline, final=True)
    ends = lines[~inside]
    return filled(data, np.concatenate([[0], ends[:-1] + 1])[: len(ends)], ends, newline)


def tidy(data: bytes, quotes: NDArray[np.int64], delimiter: str) -> bool:
    """Whether every quote opens a cell, closes one, or is one half of a doubled quote."""
    if not len(quotes):
        return True
    padded = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    edge = np.zeros(256, dtype=np.bool_)
    edge[[_QUOTE, ord(delimiter), ord("\n"), _RETURN]] = True
    return bool(edge[padded[quotes[0::2]]].all() and edge[padded[quotes[1::2] + 2]].all())


def filled(data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], newline: bytes) -> Records:
    """The records without the blank ones; the last stays, as the block is cut at its end."""
    content = np.frombuffer(data, dtype=np.uint8)
    blank = ends <= starts
    blank[~blank] = (ends[~blank] - starts[~blank] == 1) & (content[starts[~blank]] == _RETURN)
    return Records(data[: int(ends[-1]) + 1] if len(ends) else b"", starts[~blank], ends[~blank], None, {})
