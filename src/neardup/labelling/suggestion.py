"""The pairs whose labels help most: uncertain under the model, spread over similarity, of different documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from neardup.labelling.store import LabelStore, NewPair

__all__ = ["SUGGESTED", "PoolScore", "add_to_pool", "pool_size", "score_pool", "suggest"]

SUGGESTED = "suggested"
BINS = 10


def add_to_pool(store: LabelStore, pairs: Iterable[NewPair]) -> None:
    """Adds measured pairs to those that suggestions are chosen from."""
    with store.writing() as db:
        db.executemany(
            "INSERT OR IGNORE INTO pool (a, b, similarity, source) VALUES (?, ?, ?, ?)",
            [
                (min(one.a, one.b), max(one.a, one.b), one.similarity, one.source)
                for one in pairs
                if one.similarity is not None
            ],
        )


def pool_size(store: LabelStore) -> int:
    """How many pairs of the pool have no label yet."""
    return int(store.rows(f"SELECT count(*) FROM pool p WHERE {UNKNOWN}")[0][0])


UNKNOWN = "NOT EXISTS (SELECT 1 FROM items i WHERE i.kind = 'pair' AND i.a = p.a AND i.b = p.b)"


@dataclass(frozen=True)
class PoolScore:
    """A pair of the pool: its similarity in the run, its score under a model, and the probability that it means."""

    a: str
    b: str
    similarity: float
    score: float
    probability: float


def score_pool(store: LabelStore, scores: Iterable[PoolScore]) -> None:
    """Stores what a run and a model say of pairs of the pool."""
    with store.writing() as db:
        db.executemany(
            "UPDATE pool SET similarity = ?, score = ?, probability = ? WHERE a = ? AND b = ?",
            [(one.similarity, one.score, one.probability, one.a, one.b) for one in scores],
        )


def suggest(store: LabelStore, count: int, threshold: float) -> list[NewPair]:
    """The next pairs to label: of each range of similarity in turn the most uncertain one, no document twice.

    Uncertain is a probability near one half; without a model, a similarity near the threshold.
    """
    rows = store.rows(f"SELECT a, b, similarity, probability FROM pool p WHERE {UNKNOWN} ORDER BY a, b")
    if not rows:
        return []
    similarity = np.array([row[2] for row in rows], np.float64)
    known = np.array([np.nan if row[3] is None else row[3] for row in rows], np.float64)
    doubt = np.where(np.isnan(known), 1 - np.abs(similarity - threshold), 1 - np.abs(2 * known - 1))
    labelled = {id for row in store.rows("SELECT a, b FROM items WHERE kind = 'pair'") for id in row}
    fresh = np.array([row[0] not in labelled and row[1] not in labelled for row in rows])
    bins = np.minimum((similarity * BINS).astype(np.int64), BINS - 1)
    order = np.lexsort((~fresh, -doubt.round(3), bins))
    sizes = np.bincount(bins, minlength=BINS)
    turn = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # its place in its bin
    # Half of the pairs are the most uncertain of all, half of them of each range in turn.
    by_doubt = np.lexsort((~fresh, -doubt.round(3)))
    in_turn = order[np.lexsort((-doubt[order], turn))]
    chosen: list[int] = []
    used: set[str] = set()
    for several, most in ((by_doubt, count // 2), (in_turn, count), (by_doubt, count)):
        for k in several.tolist():
            if len(chosen) >= most:
                break
            a, b = rows[k][:2]
            if k not in chosen and not used & {a, b}:
                chosen.append(k)
                used |= {a, b}
    return [NewPair(rows[k][0], rows[k][1], float(similarity[k]), SUGGESTED) for k in chosen]
