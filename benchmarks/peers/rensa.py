"""rensa 0.5, and the cost of reading and shingling in Python that it and most peers begin with."""

from __future__ import annotations

import numpy as np

from peers.common import Found, Task, as_pairs, clusters_from_pairs, earlier, read_texts, word_ngrams
from settings import BANDS, NUM_PERM, ROWS, SEED, THRESHOLD

BATCH = 2_000


def shingles(task: Task) -> Found:
    """Nothing found: only parquet to strings to word 5-grams, the floor of every peer that takes tokens."""
    with task.stage("read"):
        texts = read_texts(task.path)
    with task.stage("shingle"):
        total = sum(len(word_ngrams(text)) for text in texts)
    return {"settings": f"{total:,} shingles"}


def pairs(task: Task) -> Found:
    """Pairs and clusters from RMinHash signatures in an RMinHashLSH, verified by signature."""
    from rensa import RMinHash, RMinHashLSH

    with task.stage("read"):
        texts = read_texts(task.path)
    signatures = []
    with task.stage("shingle+sign"):
        for start in range(0, len(texts), BATCH):
            batch = [word_ngrams(text) for text in texts[start : start + BATCH]]
            signatures += RMinHash.from_token_sets(batch, num_perm=NUM_PERM, seed=SEED)
    lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM, num_bands=BANDS)
    with task.stage("index"):
        lsh.insert_many(signatures)
    with task.stage("query"):
        matches = earlier(lsh.query_all(signatures))
        found = as_pairs((a, b) for a, b in matches if signatures[a].jaccard(signatures[b]) >= THRESHOLD)
    with task.stage("cluster"):
        labels = clusters_from_pairs(len(texts), found)
    return {
        "pairs": found,
        "labels": labels,
        "settings": f"{NUM_PERM} slots, {BANDS} x {ROWS}, verified by signature",
    }


def matrix(task: Task) -> Found:
    """Flags of documents that have a near-duplicate, from one digest matrix."""
    from rensa import RMinHash, RMinHashLSH

    with task.stage("read"):
        texts = read_texts(task.path)
    with task.stage("shingle+sign"):
        tokens = (word_ngrams(text) for text in texts)
        digests = RMinHash.digest_matrix_from_token_sets(tokens, num_perm=NUM_PERM, seed=SEED)
    lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM, num_bands=BANDS)
    with task.stage("index+query"):
        flags = np.array(lsh.query_duplicate_flags_matrix_one_shot(digests), dtype=bool)
    return {"flags": flags, "settings": f"{NUM_PERM} slots, {BANDS} x {ROWS}, flags only, not verified"}
