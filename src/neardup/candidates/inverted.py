"""All pairs by inverted lists, exactly: for similarities without a pruned matcher."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from neardup.candidates.allpairs import Kind, all_pairs
from neardup.candidates.exact import EveryPair
from neardup.columns import Features, Hashes, Pairs
from neardup.plan import Distribution
from neardup.thresholds import TOLERANCE


@dataclass(frozen=True)
class Inverted(EveryPair):
    """All pairs that share a feature and reach the threshold: work for every shared feature, nothing pruned.

    A feature of all n documents costs n²/2 steps: use it for thousands of documents, not millions.
    """

    kind: Kind | Literal["extended_jaccard"] = "cosine"
    level: ClassVar[Literal["features"]] = "features"
    distribution: ClassVar[Distribution] = "blocks"
    truncates: ClassVar[bool] = False

    def links(
        self, features: Features, threshold: float, threads: int, id_hashes: Hashes, most: int, first: int = 0
    ) -> tuple[Pairs, int]:
        """All pairs, and 0 truncated lists: this search has no short cut."""
        return self.pairs(features, threshold, threads, first), 0

    @property
    def decides(self) -> str:
        """The similarity that makes a pair."""
        return self.kind

    def pairs(self, features: Features, threshold: float, threads: int = 1, first: int = 0) -> Pairs:
        """All pairs of documents whose similarity reaches the threshold, with the evidence."""
        least = max(0.0, threshold - TOLERANCE)
        if self.kind == "extended_jaccard":  # a² + b² ≥ 2ab: its cosine is at least 2s / (1 + s)
            close = all_pairs(features, "cosine", threads, 2 * least / (1 + least), first)
            pairs = replace(close, kind="jaccard")
            return pairs.take(pairs.similarity >= least)
        return replace(all_pairs(features, self.kind, threads, least, first), kind=self.kind)
