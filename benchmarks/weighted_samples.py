"""64 weighted samples per document: ours beside datasketch's WeightedMinHashGenerator, in one run, by CPU time.

    python benchmarks/weighted_samples.py [--documents 200] [--python work/venvs/datasketch/bin/python]

Documents are sets of phrases with weights, of about the sizes that pages have. datasketch draws its random numbers
for a universe of fixed size beforehand and wants a vector over it: here the universe is the vocabulary of all
documents, and the vectors are made beforehand, too. It gets a second, kinder measurement: each document alone, in a
universe of its own phrases, which no corpus has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SLOTS = 64
REPEATS = 3


def make_documents(count: int, vocabulary: int, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Phrases by number, and their weights, which differ by orders of magnitude."""
    random = np.random.default_rng(1)
    documents = []
    for _ in range(count):
        chosen = np.unique(random.integers(0, vocabulary, max(5, int(random.lognormal(np.log(size), 0.5)))))
        documents.append((chosen, np.exp(random.normal(0, 2, len(chosen))).astype(np.float32)))
    return documents


def best_of(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest repeat."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def measure_datasketch(count: int, vocabulary: int, size: int) -> dict[str, float]:
    """Seconds per document over the whole vocabulary, and over a document's own phrases."""
    from datasketch import WeightedMinHashGenerator

    documents = make_documents(count, vocabulary, size)
    dense = []
    for chosen, weights in documents:
        vector = np.zeros(vocabulary, np.float32)
        vector[chosen] = weights
        dense.append(vector)
    whole = WeightedMinHashGenerator(vocabulary, SLOTS)
    seconds = best_of(lambda: [whole.minhash(vector) for vector in dense])
    own = [WeightedMinHashGenerator(len(weights), SLOTS) for _, weights in documents]
    kind = best_of(lambda: [maker.minhash(w) for maker, (_, w) in zip(own, documents, strict=True)])
    return {"datasketch, vocabulary": seconds / count, "datasketch, own phrases only": kind / count}


def measure_ours(count: int, vocabulary: int, size: int) -> dict[str, float]:
    """Seconds per document of each sampler."""
    from neardup.columns import Features
    from neardup.signatures.consistent import Consistent

    documents = make_documents(count, vocabulary, size)
    names = np.random.default_rng(2).integers(0, 2**64, vocabulary, dtype=np.uint64)
    offsets = np.cumsum([0, *(len(weights) for _, weights in documents)])
    features = Features(
        offsets,
        np.concatenate([names[chosen] for chosen, _ in documents]),
        np.concatenate([weights for _, weights in documents]),
        distinct=True,
    )
    found = {}
    for sampler in ("darts", "ioffe", "clocks"):
        stage = Consistent(SLOTS, 1, sampler)
        stage(features)
        found[f"ours, {sampler}"] = best_of(lambda stage=stage: stage(features)) / count
    return found


def main() -> None:
    """Print one table for each size of document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--vocabulary", type=int, default=20_000)
    parser.add_argument("--python", type=Path, default=HERE / "work/venvs/datasketch/bin/python")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure_datasketch(given.documents, given.vocabulary, given.measure)))
        return
    if not given.python.exists():
        parser.error(f"{given.python} is not there: see benchmarks/environments.py, or give --python")
    print("| phrases | sampler | µs a document | times datasketch, vocabulary | … own phrases only |")
    print("|---|---|---|---|---|")
    for size in (50, 400, 2000):
        shared = [
            "--documents",
            str(given.documents),
            "--vocabulary",
            str(given.vocabulary),
            "--measure",
            str(size),
        ]
        theirs = json.loads(subprocess.check_output([given.python, __file__, *shared]))
        ours = measure_ours(given.documents, given.vocabulary, size)
        for name, seconds in {**theirs, **ours}.items():
            times = " | ".join(f"{peer / seconds:.1f}" for peer in theirs.values())
            print(f"| {size} | {name} | {seconds * 1e6:,.0f} | {times} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
