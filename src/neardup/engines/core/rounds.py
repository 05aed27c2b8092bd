"""Candidate pairs as codes (left · n + right), gathered, and in portions that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers
from neardup.engines.core.compare import TILE_BYTES
from neardup.engines.local.read import Corpus
from neardup.sorted_sets import distinct, made_distinct

BLOCK_PAIRS = 1 << 22  # pairs that are verified together
RANGES = 16  # of codes that are sorted apart
ROUNDS = 8  # in which a document meets the first members of its buckets; what is left comes in the last one
ONE_ROUND = (
    4096  # pairs of a family that come in one round: all that is measured tells which pairs are bridges
)


class PackedPairs:
    """A set of integers below `most` that grows; repeats are removed now and then, so that they do not fill the memory.

    Range by range: what is sorted and copied at a time is a small part of the whole.
    """

    def __init__(self, most: int) -> None:
        self._bounds = np.arange(1, RANGES) * (most // RANGES + 1)
        self._ranges: list[list[Numbers]] = [[] for _ in range(RANGES)]
        self._size, self._limit = 0, BLOCK_PAIRS

    def add(self, codes: Numbers) -> None:
        """More of them, sorted."""
        parts = np.split(codes, np.searchsorted(codes, self._bounds))
        for held, part in zip(self._ranges, parts, strict=True):
            held.append(part.copy())  # a view would keep all of the codes
        self._size += len(codes)
        if self._size > self._limit:
            self._remove_repeats()
            self._limit = max(BLOCK_PAIRS, self._size + self._size // 2)

    def _remove_repeats(self) -> None:
        for held in self._ranges:
            whole = np.concatenate([np.zeros(0, np.int64), *held])
            held.clear()  # before sorting, not after: there may be very many
            held.append(made_distinct(whole))
        self._size = sum(len(held[0]) for held in self._ranges)

    def taken(self) -> Numbers:
        """Every integer once, sorted; nothing stays here."""
        self._remove_repeats()
        whole, start = np.empty(self._size, np.int64), 0
        for held in self._ranges:
            part = held.pop()
            whole[start : start + len(part)] = part
            start += len(part)
        return whole


def blocks(codes: Numbers) -> Iterator[Numbers]:
    """Some at a time; one empty block where there are none."""
    for start in range(0, max(1, len(codes)), BLOCK_PAIRS):
        yield codes[start : start + BLOCK_PAIRS]


def in_rounds(
    corpus: Corpus, stars: Numbers, rest: Numbers, relatives: tuple[Numbers, Numbers]
) -> list[Numbers]:
    """Codes of pairs in rounds: those with the first members of buckets, as each document meets them, then the rest.

    `relatives` are the documents concerned, and a label of each one's family. In a family of few pairs a document
    meets all first members at once.
    """
    n, (concerned, labels) = len(corpus), relatives
    family = np.zeros(n, np.int64)
    family[concerned] = labels
    pairs = np.zeros(len(concerned), np.int64)
    for some in (*blocks(stars), *blocks(rest)):
        pairs += np.bincount(family[some // n], minlength=len(pairs))
    number = kernels.buckets.star_rounds(stars, n, corpus.ranks, ROUNDS - 1)
    for start in range(0, len(stars), BLOCK_PAIRS):
        part = slice(start, start + BLOCK_PAIRS)
        number[part] *= pairs[family[stars[part] // n]] > ONE_ROUND
    return [*(stars[number == each] for each in range(ROUNDS)), rest]


@dataclass(frozen=True)
class ComponentGroup:
    """Documents that are compared with each other and with nobody else, and the codes of their pairs in rounds."""

    documents: Numbers
    rounds: list[Numbers]
    fits: bool  # their features may be held in memory together


def component_groups(
    corpus: Corpus, rounds: list[Numbers], relatives: tuple[Numbers, Numbers]
) -> Iterator[ComponentGroup]:
    """The pairs of all rounds, in portions whose features fit into memory; a larger family is a portion of its own.

    `relatives` are the documents concerned, and a label of each one's family.
    """
    n, (concerned, labels) = len(corpus), relatives
    sizes = np.bincount(labels, corpus.features[concerned] * 8, len(concerned))
    ends = np.cumsum(np.where(sizes > TILE_BYTES, 0, sizes))
    portion = (np.maximum(ends - 1, 0) // TILE_BYTES).astype(np.int32)
    large = np.flatnonzero(sizes > TILE_BYTES)
    portion[large] = int(portion.max(initial=0)) + 1 + np.arange(len(large), dtype=np.int32)
    portion = portion[labels]  # of each document concerned
    of_document = np.zeros(n, np.int32)
    of_document[concerned] = portion
    members = _grouped(concerned, portion)
    parts = [_grouped(some, of_document[some // n]) for some in rounds]
    for number in distinct(portion).tolist():
        documents = _group(members, number)
        fits = bool(corpus.features[documents].sum() * 8 <= 2 * TILE_BYTES)
        yield ComponentGroup(documents, [_group(part, number) for part in parts], fits)


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
