"""Pairs to look at, with their texts from the work folder."""

from __future__ import annotations

import numpy as np

from neardup.engines.core.pair_examples import EXAMPLES, PairExample, example_edges, ordered_ends, shown_text
from neardup.engines.local.run import LocalRun


def example_pairs(run: LocalRun, most: int = EXAMPLES) -> tuple[list[PairExample], list[PairExample]]:
    """The closest pairs of distinct texts, and of the others those nearest to the threshold; ties by id.

    Both lists have up to `most` pairs, the closest first. They are empty where nothing is measured.
    """
    closest, lowest = example_edges(run.decisions.pairs, run.corpus.ids, most)
    return [_example(run, edge) for edge in closest], [_example(run, edge) for edge in lowest]


def _example(run: LocalRun, edge: int) -> PairExample:
    pairs, ids = run.decisions.pairs, run.corpus.ids
    left, right = ordered_ends(pairs, ids, edge)
    texts = (_text(run, left), _text(run, right))
    return PairExample(ids[left].as_py(), ids[right].as_py(), float(pairs.similarity[edge]), *texts)


def _text(run: LocalRun, number: int) -> str:
    return shown_text(run.corpus.spool.read(np.array([number])).document(0).decode())
