"""The lists of the workbench: pairs below a threshold, and pairs that only one of two results has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from neardup.studio.workbench_index import ComparedRuns
from neardup.studio.workbench_pairs import PairList

__all__ = ["below_threshold", "compared_list", "count_below"]

ROUNDING = 1e-9  # a pair at the threshold reaches it
# Another document with which a removed one has a recorded pair that reaches the threshold.
NEAR = (
    "(SELECT l.b FROM links l WHERE l.a = d.id AND l.similarity >= ?1 UNION ALL "
    "SELECT l.a FROM links l WHERE l.b = d.id AND l.similarity >= ?1 LIMIT 1)"
)
BELOW = "FROM documents d WHERE NOT d.keep AND d.similarity < ?1"
HEADINGS = {
    "merged": (
        "Newly merged",
        "In one cluster of the other result, and in two of this one: least similar first.",
    ),
    "split": ("Newly split", "In one cluster of this result, and in two of the other: most similar first."),
    "swapped": ("Swapped", "Both results have the pair; this one keeps the document that the other removes."),
}


def count_below(index: Path, threshold: float) -> tuple[int, int]:
    """How many removals lose their evidence at a threshold, and how many of these reach it with another document."""
    with closing(sqlite3.connect(f"{index.resolve().as_uri()}?mode=ro", uri=True)) as database:
        words = f"SELECT count(*), count({NEAR}) {BELOW}"
        below, near = database.execute(words, (threshold - ROUNDING,)).fetchone()
    return int(below), int(near)


def below_threshold(index: Path, threshold: float) -> PairList:
    """The pairs of removals that come apart at a threshold, nearest to it first."""
    about = f"coalesce('It still reaches the threshold with ' || {NEAR} || '.', '')"
    return PairList(
        "below",
        "Pairs that come apart",
        f"Below {threshold:g}, the most similar ones first.",
        index,
        f"SELECT d.id, d.duplicate_of, d.similarity, {about} {BELOW} ORDER BY d.similarity DESC, d.id",
        (threshold - ROUNDING,),
        count_below(index, threshold)[0],
        {"threshold": f"{threshold:g}"},
    )


def compared_list(compared: ComparedRuns, side: str, other: str) -> PairList:
    """The pairs of one side of a comparison."""
    heading, words = HEADINGS[side]
    query = "SELECT id, duplicate_of, similarity FROM pairs WHERE side = ? ORDER BY number"
    return PairList(
        side, heading, words, compared.path, query, (side,), compared.counts[side], {"with": other}
    )
