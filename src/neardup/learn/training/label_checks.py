"""Checks of labels: enough to learn from, and free of contradictions."""

from __future__ import annotations

import numpy as np

from neardup.clusters.graph import components
from neardup.errors import InputError
from neardup.evaluate.labels import Truth, pack_pairs
from neardup.evaluate.scores import ScoredPairs
from neardup.learn.training.data import LabelledDocuments
from neardup.plurals import counted

LEAST_DOCUMENTS = 10
ENOUGH_DOCUMENTS = 60  # more labels add little (figure 5 of the paper)


def check_labels(truth: Truth) -> None:
    """Refuses labels that are too few, or all alike."""
    truth.require("The labels")
    labelled = int((truth.units >= 0).sum())
    if labelled < LEAST_DOCUMENTS:
        raise InputError(
            f"The labels cover {counted(labelled, 'document')}; learning needs at least {LEAST_DOCUMENTS}, better "
            f"{ENOUGH_DOCUMENTS}. Label more documents, or use --method andd without a model."
        )
    if truth.clusters is not None:
        return
    for label, count in (("a near-duplicate", truth.positives), ("different", truth.total - truth.positives)):
        if count == 0:
            raise InputError(
                f"No judged pair is {label}; learning needs both near-duplicates and different pairs."
            )


def warnings(data: LabelledDocuments, held_out: bool, unchanged: bool) -> list[str]:
    """Reasons to doubt the model."""
    found = []
    if len(data) < ENOUGH_DOCUMENTS:
        found.append(f"only {counted(len(data), 'labelled document')}; {ENOUGH_DOCUMENTS} or more are better")
    if not held_out:
        found.append(
            "no labels held out, because fewer than two folds have near-duplicates: the threshold comes from the "
            "training documents"
        )
    if unchanged:
        found.append("the initial weights are best on held-out labels: they were kept")
    return found


def contradictions(data: LabelledDocuments) -> list[str]:
    """Labels that contradict each other."""
    found = []
    apart = _copies_apart(data)
    if apart:
        shown = counted(apart, "document with the k-grams", "documents with the k-grams")
        found.append(f"contradictory labels: {shown} of a document in another cluster")
    broken = _broken_chains(data.truth)
    if broken:
        shown = counted(broken, "pair is judged different but", "pairs are judged different but")
        found.append(f"contradictory labels: {shown} connected by near-duplicates")
    return found


def doubtful(data: LabelledDocuments, pairs: ScoredPairs, threshold: float) -> list[str]:
    """Clusters that labels keep apart though documents of them reach the threshold: people may have been undecided."""
    clusters = data.truth.clusters
    if clusters is None:
        return []
    alike = ~pairs.positive & (pairs.score >= threshold)
    a, b = clusters[pairs.left[alike]], clusters[pairs.right[alike]]
    apart, count = np.unique(pack_pairs(np.minimum(a, b), np.maximum(a, b)), return_counts=True)
    if len(apart) == 0:
        return []
    first = int(apart[count.argmax()])
    names = f"{data.truth.names[first >> 32]} and {data.truth.names[first & 0xFFFFFFFF]}"
    have = "pair of clusters has" if len(apart) == 1 else "pairs of clusters have"
    return [
        f"{len(apart):,} {have} documents as similar as near-duplicates and different labels, above all {names}: "
        "if that is open to doubt, list them in a table for --undecided"
    ]


def _copies_apart(data: LabelledDocuments) -> int:
    """How many documents have the same k-grams as one of another cluster."""
    if data.truth.clusters is None:
        return 0
    offsets, hashes = data.entries.offsets, data.entries.hashes
    stirred = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(stirred, dtype=np.uint64)])
    keys = sums[offsets[1:]] - sums[offsets[:-1]]  # equal sets of k-grams have equal sums
    some = np.diff(offsets) > 0
    pairs = np.unique(np.stack([keys[some], data.truth.clusters[some].astype(np.uint64)]), axis=1)
    key, clusters = np.unique(pairs[0], return_counts=True)
    return int(np.isin(keys[some], key[clusters > 1]).sum())


def _broken_chains(truth: Truth) -> int:
    """How many pairs are judged different, though a chain of near-duplicates connects them."""
    if truth.clusters is not None:
        return 0
    assert truth.left is not None and truth.right is not None and truth.judged is not None
    n = int(truth.right.max(initial=-1)) + 1
    roots = components(n, truth.left[truth.judged], truth.right[truth.judged])
    other = ~truth.judged
    return int((roots[truth.left[other]] == roots[truth.right[other]]).sum())
