"""Whether labels are enough to learn from, and whether they agree with each other."""

from __future__ import annotations

import numpy as np

from neardup.clusters.graph import components
from neardup.errors import InputError
from neardup.evaluate.labels import Truth
from neardup.learn.training.data import Labelled

LEAST_DOCUMENTS = 10
ENOUGH_DOCUMENTS = 60  # from here on more labels add little (figure 5 of the paper)


def check_labels(truth: Truth) -> None:
    """Refuses labels that nothing can be learned from."""
    truth.require("The labels")
    labelled = int((truth.units >= 0).sum())
    if labelled < LEAST_DOCUMENTS:
        raise InputError(
            f"The labels cover {labelled} documents; learning needs {LEAST_DOCUMENTS} at least, and "
            f"{ENOUGH_DOCUMENTS} do nearly as well as any number: label more, or use 'andd' without a model."
        )
    if truth.clusters is not None:
        return
    for what, count in (("a near-duplicate", truth.positives), ("different", truth.total - truth.positives)):
        if count == 0:
            raise InputError(f"None of the judged pairs is {what}: learning needs pairs of both kinds.")


def remarks(data: Labelled, held_out: bool, stayed: bool) -> list[str]:
    """What one should know before one trusts the model."""
    found = []
    if len(data) < ENOUGH_DOCUMENTS:
        found.append(f"{len(data)} labelled documents are few: {ENOUGH_DOCUMENTS} or more are better")
    if not held_out:
        found.append(
            "near-duplicates in fewer than two groups: nothing could be held out, and the threshold is that of "
            "the documents learned from"
        )
    if stayed:
        found.append(
            "held-out labels are served best by the weights that one starts with: nothing was changed"
        )
    return found


def contradictions(data: Labelled) -> list[str]:
    """Labels that cannot all be right."""
    found = []
    apart = _copies_apart(data)
    if apart:
        found.append(
            f"labels contradict each other: {apart:,} documents have the same k-grams as one of another cluster"
        )
    broken = _broken_chains(data.truth)
    if broken:
        found.append(
            f"labels contradict each other: {broken:,} pairs are judged different, though others connect them"
        )
    return found


def _copies_apart(data: Labelled) -> int:
    """Documents that equal one of another cluster in all that is compared."""
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
    """Judged pairs that are called different, though near-duplicates lead from one to the other."""
    if truth.clusters is not None:
        return 0
    assert truth.left is not None and truth.right is not None and truth.judged is not None
    n = int(truth.right.max(initial=-1)) + 1
    roots = components(n, truth.left[truth.judged], truth.right[truth.judged])
    other = ~truth.judged
    return int((roots[truth.left[other]] == roots[truth.right[other]]).sum())
