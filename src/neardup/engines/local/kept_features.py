"""Features that stay in memory from one pass over the texts to the next, as many as there is room for.

Methods that count represent each text several times: to sign it, for a second time when the unit of document frequency
is known, and to compare it. What a view prepares of a text is the same each time, and takes less room than its tokens
take time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Numbers
from neardup.plan import View, stage_json
from neardup.statistics import Statistics

WEIGHT = 4  # bytes
ENTRY = 8 + WEIGHT  # bytes of a feature


@dataclass
class KeptFeatures:
    """What a view prepared of some documents, with the numbers of their tokens."""

    view: View
    statistics: Statistics
    room: int  # bytes

    def __post_init__(self) -> None:
        self._hashes = np.empty(0, np.uint64)
        self._weights: NDArray[Any] | None = None
        self._rows = _Rows(*(np.zeros(size, np.int64) for size in (0, 0, 1)))
        self._size = 0

    def add(self, numbers: Numbers, tokens: Numbers, prepared: Features) -> None:
        """Documents of higher numbers than all that are kept, if there is room for them."""
        weights, size = prepared.weights, self._size + len(prepared.hashes)
        if weights is None or weights.itemsize != WEIGHT or not prepared.distinct or ENTRY * size > self.room:
            return
        if self._weights is None:
            self._weights = np.empty(0, weights.dtype)
        for column, values in ((self._hashes, prepared.hashes), (self._weights, weights)):
            if (
                len(column) < size
            ):  # in place: the system moves pages of a large array instead of copying them
                column.resize(max(size, len(column) + len(column) // 4), refcheck=False)
            column[self._size : size] = values
        self._rows.add(numbers, tokens, prepared.offsets[1:] + self._size)
        self._size = size

    def fits(self, view: View, statistics: Statistics | None) -> bool:
        """Whether the view would prepare the same with these frequencies."""
        if statistics is None or view.preparation != self.view.preparation:
            return False
        return statistics is self.statistics or (
            statistics.text == self.statistics.text
            and all(
                statistics.table(stage_json(stage)).equals(self.statistics.table(stage_json(stage)))
                for stage in view.prepared_by
            )
        )

    def features(self, view: View, numbers: Numbers, statistics: Statistics | None) -> Features | None:
        """The features of documents; None unless all are kept, and prepared as the view would prepare them."""
        if not self.fits(view, statistics) or not self.has(numbers).all():
            return None
        return view.finish(self.prepared(numbers)[1], statistics)

    def has(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Which documents are kept."""
        known = self._rows.numbers
        if not len(known):
            return np.zeros(len(numbers), np.bool_)
        found: NDArray[np.bool_] = (
            known[np.minimum(np.searchsorted(known, numbers), len(known) - 1)] == numbers
        )
        return found

    def prepared(self, numbers: Numbers) -> tuple[Numbers, Features]:
        """The number of tokens of documents that are kept, and what was prepared of them."""
        rows = self._rows
        at = np.searchsorted(rows.numbers, numbers)
        kept = Features(rows.offsets, self._hashes, self._weights, distinct=True)
        return rows.tokens[at], kept.take(at)


class _Rows:
    """The documents that are kept, batch by batch."""

    def __init__(self, numbers: Numbers, tokens: Numbers, offsets: Numbers) -> None:
        self._parts = [[numbers], [tokens], [offsets]]

    def add(self, *columns: Numbers) -> None:
        """More documents."""
        for parts, column in zip(self._parts, columns, strict=True):
            parts.append(column)

    def _joined(self, column: int) -> Numbers:
        if len(self._parts[column]) > 1:
            self._parts[column] = [np.concatenate(self._parts[column])]
        return self._parts[column][0]

    @property
    def numbers(self) -> Numbers:
        """Of documents, ascending."""
        return self._joined(0)

    @property
    def tokens(self) -> Numbers:
        """How many each has."""
        return self._joined(1)

    @property
    def offsets(self) -> Numbers:
        """Where the features of each begin, and those of the last one end."""
        return self._joined(2)
