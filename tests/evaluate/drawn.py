"""Random labelled collections for the tests of scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from naive_scores import Labelled, Pair, every_pair
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import ScoredPairs, score_pairs

LEVELS = [0.0, 0.1, 0.25, 0.3, 0.5, 0.5, 0.7, 0.9, 1.0]  # few, so that there are ties


@dataclass(frozen=True)
class Collection:
    clusters: list[int]
    scores: dict[Pair, float]
    undecided: set[Pair]

    @property
    def truth(self) -> Truth:
        names = tuple(f"c{k}" for k in range(max(self.clusters, default=-1) + 1))
        codes = np.array(sorted((a << 32) | b for a, b in self.undecided), np.int64)
        return Truth(np.array(self.clusters, np.int64), names=names, undecided=codes)

    @property
    def scored(self) -> ScoredPairs:
        left, right = np.array(list(self.scores), np.int64).reshape(-1, 2).T
        return score_pairs(self.truth, left, right, np.array(list(self.scores.values())))

    @property
    def all(self) -> Labelled:
        return every_pair(self.clusters, self.scores, self.undecided)


@st.composite
def collections(draw: st.DrawFn, undecided: bool = False) -> Collection:
    """A few documents in a few clusters, two with the same label at least, and two with different ones."""
    clusters = [*draw(st.lists(st.integers(-1, 4), max_size=8)), 0, 0, 1]
    clusters = draw(st.permutations(clusters))
    every = list(combinations(range(len(clusters)), 2))
    listed = draw(st.lists(st.sampled_from(every), unique=True, max_size=len(every)))
    scores = {pair: draw(st.sampled_from(LEVELS)) for pair in listed}
    aside: set[Pair] = set()
    if undecided:
        aside = draw(st.sets(st.sampled_from([(a, b) for a, b in combinations(range(5), 2)]), max_size=3))
    present = max(clusters)
    return Collection(clusters, scores, {pair for pair in aside if pair[1] <= present})
