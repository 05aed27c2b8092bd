"""Candidates with equal signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from neardup.columns import Hashes, Signatures
from neardup.plan import Distribution


@dataclass(frozen=True)
class Equal:
    """Documents whose first two of four slots are equal: one table, without chance."""

    level: ClassVar[Literal["signatures"]] = "signatures"
    distribution: ClassVar[Distribution] = "keys"
    decides: ClassVar[str] = "equal groups of 4"
    tables: ClassVar[int] = 1

    def keys(self, signatures: Signatures) -> Hashes:
        """The first half of each digest."""
        return signatures.slots[:, :2].copy().view(np.uint64).reshape(1, -1)

    def probability(self, similarity: float) -> float:
        """Equal texts are always found, others never."""
        return float(similarity >= 1)

    def reach(self, recall: float) -> float:
        """Equality."""
        return 1.0
