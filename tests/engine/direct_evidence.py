"""A collection with chains and hot buckets, and the property that leaders promise on it."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import neardup
from corpora import corpus
from neardup.plan import Plan
from sentences import story

BUCKET = 4  # documents with one key; above it a bucket is hot
KEEP = ["longest", "shortest", "lowest:number", "newest:day", "priority:source=b,a"]


def drifting(seed: int, count: int = 40) -> list[str]:
    """Versions of one text, of which each changes the one before: a chain, and every bucket of it is hot."""
    source = random.Random(seed)
    words, found = story(source, 12).split(), list[str]()
    for k in range(count):
        words[source.randrange(len(words))] = f"x{seed}y{k}"
        found.append(" ".join(words))
    return found


def chains_and_families(families: int = 12) -> pa.Table:
    """Two chains among families of texts, with the columns that keep policies ask for."""
    some = corpus(7, families)
    texts = [*some["text"].to_pylist(), *drifting(1), *drifting(2)]
    n = len(texts)
    columns = {
        "id": [*some["id"].to_pylist(), *(f"v{k:04}" for k in range(n - len(some)))],
        "text": texts,
        "number": [k * 7919 % 101 for k in range(n)],
        "day": [f"2020-01-{k * 7919 % 28 + 1:02}" for k in range(n)],
        "source": ["abc"[k % 3] for k in range(n)],
    }
    return pa.table(columns)


def hot_plan(method: str, keep: str, **options: Any) -> Plan:
    """A plan of leaders whose buckets are hot from five documents on."""
    return neardup.make_plan(method, keep=keep, clusters="leaders", **options).with_(bucket=BUCKET)


def check_direct_evidence(plan: Plan, rows: list[dict[str, Any]], report: dict[str, Any]) -> None:
    """Every removed document reaches the threshold with a document that is kept, and the report says so."""
    known = {row["id"]: row for row in rows}
    removed = [row for row in rows if not row["keep"]]
    assert removed
    for row in removed:
        assert known[row["duplicate_of"]]["keep"], "a document that stays is named"
        assert row["evidence"] in ("copy", "direct")
        assert row["similarity"] >= plan.threshold - 1e-9
    counts = report["removals"]
    assert counts["by_chain"] == counts["by_cluster"] == 0
    assert counts["copies"] + counts["direct"] == len(removed) == report["removed"]
    assert counts["lowest_similarity"] >= plan.threshold - 1e-4
