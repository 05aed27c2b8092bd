"""Whole clusters labelled at once (Theobald, Siddharth and Paepcke, SIGIR 2008, section 1).

A person sees all documents of a cluster and says which belong together, which stand apart and which are irrelevant.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import combinations

from neardup.errors import InputError
from neardup.labelling.store import LabelStore

__all__ = ["TAGS", "tag_cluster", "tagged_clusters", "tagged_pairs", "undo_tags"]

TAGS = ("same", "apart", "irrelevant")
MOST = 40  # documents of a cluster of which all pairs are used
BESIDE = 3  # documents that belong together, with which one that stands apart is paired


def tag_cluster(
    store: LabelStore, cluster: str, tags: Mapping[str, str], judge: str, seconds: float | None = None
) -> int:
    """Adds the tag of each document of a cluster; the number of documents.

    Later tags of a cluster replace earlier ones.
    """
    wrong = next((tag for tag in tags.values() if tag not in TAGS), None)
    if wrong is not None:
        raise InputError(f"a tag must be one of {', '.join(TAGS)}, not {wrong!r}")
    now = time.time()
    with store.writing() as db:
        (batch,) = db.execute("SELECT ifnull(max(batch), 0) + 1 FROM tags").fetchone()
        db.executemany(
            "INSERT INTO tags (cluster, id, tag, judge, at, seconds, batch) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(cluster, id, tag, judge, now, seconds, batch) for id, tag in tags.items()],
        )
    return len(tags)


def undo_tags(store: LabelStore, judge: str) -> str | None:
    """Withdraws the last cluster that a judge tagged; its name, or None."""
    with store.writing() as db:
        last = db.execute(
            "SELECT batch, cluster FROM tags WHERE judge = ? AND undoes IS NULL AND batch NOT IN "
            "(SELECT undoes FROM tags WHERE undoes IS NOT NULL) ORDER BY batch DESC LIMIT 1",
            (judge,),
        ).fetchone()
        if last is None:
            return None
        (batch,) = db.execute("SELECT max(batch) + 1 FROM tags").fetchone()
        db.execute(
            "INSERT INTO tags (cluster, id, tag, judge, at, batch, undoes) VALUES (?, '', '', ?, ?, ?, ?)",
            (last[1], judge, time.time(), batch, last[0]),
        )
    return str(last[1])


def tagged_clusters(store: LabelStore) -> dict[str, dict[str, str]]:
    """For each tagged cluster the last tag of each of its documents; judges who are left out do not count."""
    out = store.left_out
    rows = store.rows(
        "SELECT cluster, id, tag, judge, batch FROM tags WHERE undoes IS NULL AND batch NOT IN "
        "(SELECT undoes FROM tags WHERE undoes IS NOT NULL) ORDER BY seq"
    )
    found: dict[str, dict[str, str]] = {}
    last: dict[str, int] = {}
    for cluster, id, tag, judge, batch in rows:
        if judge in out:
            continue
        if last.get(cluster) != batch:
            found[cluster], last[cluster] = {}, batch
        found[cluster][id] = tag
    return found


def tagged_pairs(store: LabelStore) -> dict[tuple[str, str], bool]:
    """Pairs of documents of tagged clusters, and whether they belong together.

    All pairs of documents that belong together (of a large cluster, each with the first), and a few of them with each
    that stands apart.
    """
    found: dict[tuple[str, str], bool] = {}
    for tags in tagged_clusters(store).values():
        same = sorted(id for id, tag in tags.items() if tag == "same")
        apart = sorted(id for id, tag in tags.items() if tag == "apart")
        together = combinations(same, 2) if len(same) <= MOST else ((same[0], one) for one in same[1:])
        found |= {_ordered(*pair): True for pair in together}
        found |= {_ordered(one, other): False for one in apart for other in same[:BESIDE]}
    return found


def _ordered(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)
