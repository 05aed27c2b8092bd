"""All pairs with exact Jaccard >= 0.5 on sets of five consecutive tokens, by inverted index.

    python benchmarks/truth.py 20k 100k            tokens are text.lower().split()
    python benchmarks/truth.py 20k --tokens words  tokens are neardup's default ones

Kept as work/truth/CORPUS-TOKENS.npz: `pairs` (int64, left < right, row numbers) and `jaccard` (float32).

Candidates come from shingles that 2 to FREQUENT documents have; every candidate is then compared exactly.
A pair that shared nothing but more frequent shingles would be missed: no document may consist of those by
0.6 or more, below which that cannot happen to a pair with Jaccard >= 0.5, and the run stops if one does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import corpora
from settings import NGRAM, THRESHOLD, TRUTHS

FREQUENT = 400
LEAST = 0.5
TOKENS = ("whitespace", "words")
MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD],
    dtype=np.uint64,
)


def whitespace_tokens(path: Path) -> Iterator[np.ndarray]:
    """A random 64-bit code for each word of `text.lower().split()`, document by document."""
    numbers: dict[str, int] = {}
    rng = np.random.default_rng(12345)
    codes = rng.integers(0, 2**64, 1 << 20, dtype=np.uint64)
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=2_000, columns=["text"]):
            for text in batch.column(0).to_pylist():
                words = [numbers.setdefault(word, len(numbers)) for word in (text or "").lower().split()]
                while len(numbers) > len(codes):
                    codes = np.concatenate([codes, rng.integers(0, 2**64, len(codes), dtype=np.uint64)])
                yield codes[np.array(words, dtype=np.int64)]


def default_tokens(path: Path) -> Iterator[np.ndarray]:
    """The 64-bit hashes of neardup's default tokens, document by document."""
    from ours import token_hashes

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=2_000, columns=["text"]):
            yield from token_hashes(batch.column(0))


def shingle_set(tokens: np.ndarray) -> np.ndarray:
    """The sorted distinct hashes of five consecutive tokens; a shorter document has one, an empty none."""
    width = min(NGRAM, len(tokens))
    if not width:
        return np.zeros(0, dtype=np.uint64)
    count = len(tokens) - width + 1
    mixed = tokens[:count] * MULTIPLIERS[0]
    for k in range(1, width):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * MULTIPLIERS[k] + tokens[k : count + k]
    return np.unique(mixed ^ (mixed >> np.uint64(32)))


def rare_and_frequent(sets: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """For each number of documents d in 2..FREQUENT the groups (k, d) of documents that share a shingle,
    and for each document how many of its shingles are more frequent than that."""
    sizes = np.array([len(shingles) for shingles in sets])
    shingles, documents = np.concatenate(sets), np.repeat(np.arange(len(sets), dtype=np.int32), sizes)
    order = np.argsort(shingles, kind="stable")  # keeps the documents of a shingle ascending
    shingles, documents = shingles[order], documents[order]
    starts = np.flatnonzero(np.r_[True, shingles[1:] != shingles[:-1]])
    counts = np.diff(np.r_[starts, len(shingles)])
    frequent = np.zeros(len(sets), dtype=np.int64)
    for start, count in zip(starts[counts > FREQUENT], counts[counts > FREQUENT], strict=True):
        frequent[documents[start : start + count]] += 1
    groups = [documents[starts[counts == d][:, None] + np.arange(d)] for d in range(2, FREQUENT + 1)]
    return groups, frequent


def candidates(sets: list[np.ndarray]) -> np.ndarray:
    """The pairs (n, 2) that share enough rare shingles for Jaccard >= LEAST to be possible."""
    sizes = np.array([len(shingles) for shingles in sets])
    groups, frequent = rare_and_frequent(sets)
    worst = float((frequent / np.maximum(sizes, 1)).max(initial=0.0))
    if worst >= 0.6:
        raise SystemExit(
            f"a document shares {worst:.0%} of its shingles with over {FREQUENT} others: no truth"
        )
    codes = [np.zeros(0, dtype=np.int64)]
    for group in groups:
        left, right = np.triu_indices(group.shape[1], 1)
        codes.append((group[:, left].astype(np.int64) * len(sets) + group[:, right]).ravel())
    codes_found, shared = np.unique(np.concatenate(codes), return_counts=True)
    pairs = np.stack(np.divmod(codes_found, len(sets)), axis=1)
    possible = np.minimum(frequent[pairs[:, 0]], frequent[pairs[:, 1]]) + shared
    return pairs[possible >= LEAST / (1 + LEAST) * sizes[pairs].sum(axis=1)]


def exact_pairs(tokens: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All pairs with Jaccard >= LEAST and their Jaccard, given each document's token hashes (uint64)."""
    sets = [shingle_set(hashes) for hashes in tokens]
    pairs = candidates(sets)
    jaccard = np.empty(len(pairs), dtype=np.float32)
    for k, (left, right) in enumerate(pairs):
        shared = len(np.intersect1d(sets[left], sets[right], assume_unique=True))
        jaccard[k] = shared / (len(sets[left]) + len(sets[right]) - shared)
    return pairs[jaccard >= LEAST], jaccard[jaccard >= LEAST]


def truth_file(corpus: corpora.Corpus, tokens: str) -> Path:
    """The corpus's truth, worked out if it is not there or older than the corpus."""
    path = TRUTHS / f"{corpus.name}-{tokens}.npz"
    if not path.exists() or path.stat().st_mtime < corpus.path.stat().st_mtime:
        reader = whitespace_tokens if tokens == "whitespace" else default_tokens
        pairs, jaccard = exact_pairs(reader(corpus.path))
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, pairs=pairs, jaccard=jaccard)
    return path


def true_pairs(
    corpus: corpora.Corpus, tokens: str = "whitespace", threshold: float = THRESHOLD
) -> np.ndarray:
    """The pairs (n, 2) with exact Jaccard of at least the threshold."""
    with np.load(truth_file(corpus, tokens)) as stored:
        return stored["pairs"][stored["jaccard"] >= np.float32(threshold)]


def main() -> None:
    """Work out the truths that are missing and say how many pairs each has."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--tokens", choices=TOKENS, default="whitespace")
    given = parser.parse_args()
    for name in given.corpus:
        start, corpus = time.perf_counter(), corpora.find(name)
        counts = {level: len(true_pairs(corpus, given.tokens, level)) for level in (0.5, 0.7, 0.8, 0.9)}
        found = ", ".join(f"{count:,} pairs >= {level}" for level, count in counts.items())
        print(f"{corpus.name} ({given.tokens}): {found} ({time.perf_counter() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
