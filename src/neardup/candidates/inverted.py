"""All pairs by inverted lists, exactly; a cosine with bounds that prune."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from neardup.candidates.allpairs import Kind, all_pairs
from neardup.candidates.close import close_pairs
from neardup.candidates.exact import EveryPair
from neardup.columns import Features, Hashes, Pairs
from neardup.plan import Distribution
from neardup.thresholds import TOLERANCE


@dataclass(frozen=True)
class Inverted(EveryPair):
    """All pairs that share a feature and reach the threshold.

    With a cosine, only features that can start a pair at the threshold are met: the work still grows with the square
    of the documents that share a rare feature. Use it for tens of thousands of documents, not millions.
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
        if self.kind == "jaccard":
            return all_pairs(features, self.kind, threads, least, first)
        if self.kind == "extended_jaccard":  # a² + b² ≥ 2ab: its cosine is at least 2s / (1 + s)
            close, _ = close_pairs(features, 2 * least / (1 + least), threads, first)
            pairs = replace(close, kind="jaccard")
            return pairs.take(pairs.similarity >= least)
        return replace(close_pairs(features, least, threads, first)[0], kind="cosine")
