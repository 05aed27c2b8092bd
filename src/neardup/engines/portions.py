"""Candidate pairs as codes (left · n + right), gathered, and in portions that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.codes import distinct, made_distinct
from neardup.columns import Numbers
from neardup.engines.measuring import TILE_BYTES, families
from neardup.engines.reading import Corpus

BLOCK_PAIRS = 1 << 22  # pairs that are verified together


class Codes:
    """A set of integers that grows; it is sorted now and then, so that repeats do not fill the memory."""

    def __init__(self) -> None:
        self._parts: list[Numbers] = []
        self._size, self._limit = 0, BLOCK_PAIRS

    def add(self, codes: Numbers) -> None:
        self._parts.append(codes)
        self._size += len(codes)
        if self._size > self._limit:
            self._size = len(self.all())
            self._limit = max(BLOCK_PAIRS, self._size + self._size // 2)

    def all(self) -> Numbers:
        """Every integer once, sorted."""
        whole = np.concatenate([np.zeros(0, np.int64), *self._parts])
        self._parts = []  # before sorting, not after: there may be very many
        self._parts = [made_distinct(whole)]
        return self._parts[0]


def blocks(codes: Numbers) -> Iterator[Numbers]:
    """Some at a time; one empty block where there are none."""
    for start in range(0, max(1, len(codes)), BLOCK_PAIRS):
        yield codes[start : start + BLOCK_PAIRS]


@dataclass(frozen=True)
class Family:
    """Documents that are compared with each other and with nobody else, and the codes of their pairs."""

    documents: Numbers
    first: Numbers
    rest: Numbers
    fits: bool  # their features may be held in memory together


def split_families(corpus: Corpus, first: Numbers, rest: Numbers) -> Iterator[Family]:
    """All pairs, in portions whose features fit into memory; a larger family is a portion of its own."""
    n = len(corpus)
    concerned, labels = families(n, first, rest)
    sizes = np.bincount(labels, corpus.features[concerned] * 8, len(concerned))
    ends = np.cumsum(np.where(sizes > TILE_BYTES, 0, sizes))
    portion = (np.maximum(ends - 1, 0) // TILE_BYTES).astype(np.int32)
    large = np.flatnonzero(sizes > TILE_BYTES)
    portion[large] = int(portion.max(initial=0)) + 1 + np.arange(len(large), dtype=np.int32)
    portion = portion[labels]  # of each document concerned
    of_document = np.zeros(n, np.int32)
    of_document[concerned] = portion
    parts = [
        _grouped(concerned, portion),
        *(_grouped(some, of_document[some // n]) for some in (first, rest)),
    ]
    for number in distinct(portion).tolist():
        documents, mine, others = (_group(part, number) for part in parts)
        fits = bool(corpus.features[documents].sum() * 8 <= 2 * TILE_BYTES)
        yield Family(documents, mine, others, fits)


def _grouped(values: Numbers, portion: NDArray[np.int32]) -> tuple[Numbers, NDArray[np.int32]]:
    """Values in order of their portion, and those portions."""
    if not len(values) or (portion == portion[0]).all():
        return values, portion
    order = np.argsort(portion, kind="stable")
    return values[order], portion[order]


def _group(part: tuple[Numbers, NDArray[np.int32]], number: int) -> Numbers:
    """The values of one portion."""
    low, high = np.searchsorted(part[1], [number, number + 1])
    return part[0][low:high]
