"""The exact matcher beside LSH-S and without its parts: table 2 and figure 7 of the SpotSigs paper, in one run.

    python benchmarks/matcher.py                       100,000 documents, about five minutes
    python benchmarks/matcher.py --documents 1000000   with the slow rows left out (--all has them)

Spot signatures of generated documents with at least five of them (as in section 5.4 of the paper), CPU seconds of one
thread, best of some runs. LSH-S: 32 bands of 6 min-hashes of the multi-set, every candidate compared exactly.
Recall is the share of the pairs that the exact matcher finds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from generate import Recipe, texts
from neardup.candidates import partitions, prefix
from neardup.candidates.buckets import all_pairs, find_buckets
from neardup.candidates.exact import FeatureSets, collect
from neardup.candidates.groups import Groups
from neardup.columns import Features, Texts
from neardup.features.spots import Spots
from neardup.signatures.minhash import MinHash
from neardup.text.words import Words
from neardup.verify.multiset import MultisetJaccard
from neardup.weights.counts import Counts

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LEAST = 5
BRUTE = 5_000  # documents that are compared with each other by force


def spot_signatures(documents: int, seed: int) -> Features:
    """Counted signatures of documents that have at least five, each distinct set once."""
    parts = []
    words, spots, counts = Words(), Spots(), Counts()
    for some in texts(Recipe(documents=documents, seed=seed)):
        tokens = words(Texts.from_strings(some), details=False)
        features = counts(spots(tokens))
        parts.append(features.take(np.flatnonzero(features.sizes >= LEAST)))
    every = Features.concatenate(parts)
    return every.take(np.sort(collect(every).documents))  # copies are collapsed before, for both


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """CPU seconds, the best of some runs, and the last answer."""
    best, answer = float("inf"), None
    for _ in range(repeats):
        start = time.process_time()
        answer = work()
        best = min(best, time.process_time() - start)
    return best, answer


def hash_bands(features: Features) -> tuple[np.ndarray, np.ndarray]:
    """The candidates of LSH-S, each once."""
    keys = Groups(32, 6).keys(MinHash(192, multiset=True)(features))
    n, codes = len(features), []
    for table in keys:
        for left, right in all_pairs(find_buckets(table, np.arange(n)), 1 << 22):
            codes.append(np.minimum(left, right) * n + np.maximum(left, right))
    found = np.unique(np.concatenate(codes)) if codes else np.zeros(0, np.int64)
    return found // n, found % n


def lsh(features: Features, threshold: float) -> np.ndarray:
    """Codes of the pairs that LSH-S finds and verifies."""
    left, right = hash_bands(features)
    check = MultisetJaccard()
    pairs = check.measure(features, left, right)
    passed = check.passes(pairs, threshold)
    return left[passed] * len(features) + right[passed]


def codes(collection: FeatureSets, found: Any) -> np.ndarray:
    """The same codes for what a matcher found."""
    a, b = collection.documents[found.left], collection.documents[found.right]
    return np.minimum(a, b) * len(collection.representatives) + np.maximum(a, b)


def by_force(features: Features, threshold: float) -> int:
    """How many pairs of the first documents are similar, all of them compared."""
    n = min(len(features), BRUTE)
    left, right = np.triu_indices(n, 1)
    check = MultisetJaccard()
    return sum(
        int(check.passes(check.measure(features, left[k : k + 2**20], right[k : k + 2**20]), threshold).sum())
        for k in range(0, len(left), 2**20)
    )


def row(features: Features, threshold: float, repeats: int, slow: bool) -> list[str]:
    """One threshold: every matcher's time, and the recall of LSH-S."""
    limit = Fraction(repr(threshold))
    ours, found = timed(lambda: (c := collect(features), prefix.match(c, limit)), repeats)
    exact = codes(*found)
    hashed, seen = timed(lambda: lsh(features, threshold), repeats)
    recall = np.isin(exact, seen).mean() if len(exact) else 1.0
    cells = [
        f"{threshold:g}",
        f"{len(exact):,}",
        f"{ours:.3f}",
        f"{hashed:.3f}",
        f"{hashed / ours:.1f}",
        f"{recall:.3f}",
    ]
    if slow:
        for options in ({}, {"partitions": False}, {"pruning": False, "partitions": False}):
            if options.get("pruning", True) or threshold in (0.3, 0.9):
                seconds, _ = timed(lambda o=options: partitions.match(collect(features), limit, **o), 1)
                cells.append(f"{seconds:.2f}")
            else:
                cells.append("–")
        cells.append(
            f"{timed(lambda: by_force(features, threshold), 1)[0]:.1f}" if threshold in (0.3, 0.9) else "–"
        )
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="the slow rows too, however many documents")
    given = parser.parse_args()
    features = spot_signatures(given.documents, given.seed)
    print(f"{len(features):,} documents with at least {LEAST} signatures, {len(features.hashes):,} in all\n")
    slow = given.all or given.documents <= 100_000
    head = ["τ", "pairs", "ours", "LSH-S 32 × 6", "times", "its recall"]
    head += ["partitions", "one partition", "no pruning either", f"by force, {BRUTE:,}"] if slow else []
    row(features.take(np.arange(min(500, len(features)))), 0.5, 1, slow)  # compiles
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for threshold in THRESHOLDS:
        print("| " + " | ".join(row(features, threshold, given.repeats, slow)) + " |", flush=True)


if __name__ == "__main__":
    main()
