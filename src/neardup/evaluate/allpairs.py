"""All pairs, exactly: what a method would find if it compared everything with everything."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Numbers, Pairs
from neardup.errors import ParameterError
from neardup.evaluate.packages import load
from neardup.verify.jaccard import make_distinct

Kind = Literal["jaccard", "cosine"]
ROWS = 512  # documents that are compared with all others at a time


def all_pairs(features: Features, kind: Kind = "jaccard", threads: int = 1, least: float = 0.0) -> Pairs:
    """Every pair of documents that share a feature and are at least so similar, ordered by left and right."""
    if kind != "jaccard" or features.weights is not None:
        raise ParameterError("kind", "all_pairs", "'jaccard' of sets", kind)
    sets = make_distinct(features)
    _, columns = np.unique(sets.hashes, return_inverse=True)
    shape = (len(sets), int(columns.max(initial=-1)) + 1)
    matrix = load("scipy.sparse").csr_array((np.ones(len(columns)), columns, sets.offsets), shape)
    sizes, turned, parts = sets.sizes.astype(np.float64), matrix.T.tocsc(), []
    for start in range(0, len(sets), ROWS):
        block = (matrix[start : start + ROWS] @ turned).tocoo()
        left: Numbers = block.row.astype(np.int64) + start
        right: Numbers = block.col.astype(np.int64)
        upper = left < right
        left, right = left[upper], right[upper]
        pairs = Pairs(left, right, block.data[upper], sizes[left], sizes[right])
        parts.append(pairs.take(pairs.similarity >= least))
    found = Pairs.concatenate(parts)
    return found.take(np.lexsort((found.right, found.left)))


def similarities(pairs: Pairs, kind: Kind = "jaccard") -> NDArray[np.float64]:
    """The similarity of each pair that `all_pairs` gave for this kind."""
    return pairs.similarity
