"""gaoya 0.2: tokenises, signs and indexes in Rust."""

from __future__ import annotations

from peers.common import Found, Task, as_pairs, clusters_from_pairs, earlier, read_texts
from settings import BANDS, NGRAM, NUM_PERM, ROWS, THRESHOLD


def pairs(task: Task) -> Found:
    """Pairs and clusters from a MinHashStringIndex, which verifies by signature."""
    from gaoya.minhash import MinHashStringIndex

    with task.stage("read"):
        texts = read_texts(task.path)
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=BANDS,
        band_size=ROWS,
        num_hashes=NUM_PERM,
        analyzer="word",
        lowercase=True,
        ngram_range=(NGRAM, NGRAM),
        id_container="smallvec",
    )
    with task.stage("shingle+sign+index"):
        index.par_bulk_insert_docs(list(range(len(texts))), texts)
    with task.stage("query"):  # signs every text a second time: the API has no self-join
        found = as_pairs(earlier(index.par_bulk_query(texts)))
    with task.stage("cluster"):
        labels = clusters_from_pairs(len(texts), found)
    settings = f"{NUM_PERM} slots of 32 bits, {BANDS} x {ROWS}, verified by signature"
    return {"pairs": found, "labels": labels, "settings": settings}
