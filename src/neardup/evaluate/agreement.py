"""How far people agree about labels, beyond what chance would give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from neardup.errors import ParameterError
from neardup.evaluate.packages import load


def cohen_kappa(
    first: Sequence[Any], second: Sequence[Any], weights: Literal["linear", "quadratic"] | None = None
) -> float:
    """Cohen's kappa of two people's labels of the same things (J. Cohen, 1960); not a number for one label only.

    With weights, grades that are near to each other count as half agreed.
    """
    if len(first) != len(second) or len(first) == 0:
        raise ParameterError("second", "cohen_kappa", "as long as the first, and not empty", len(second))
    if len({*first, *second}) < 2:
        return math.nan  # chance agreement is 1: kappa is 0 / 0
    return float(load("sklearn.metrics").cohen_kappa_score(first, second, weights=weights))


def fleiss_kappa(counts: ArrayLike) -> float:
    """Fleiss' kappa of a table: for each thing how many people gave it each label (J. L. Fleiss, 1971)."""
    table = np.asarray(counts)
    if table.ndim != 2 or len(table) == 0 or len({*table.sum(axis=1).tolist()}) != 1 or table.sum() < 1:
        raise ParameterError("counts", "fleiss_kappa", "a table whose rows have the same sum", table.tolist())
    if table[0].sum() < 2 or (table.sum(axis=0) > 0).sum() < 2:
        return math.nan
    return float(load("statsmodels.stats.inter_rater").fleiss_kappa(table))


def agree(judged: Sequence[Mapping[str, bool | None]]) -> dict[str, Any]:
    """Kappas of several people's verdicts, by thing: of each two of them, and of all where all judged the same.

    'unclear' is a verdict as good as yes and no here: two people who are both unsure do agree.
    """
    people = sorted({who for verdicts in judged for who in verdicts})
    word = {True: "yes", False: "no", None: "unclear"}
    two: dict[str, Any] = {}
    for a, b in combinations(people, 2):
        both = [(word[v[a]], word[v[b]]) for v in judged if a in v and b in v]
        if both:
            kappa = cohen_kappa([x for x, _ in both], [y for _, y in both])
            two[f"{a} and {b}"] = {"pairs": len(both), "cohen_kappa": kappa}
    complete = [[word[value] for value in v.values()] for v in judged if len(v) == len(people)]
    table = [[row.count(name) for name in word.values()] for row in complete]
    everyone = fleiss_kappa(table) if table else math.nan
    return {"people": people, "judged_by_all": len(complete), "fleiss_kappa": everyone, "by_two": two}
