"""What the peers share: reading, shingles, a stage timer and clusters. Runs in every peer's environment."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from settings import NGRAM

Found = dict[str, Any]  # pairs, labels or flags, and the settings in words


@dataclass
class Stages:
    """Wall seconds by stage; a stage timed twice adds up."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time what happens inside."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Task:
    """One run of a peer: the file, how many threads, a folder to write in, the timer."""

    path: Path
    threads: int
    folder: Path
    stage: Stages


def read_texts(path: Path) -> list[str]:
    """The texts as Python strings; the row number is the id."""
    texts: list[str] = pq.read_table(path, columns=["text"]).column("text").to_pylist()
    return texts


def count_rows(path: Path) -> int:
    """How many documents the file has."""
    return int(pq.read_metadata(path).num_rows)


def word_ngrams(text: str) -> list[str]:
    """The word 5-grams of a text, joined by a space; a shorter text gives one shingle of all its words."""
    words = text.lower().split()
    if len(words) < NGRAM:
        return [" ".join(words)]
    return list(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:], strict=False)))


def byte_ngrams(text: str) -> list[bytes]:
    """The same as bytes."""
    words = text.lower().encode().split()
    if len(words) < NGRAM:
        return [b" ".join(words)]
    return list(map(b" ".join, zip(words, words[1:], words[2:], words[3:], words[4:], strict=False)))


def earlier(rows: Iterable[Iterable[int]]) -> Iterator[tuple[int, int]]:
    """The pairs (j, i) with j < i from the matches of each document i."""
    for i, matches in enumerate(rows):
        for j in matches:
            if j < i:
                yield j, i


def as_pairs(found: Iterable[tuple[int, int]]) -> np.ndarray:
    """Distinct pairs (n, 2) with the smaller number first."""
    pairs = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    pairs.sort(axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def clusters_from_pairs(documents: int, pairs: np.ndarray) -> np.ndarray:
    """The components of the pairs: for each document the smallest number in its cluster."""
    parent = list(range(documents))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in pairs.tolist():
        low, high = sorted((root(left), root(right)))
        parent[high] = low
    return np.array([root(node) for node in range(documents)], dtype=np.int64)
