"""Every pair by inverted lists, exactly: for similarities that the pruned matchers do not know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from neardup.candidates.allpairs import Kind, all_pairs
from neardup.columns import Features, Hashes, Pairs
from neardup.plan import Distribution
from neardup.thresholds import TOLERANCE


@dataclass(frozen=True)
class Inverted:
    """All pairs that share a feature and reach the threshold: work for every shared feature, nothing pruned.

    A feature of every document costs n²/2 steps: exact, and meant for thousands of documents, not millions.
    """

    kind: Kind | Literal["extended_jaccard"] = "cosine"
    level: ClassVar[Literal["features"]] = "features"
    distribution: ClassVar[Distribution] = "blocks"
    truncates: ClassVar[bool] = False

    def links(
        self, features: Features, threshold: float, threads: int, ranks: Hashes, most: int, first: int = 0
    ) -> tuple[Pairs, int]:
        """The same pairs: this search knows no short cut."""
        return self.pairs(features, threshold, threads, first), 0

    @property
    def decides(self) -> str:
        """The similarity that makes a pair."""
        return self.kind

    def pairs(self, features: Features, threshold: float, threads: int = 1, first: int = 0) -> Pairs:
        """All pairs of documents whose similarity reaches the threshold, with the evidence."""
        least = max(0.0, threshold - TOLERANCE)
        if (
            self.kind == "extended_jaccard"
        ):  # a² + b² ≥ 2ab: the cosine of such a pair is 2s / (1 + s) at least
            close = all_pairs(features, "cosine", threads, 2 * least / (1 + least), first)
            pairs = replace(close, kind="jaccard")
            return pairs.take(pairs.similarity >= least)
        return replace(all_pairs(features, self.kind, threads, least, first), kind=self.kind)

    def probability(self, similarity: float) -> float:
        """Nothing that is asked for is missed."""
        return 1.0

    def reach(self, recall: float) -> float:
        """The evidence ends at the threshold: nothing is found by chance below it."""
        return 1.0
