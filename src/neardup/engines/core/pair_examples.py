"""Pairs to look at: the closest ones, and those nearest to the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers, Pairs
from neardup.text.fields import SEPARATOR

EXAMPLES = 5  # pairs of each list


@dataclass(frozen=True)
class PairExample:
    """Two documents with different texts, the smaller id left."""

    left: Any
    right: Any
    similarity: float
    left_text: str
    right_text: str


def example_edges(pairs: Pairs, ids: pa.Array | pa.ChunkedArray, most: int) -> tuple[list[int], list[int]]:
    """The numbers of the closest pairs, and of the others those nearest to the threshold; ties by id.

    Both lists have up to `most` pairs, the closest first. They are empty where nothing is measured.
    """
    similarity = pairs.similarity
    if np.isnan(similarity).any():
        return [], []
    top = _first(pairs, ids, np.arange(len(similarity)), -similarity, most)
    rest = np.setdiff1d(np.arange(len(similarity)), top)
    low = _first(pairs, ids, rest, similarity[rest], most)
    return top, low[::-1]


def _first(pairs: Pairs, ids: Any, edges: Numbers, key: Any, most: int) -> list[int]:
    """The edges with the smallest keys; of equal ones those with the smallest ids."""
    if len(edges) > most:
        chosen = key <= np.partition(key, most - 1)[most - 1]
        edges, key = edges[chosen], key[chosen]
    rows = [
        (value, *(ids[number].as_py() for number in ordered_ends(pairs, ids, edge)), edge)
        for value, edge in zip(key.tolist(), edges.tolist(), strict=True)
    ]
    return [row[-1] for row in sorted(rows)[:most]]


def ordered_ends(pairs: Pairs, ids: Any, edge: int) -> list[int]:
    """The two documents of a pair, the smaller id first."""
    return sorted((int(pairs.left[edge]), int(pairs.right[edge])), key=lambda number: ids[number].as_py())


def shown_text(text: str) -> str:
    """The compared text, without the fields that follow it."""
    return text.split(SEPARATOR, 1)[0]
