"""FastSketchLSH 1.0: Fast Similarity Sketching in C++."""

from __future__ import annotations

import numpy as np

from peers.common import Found, Task, as_pairs, clusters_from_pairs, read_texts, word_ngrams
from settings import BANDS, NUM_PERM, ROWS, SEED, THRESHOLD

BATCH = 2_000


def sign(task: Task, texts: list[str]) -> np.ndarray:
    """The sketches of all texts."""
    from FastSketchLSH import FastSimilaritySketch

    sketcher = FastSimilaritySketch(size=NUM_PERM, seed=SEED)
    parts = []
    for start in range(0, len(texts), BATCH):
        batch = [word_ngrams(text) for text in texts[start : start + BATCH]]
        parts.append(np.asarray(sketcher.batch(batch, num_threads=task.threads)))
    return np.concatenate(parts).astype(np.uint64)


def pairs(task: Task) -> Found:
    """Pairs and clusters from its LSH, verified by the share of equal slots."""
    from FastSketchLSH import LSH

    with task.stage("read"):
        texts = read_texts(task.path)
    with task.stage("shingle+sign"):
        sketches = sign(task, texts)
    lsh = LSH(num_perm=NUM_PERM, num_bands=BANDS, num_threads=task.threads)
    with task.stage("index"):
        lsh.insert(sketches)
    with task.stage("query"):
        matches, offsets = lsh.query(sketches, format="csr")
        right = np.repeat(np.arange(len(texts)), np.diff(np.asarray(offsets).astype(np.int64)))
        left = np.asarray(matches).astype(np.int64)
        left, right = left[left < right], right[left < right]
        alike = (sketches[left] == sketches[right]).mean(axis=1) >= THRESHOLD
        found = as_pairs(zip(left[alike].tolist(), right[alike].tolist(), strict=True))
    with task.stage("cluster"):
        labels = clusters_from_pairs(len(texts), found)
    settings = f"{NUM_PERM} slots, {BANDS} x {ROWS}, verified by signature"
    return {"pairs": found, "labels": labels, "settings": settings}
