"""Runs of repeated windows to passages: longest sequences of windows that always occur together.

Two neighbouring windows belong to one passage if each occurrence of the one is followed by the other, and each
occurrence of the other is preceded by the one. A repeated window is thus in exactly one passage, all occurrences of a
passage have the same length, and their number is linear in that of repeated windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Numbers
from neardup.engines.local.passages.repeats import Runs
from neardup.sorted_sets import made_distinct

NONE = -1  # no repeated window


@dataclass(frozen=True)
class Places:
    """Where passages occur, in order of position.

    A place whose text goes round in a circle has several occurrences that overlap.
    """

    passage: Numbers  # the first position of its first window
    position: Numbers
    windows: Numbers  # of the passage
    step: Numbers  # from one occurrence to the next
    count: Numbers

    def __len__(self) -> int:
        return len(self.passage)

    def ends(self, width: int) -> Numbers:
        """The position behind the last token of each."""
        return self.position + self.step * (self.count - 1) + self.windows + width - 1


def find_places(runs: Runs) -> Places:
    """All occurrences of all passages."""
    after, before = _branches(runs)
    rows = _chained(_cut(runs, after, before), after, before)
    return Places(rows[:, 1], rows[:, 0], rows[:, 2], rows[:, 4], rows[:, 3])


def _branches(runs: Runs) -> tuple[Numbers, Numbers]:
    """The windows, by first occurrence, that not all have the same next window; and the same for the one before.

    Inside a run all is as at its first occurrence: only its ends are looked at.
    """
    position, first, length, count = runs.T
    ends = position + length * count
    last = first + length - 1
    again = count > 1  # followed by its own beginning
    followers = np.concatenate([_firsts_of(runs, ends), first[again]])
    lasts = np.concatenate([last, last[again]])
    after = lasts[followers != _firsts_of(runs, lasts + 1)]
    leaders = np.concatenate([_firsts_of(runs, position - 1), last[again]])
    begins = np.concatenate([first, first[again]])
    before = begins[leaders != _firsts_of(runs, begins - 1)]
    return made_distinct(after), made_distinct(before)


def _firsts_of(runs: Runs, positions: Numbers) -> Numbers:
    """The first occurrence of the window at each position; NONE where it is not repeated."""
    place = np.searchsorted(runs[:, 0], positions, "right") - 1
    position, first, length, count = runs[np.maximum(place, 0)].T
    inside = (place >= 0) & (positions < position + length * count)
    return np.where(inside, first + (positions - position) % np.maximum(length, 1), NONE)


def _cut(runs: Runs, after: Numbers, before: Numbers) -> Runs:
    """The runs cut where a passage ends: rows of position, first, windows, count and step."""
    cuts = made_distinct(np.concatenate([after + 1, before]))  # a passage begins here, by first occurrence
    position, first, length, count = runs.T
    low = np.searchsorted(cuts, first, "right")  # a cut at its beginning is none
    inside = np.searchsorted(cuts, first + length, "left") - low
    row = np.repeat(np.arange(len(runs)), inside + 1)
    number = np.arange(len(row)) - np.repeat(np.cumsum(inside + 1) - inside - 1, inside + 1)
    cuts = np.concatenate([cuts, [0]])  # where there is none, one that is not taken
    place = low[row] + number
    begin = np.where(number == 0, first[row], cuts[place - 1])
    end = np.where(number == inside[row], first[row] + length[row], cuts[np.minimum(place, len(cuts) - 1)])
    rows = np.column_stack([position[row] + begin - first[row], begin, end - begin, count[row], length[row]])
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _chained(rows: Runs, after: Numbers, before: Numbers) -> Runs:
    """The rows, in which neighbours are one that belong to one passage."""
    if len(rows) < 2:
        return rows
    last = rows[:-1, 1] + rows[:-1, 2] - 1
    touch = rows[:-1, 0] + rows[:-1, 2] == rows[1:, 0]
    single = (rows[:-1, 3] == 1) & (rows[1:, 3] == 1)
    joined = touch & single & ~_among(last, after) & ~_among(rows[1:, 1], before)
    starts = np.flatnonzero(np.concatenate([[True], ~joined]))
    found = rows[starts].copy()
    found[:, 2] = np.add.reduceat(rows[:, 2], starts)
    return found


def _among(values: Numbers, known: Numbers) -> NDArray[np.bool_]:
    """Which values are in a sorted set."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    return known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values
