"""Where each document of a run stood: its source and its number there."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from neardup.documents.source import Batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Places"]


class Places:
    """The records behind the documents, batch after batch; consecutive ones take next to no memory."""

    def __init__(self) -> None:
        self._starts: list[int] = []  # the first document of each batch
        self._batches: list[tuple[str, int, NDArray[np.int64] | None]] = []
        self._count = 0

    def append(self, batch: Batch) -> None:
        """Remember the records of a batch, which become the next documents."""
        if not len(batch):
            return
        first, last = int(batch.numbers[0]), int(batch.numbers[-1])
        gapless = last - first == len(batch) - 1
        self._starts.append(self._count)
        self._batches.append((batch.source, first, None if gapless else batch.numbers))
        self._count += len(batch)

    def __getitem__(self, document: int) -> tuple[str, int]:
        """The source of a document, and its record there."""
        batch = bisect_right(self._starts, document) - 1
        source, first, numbers = self._batches[batch]
        row = document - self._starts[batch]
        return source, first + row if numbers is None else int(numbers[row])
