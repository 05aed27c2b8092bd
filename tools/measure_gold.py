"""Prints precision, recall and F1 of every method on the SpotSigs Gold Set: the figures of docs/methods.

    python tools/measure_gold.py [DATA]

DATA is a folder with spotsigs_gold/documents.jsonl.gz (id, html) and spotsigs_gold/clusters.csv (id, cluster); without
it, the environment variable NEARDUP_DATA or ../shared/data. Pages are compared as what a reader sees of them, pairs of
one cluster count as right, and all pairs of the collection are asked for.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import neardup
from neardup.text.html import visible_text

# (method, options, the threshold at which everything is asked for, where one is swept)
RUNS: list[tuple[str, dict[str, Any], float | None]] = [
    ("minhash", {}, 0.04),
    ("minhash", {"ngram": 3}, 0.04),
    ("minhash", {"ngram": 1}, 0.1),
    ("minhash", {"ngram": 3, "one_in": 4}, 0.04),
    ("minhash", {"ngram": 3, "one_in": 16}, 0.04),
    ("super_shingles", {}, None),
    ("super_shingles", {"agree": 1}, None),
    ("super_shingles", {"agree": 1, "ngram": 1}, None),
    ("super_shingles", {"agree": 1, "verify": "exact"}, None),
    ("hybrid", {}, 0.01),
    ("hybrid", {"agree": 1}, 0.01),
    ("hybrid", {"agree": 1, "groups": 21}, 0.01),
    ("imatch", {}, None),
    ("imatch", {"lexicons": 11}, None),
    ("imatch", {"lexicons": 51, "drop": 0.8}, None),
    ("imatch_spots", {}, None),
    ("imatch_spots", {"lexicons": 11}, None),
    ("imatch_spots", {"lexicons": 51, "drop": 0.8}, None),
    ("spotsigs", {}, 0.05),
    ("spotsigs", {"idf_low": 0.2, "idf_high": 0.85}, 0.05),
    ("spotsigs_lsh", {}, 0.05),
    ("spotsigs_lsh", {"bands": 64, "rows": 2}, 0.05),
    ("spotsigs_lsh", {"idf_low": 0.2, "idf_high": 0.85}, 0.05),
]


def load(folder: Path) -> tuple[pa.Table, dict[str, str]]:
    """Ids with visible texts, and the cluster of each id."""
    with (folder / "clusters.csv").open(newline="") as file:
        clusters = {row["id"]: row["cluster"] for row in csv.DictReader(file)}
    with gzip.open(folder / "documents.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    texts = [visible_text(row["html"]) for row in rows]
    return pa.table({"id": [row["id"] for row in rows], "text": texts}), clusters


def judge(pairs: pa.Table, clusters: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """The similarity of each pair, and whether it is right."""
    left, right = pairs["left"].to_pylist(), pairs["right"].to_pylist()
    good = np.array([clusters[a] == clusters[b] for a, b in zip(left, right, strict=True)], bool)
    return pairs["similarity"].to_numpy(), good


def scores(right: int, found: int, wanted: int) -> tuple[float, float, float]:
    """Precision, recall, F1."""
    precision, recall = right / max(found, 1), right / wanted
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def best(similarity: np.ndarray, good: np.ndarray, wanted: int) -> tuple[float, tuple[float, float, float]]:
    """The threshold of the best F1 with its scores."""
    order = np.argsort(-similarity, kind="stable")
    values, right = similarity[order], np.cumsum(good[order])
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    every = [(scores(int(right[k]), int(k) + 1, wanted), float(values[k])) for k in last]
    found, threshold = max(every, key=lambda item: item[0][2])
    return threshold, found


def main() -> None:
    """A line for each run."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("NEARDUP_DATA", "../shared/data")
    table, clusters = load(Path(given) / "spotsigs_gold")
    wanted = sum(count * (count - 1) // 2 for count in Counter(clusters.values()).values())
    print(f"{len(table):,} pages, {wanted:,} pairs to find")
    for method, options, low in RUNS:
        start = time.process_time()
        found = neardup.dedup(table, method=method, pairs="all", **options)
        seconds = time.process_time() - start
        _, good = judge(found.pairs, clusters)
        line = "P {:.3f} R {:.3f} F1 {:.3f}".format(*scores(int(good.sum()), len(good), wanted))
        named = " ".join([method, *(f"{key}={value}" for key, value in options.items())])
        line = f"{named:50} at {found.plan.threshold:.3f}: {line} {seconds:5.1f} s"
        if low is not None:
            all_pairs = neardup.pairs(table, method=method, threshold=low, **options)
            threshold, figures = best(*judge(all_pairs, clusters), wanted)
            line += "   best at {:.3f}: P {:.3f} R {:.3f} F1 {:.3f}".format(threshold, *figures)
        rest = found.report["without_features"]
        print(line + (f"   {rest} pages without features" if rest else ""), flush=True)


if __name__ == "__main__":
    main()
