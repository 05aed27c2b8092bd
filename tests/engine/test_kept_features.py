"""Features that stay in memory between passes are those that would be made again."""

from __future__ import annotations

import numpy as np
import pytest

import neardup
from neardup.columns import Features
from neardup.engines.local.checkpoint.budget import MemoryBudget
from neardup.engines.local.kept_features import KeptFeatures
from neardup.features.shingles import Shingles
from neardup.plan import View
from neardup.statistics import Statistics

WORDS = ["harbour", "storm", "the", "of", "ship", "wind", "night", "light", "coast", "crew", "and", "sea"]


def corpus() -> list[str]:
    """Forty texts in groups of versions, with a notice that all share."""
    rng = np.random.default_rng(3)
    texts = []
    for _ in range(10):
        story = rng.choice(WORDS, 60).tolist()
        for version in range(4):
            story[version * 7] = "changed"
            texts.append(" ".join(story) + " all rights reserved by the owners of this page")
    return texts


def pairs_of(method: str) -> list[tuple[object, ...]]:
    found = neardup.pairs(corpus(), method=method).to_pylist()
    return [tuple(row.values()) for row in found]


@pytest.mark.parametrize("method", ["rare_phrases", "andd"])
def test_the_result_is_the_same_whatever_is_kept(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, made = pairs_of(method), []
    add = KeptFeatures.add

    def count(self: KeptFeatures, numbers: np.ndarray, tokens: np.ndarray, prepared: Features) -> None:
        add(self, numbers, tokens, prepared)
        made.append(int(self.has(numbers).sum()))

    monkeypatch.setattr(KeptFeatures, "add", count)
    assert pairs_of(method) == usual and sum(made) == len(set(corpus()))
    made.clear()
    monkeypatch.setattr(MemoryBudget, "counters", property(lambda self: 1))
    assert pairs_of(method) == usual and sum(made) == 0
    assert len(usual) > 10


def test_what_is_kept_is_given_back_until_there_is_no_room() -> None:
    first, second = (
        Features(
            np.array([0, 2, 3]), np.array(keys, np.uint64), np.array([1, 2, 3], np.float32), distinct=True
        )
        for keys in ([5, 9, 4], [1, 2, 3])
    )
    view, known = View(Shingles(3)), Statistics(4, "")
    kept = KeptFeatures(view, known, room=12 * 5)
    kept.add(np.array([2, 5]), np.array([7, 8]), first)
    kept.add(np.array([6, 7]), np.array([1, 1]), second)  # for which there is no room
    assert kept.has(np.array([1, 2, 5, 6, 9])).tolist() == [False, True, True, False, False]
    tokens, found = kept.prepared(np.array([5]))
    assert tokens.tolist() == [8] and found.hashes.tolist() == [4] and found.weights.tolist() == [3.0]
    assert kept.features(view, np.array([2, 5]), known).hashes.tolist() == [5, 9, 4]
    assert kept.features(view, np.array([2, 6]), known) is None
    assert kept.features(View(Shingles(2)), np.array([2]), known) is None
