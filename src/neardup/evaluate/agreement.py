"""Agreement between raters: raw, and beyond chance as Cohen's and Fleiss' kappa."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neardup.errors import ParameterError

__all__ = ["agree", "cohen_kappa", "fleiss_kappa", "raw_agreement", "vote_table"]


def cohen_kappa(first: Sequence[Any], second: Sequence[Any]) -> float:
    """Cohen's kappa of two raters' labels of the same items (J. Cohen, 1960); NaN if only one label occurs."""
    if len(first) != len(second) or len(first) == 0:
        raise ParameterError("second", "cohen_kappa", "as long as the first, and not empty", len(second))
    if len({*first, *second}) < 2:
        return math.nan  # chance agreement is 1: kappa is 0 / 0
    n = len(first)
    one, other = Counter(first), Counter(second)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    chance = sum(one[label] * other[label] for label in one) / n**2
    return (observed - chance) / (1 - chance)


def fleiss_kappa(counts: ArrayLike) -> float:
    """Fleiss' kappa of a table: for each item the number of raters that chose each label (J. L. Fleiss, 1971)."""
    table = np.asarray(counts)
    if table.ndim != 2 or len(table) == 0 or len({*table.sum(axis=1).tolist()}) != 1 or table.sum() < 1:
        raise ParameterError("counts", "fleiss_kappa", "a table whose rows have the same sum", table.tolist())
    if table[0].sum() < 2 or (table.sum(axis=0) > 0).sum() < 2:
        return math.nan
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return (raw_agreement(table) - chance) / (1 - chance)


def raw_agreement(counts: ArrayLike) -> float:
    """The mean over items of the share of pairs of raters that agree; NaN without an item of two raters."""
    table: NDArray[np.float64] = np.asarray(counts, np.float64)
    if table.ndim != 2 or not len(table):
        return math.nan
    raters = table.sum(axis=1)
    table, raters = table[raters > 1], raters[raters > 1]
    if not len(table):
        return math.nan
    return float(((table * (table - 1)).sum(axis=1) / (raters * (raters - 1))).mean())


def agree(judged: Sequence[Mapping[str, Hashable]], items: str = "pairs") -> dict[str, Any]:
    """Kappas of several raters' verdicts: of each two raters, and of all raters.

    'unclear' is a verdict like yes and no: two raters who are both unsure agree. All raters are compared on the items
    that all judged; in a crowd, where nobody judges everything, on the items with the usual number of raters.
    """
    raters = sorted({who for verdicts in judged for who in verdicts})
    two: dict[str, Any] = {}
    for a, b in combinations(raters, 2):
        both = [(v[a], v[b]) for v in judged if a in v and b in v]
        if both:
            kappa = cohen_kappa([x for x, _ in both], [y for _, y in both])
            two[f"{a} and {b}"] = {items: len(both), "cohen_kappa": kappa}
    table, usual = vote_table(judged)
    return {
        "raters": raters,
        "judged_by_all": sum(len(verdicts) == len(raters) for verdicts in judged),
        "fleiss_kappa": fleiss_kappa(table) if len(table) else math.nan,
        "fleiss_items": len(table),
        "raters_of_an_item": usual,
        "raw_agreement": raw_agreement(table),
        "by_pair": two,
    }


def vote_table(judged: Sequence[Mapping[str, Hashable]]) -> tuple[NDArray[np.int64], int]:
    """For each item with the usual number of raters (all of them, if some item has all), the raters of each label."""
    raters = {who for verdicts in judged for who in verdicts}
    sizes = Counter(len(verdicts) for verdicts in judged if len(verdicts) > 1)
    if not sizes:
        return np.zeros((0, 0), np.int64), 0
    usual = len(raters) if len(raters) in sizes else max(sizes, key=lambda size: (sizes[size], size))
    rows = [list(verdicts.values()) for verdicts in judged if len(verdicts) == usual]
    names = sorted({value for row in rows for value in row}, key=repr)
    return np.array([[row.count(name) for name in names] for row in rows], np.int64), usual
