"""datasketch 2.0: its bulk numpy mode with the default hash and with the fastest documented one."""

from __future__ import annotations

from collections.abc import Callable

from peers.common import Found, Task, as_pairs, byte_ngrams, clusters_from_pairs, earlier, read_texts
from settings import BANDS, NUM_PERM, ROWS, SEED, THRESHOLD


def minhash(task: Task, hash_function: Callable[[bytes], int] | None) -> Found:
    """Pairs and clusters from MinHash.generator in a MinHashLSH, verified by signature."""
    from datasketch import MinHash, MinHashLSH

    options = {"num_perm": NUM_PERM, "seed": SEED} | ({"hashfunc": hash_function} if hash_function else {})
    with task.stage("read"):
        texts = read_texts(task.path)
    with task.stage("shingle+sign"):
        signatures = list(MinHash.generator((byte_ngrams(text) for text in texts), **options))
    lsh = MinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM, params=(BANDS, ROWS))
    with task.stage("index"), lsh.insertion_session() as session:
        for number, signature in enumerate(signatures):
            session.insert(number, signature, check_duplication=False)
    with task.stage("query"):
        matches = earlier(lsh.query(signature) for signature in signatures)
        found = as_pairs((a, b) for a, b in matches if signatures[a].jaccard(signatures[b]) >= THRESHOLD)
    with task.stage("cluster"):
        labels = clusters_from_pairs(len(texts), found)
    settings = f"{NUM_PERM} slots, {BANDS} x {ROWS}, verified by signature"
    return {"pairs": found, "labels": labels, "settings": settings}


def bulk(task: Task) -> Found:
    """The default hash, SHA-1."""
    return minhash(task, None)


def fast(task: Task) -> Found:
    """xxh32 as its hash function."""
    import xxhash

    return minhash(task, xxhash.xxh32_intdigest)
