"""Agreement between raters beyond chance: Cohen's and Fleiss' kappa."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neardup.errors import ParameterError
from neardup.evaluate.packages import load


def cohen_kappa(first: Sequence[Any], second: Sequence[Any]) -> float:
    """Cohen's kappa of two raters' labels of the same items (J. Cohen, 1960); NaN if only one label occurs."""
    if len(first) != len(second) or len(first) == 0:
        raise ParameterError("second", "cohen_kappa", "as long as the first, and not empty", len(second))
    if len({*first, *second}) < 2:
        return math.nan  # chance agreement is 1: kappa is 0 / 0
    return float(load("sklearn.metrics").cohen_kappa_score(first, second))


def fleiss_kappa(counts: ArrayLike) -> float:
    """Fleiss' kappa of a table: for each item the number of raters that chose each label (J. L. Fleiss, 1971)."""
    table = np.asarray(counts)
    if table.ndim != 2 or len(table) == 0 or len({*table.sum(axis=1).tolist()}) != 1 or table.sum() < 1:
        raise ParameterError("counts", "fleiss_kappa", "a table whose rows have the same sum", table.tolist())
    if table[0].sum() < 2 or (table.sum(axis=0) > 0).sum() < 2:
        return math.nan
    return float(load("statsmodels.stats.inter_rater").fleiss_kappa(table))


def agree(judged: Sequence[Mapping[str, bool | None]]) -> dict[str, Any]:
    """Kappas of several raters' verdicts: of each two raters, and of all raters on the items that all judged.

    'unclear' is a verdict like yes and no: two raters who are both unsure agree.
    """
    raters = sorted({who for verdicts in judged for who in verdicts})
    word = {True: "yes", False: "no", None: "unclear"}
    two: dict[str, Any] = {}
    for a, b in combinations(raters, 2):
        both = [(word[v[a]], word[v[b]]) for v in judged if a in v and b in v]
        if both:
            kappa = cohen_kappa([x for x, _ in both], [y for _, y in both])
            two[f"{a} and {b}"] = {"pairs": len(both), "cohen_kappa": kappa}
    complete = [[word[value] for value in v.values()] for v in judged if len(v) == len(raters)]
    table = [[row.count(name) for name in word.values()] for row in complete]
    everyone = fleiss_kappa(table) if table else math.nan
    return {"raters": raters, "judged_by_all": len(complete), "fleiss_kappa": everyone, "by_pair": two}
