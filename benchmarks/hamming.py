"""What all pairs within a Hamming distance cost: against the number of fingerprints, the distance and the bits.

    python benchmarks/hamming.py [--most 10000000] [--plot hamming.png]

Random fingerprints, one in a hundred of them a planted neighbour; CPU time of one thread; all planted pairs must be
found, or it stops.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from neardup.candidates.hamming import near_pairs
from neardup.candidates.hamming_cost import choose_layout

BEST_PUBLISHED = 1600  # ns a fingerprint, for a million of 64 bits within distance 3


def planted(n: int, words: int, distance: int, seed: int = 1) -> tuple[np.ndarray, set[tuple[int, int]]]:
    """Fingerprints, and the pairs that were planted among them."""
    random = np.random.default_rng(seed)
    columns = random.integers(0, 2**64, (words, n), dtype=np.uint64)
    chosen = random.permutation(n)[: 2 * (n // 100)].reshape(2, -1)
    columns[:, chosen[1]] = columns[:, chosen[0]]
    for _ in range(distance):
        where = random.integers(0, words, chosen.shape[1])
        columns[where, chosen[1]] ^= np.uint64(1) << random.integers(0, 64, chosen.shape[1]).astype(np.uint64)
    return columns, {(min(a, b), max(a, b)) for a, b in chosen.T.tolist()}


def measure(n: int, words: int, distance: int) -> tuple[float, int, str]:
    """Nanoseconds a fingerprint, pairs found, and the way taken."""
    columns, expected = planted(n, words, distance)
    layout = choose_layout(columns, distance)
    began = time.process_time()
    left, right, _ = near_pairs(columns, distance)
    spent = time.process_time() - began
    found = set(zip(left.tolist(), right.tolist(), strict=True))
    if not expected <= found:
        raise SystemExit(f"{len(expected - found)} planted pairs were missed")
    way = "shards" if layout is None else f"{len(layout.keys)} tables of {len(layout.keys[0])} bits"
    return spent / n * 1e9, len(found), way


def main() -> None:
    """Print the three tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--most", type=float, default=1e7)
    options.add_argument("--plot", help="draw cost against distance and bits into this file")
    chosen = options.parse_args()
    measure(20_000, 1, 3)  # compile
    measure(20_000, 2, 3)
    print("fingerprints | ns each | times the best published | pairs | way | peak memory of the process")
    for n in (10**5, 10**6, 10**7):
        if n <= chosen.most:
            cost, pairs, way = measure(n, 1, 3)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{n:,} | {cost:.0f} | {BEST_PUBLISHED / cost:.1f} | {pairs:,} | {way} | {peak:,} MB")
    print("\nbits | distance | ns each | way   (200,000 fingerprints)")
    series: dict[int, list[tuple[int, float]]] = {}
    for bits, distances in {
        64: (0, 1, 2, 3, 4, 6),
        128: (3, 6, 10),
        384: (6, 12, 28),
        1024: (10, 30),
    }.items():
        for distance in distances:
            cost, _, way = measure(200_000, bits // 64, distance)
            series.setdefault(bits, []).append((distance, cost))
            print(f"{bits} | {distance} | {cost:.0f} | {way}")
    if chosen.plot:
        draw(series, chosen.plot)


def draw(series: dict[int, list[tuple[int, float]]], path: str) -> None:
    """Cost against distance, a line for each number of bits."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for bits, points in series.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=f"{bits} bits")
    axes.set(xlabel="distance", ylabel="ns a fingerprint", yscale="log")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
