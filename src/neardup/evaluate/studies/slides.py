"""The tables of the slides on min-hashing and LSH, by formula and by simulated documents."""

from __future__ import annotations

import numpy as np

from neardup.candidates.curve import s_curve
from neardup.candidates.groups import Groups
from neardup.columns import Features
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.signatures.minhash import MinHash

PRINTED = {0.2: 0.006, 0.3: 0.047, 0.4: 0.186, 0.5: 0.470, 0.6: 0.802, 0.7: 0.975, 0.8: 0.9996}
PAIRS, SIZE = 20_000, 100


@study("Slides, 'Example: b = 20, r = 5' and its neighbours")
def slides_bands(data: DataFolder) -> list[StudyTable]:
    """The probability that a pair becomes a candidate: printed, by formula, and among simulated documents."""
    rows: list[list[Cell]] = []
    for similarity, printed in PRINTED.items():
        row: list[Cell] = [similarity, printed]
        for bands in (20, 15, 10):
            row += [s_curve(similarity, bands, 5), simulated(similarity, bands, 5)]
        rows.append(row)
    columns = ["similarity", "slides 20 × 5"]
    columns += [f"{kind} {bands} × 5" for bands in (20, 15, 10) for kind in ("formula", "simulated")]
    notes = [
        f"simulated: {PAIRS:,} pairs of sets with {SIZE} features in their union, signed by our min-hash",
        "the slides' 0.00035 (missed at 0.8) is 0.000356, their 0.0474 (candidates at 0.3) is 0.047494",
    ]
    return [StudyTable("Slides: bands of five min-hashes", columns, rows, notes)]


def simulated(similarity: float, bands: int, rows: int) -> float:
    """The share of pairs of this similarity with an equal key in some table."""
    shared = round(similarity * SIZE)
    middle = (SIZE + shared) // 2
    union = np.random.default_rng(7).integers(0, 2**64, (PAIRS, SIZE), dtype=np.uint64)
    sides = union[:, :middle], np.concatenate([union[:, :shared], union[:, middle:]], axis=1)
    keys = []
    for side in sides:
        features = Features(np.arange(PAIRS + 1) * side.shape[1], side.ravel())
        keys.append(Groups(bands, rows).keys(MinHash(bands * rows)(features)))
    return float((keys[0] == keys[1]).any(axis=0).mean())
