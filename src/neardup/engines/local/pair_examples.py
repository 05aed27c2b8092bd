"""Pairs to look at: the closest ones, and those nearest to the threshold, with their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.engines.local.run import LocalRun
from neardup.text.fields import SEPARATOR


@dataclass(frozen=True)
class PairExample:
    """Two documents with different texts, the smaller id left."""

    left: Any
    right: Any
    similarity: float
    left_text: str
    right_text: str


def example_pairs(run: LocalRun, most: int) -> tuple[list[PairExample], list[PairExample]]:
    """The closest pairs of distinct texts, and of the others those nearest to the threshold; ties by id.

    Both lists have up to `most` pairs, the closest first. They are empty where nothing is measured.
    """
    similarity = run.decisions.pairs.similarity
    if np.isnan(similarity).any():
        return [], []
    top = _first(run, np.arange(len(similarity)), -similarity, most)
    rest = np.setdiff1d(np.arange(len(similarity)), top)
    low = _first(run, rest, similarity[rest], most)
    return [_example(run, edge) for edge in top], [_example(run, edge) for edge in reversed(low)]


def _first(run: LocalRun, edges: Numbers, key: Any, most: int) -> list[int]:
    """The edges with the smallest keys; of equal ones those with the smallest ids."""
    if len(edges) > most:
        chosen = key <= np.partition(key, most - 1)[most - 1]
        edges, key = edges[chosen], key[chosen]
    rows = [(value, *_ids(run, edge), edge) for value, edge in zip(key.tolist(), edges.tolist(), strict=True)]
    return [row[-1] for row in sorted(rows)[:most]]


def _ids(run: LocalRun, edge: int) -> tuple[Any, Any]:
    pairs, ids = run.decisions.pairs, run.corpus.ids
    first, second = sorted(ids[int(side[edge])].as_py() for side in (pairs.left, pairs.right))
    return first, second


def _example(run: LocalRun, edge: int) -> PairExample:
    pairs, ids = run.decisions.pairs, run.corpus.ids
    numbers = (int(pairs.left[edge]), int(pairs.right[edge]))
    left, right = sorted(numbers, key=lambda number: ids[number].as_py())
    texts = (_text(run, left), _text(run, right))
    return PairExample(ids[left].as_py(), ids[right].as_py(), float(pairs.similarity[edge]), *texts)


def _text(run: LocalRun, number: int) -> str:
    """The compared text, without the fields that follow it."""
    text = run.corpus.spool.read(np.array([number])).document(0).decode()
    return text.split(SEPARATOR, 1)[0]
