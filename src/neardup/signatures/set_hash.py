"""Hashes of a document's whole set of features: equal only for equal sets (I-Match)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neardup import kernels
from neardup.columns import Features, Signatures, make_distinct


@dataclass(frozen=True)
class SetHash:
    """A 64-bit hash of the set of features in each of `lexicons` lexicons, two slots each.

    The first lexicon is complete; each of the others misses a random share `drop` of all features (section 2.2
    of the ANDD paper). A document with fewer than `least` features has no signature: short texts would collide.
    """

    lexicons: int = 1
    drop: float = 0.0
    least: int = 1
    seed: int = 1
    estimates: ClassVar[str] = "equality"

    @property
    def slots(self) -> int:
        """32-bit words."""
        return 2 * self.lexicons

    def __call__(self, features: Features) -> Signatures:
        features = make_distinct(features)
        out = np.empty((len(features), self.slots), np.uint32)
        limit = np.uint64(round(self.drop * 2**32))
        kernels.set_hash.set_hash(features.hashes, features.offsets, limit, self.seed, out)
        return Signatures(out, features.sizes >= max(self.least, 1))
