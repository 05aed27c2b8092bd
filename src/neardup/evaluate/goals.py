"""Goals of a threshold, and the best threshold for a goal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from neardup.errors import ParameterError
from neardup.evaluate.scores import Curve, PairCounts

MOST_WRONG = 0.01  # of removals that may point to another labelled cluster


@dataclass(frozen=True)
class Goal:
    """The score to maximize, the least precision or recall, or the greatest share of wrong removals."""

    kind: Literal["f1", "mcc", "precision", "recall", "wrong"] = "f1"
    least: float = 0.0  # of precision or recall; with "wrong" the greatest share of wrong removals

    def __str__(self) -> str:
        return self.kind if self.kind in ("f1", "mcc") else f"{self.kind}={self.least:g}"

    @property
    def most_wrong(self) -> float:
        """The share of wrong removals that a setting must not exceed for sure, whatever else it reaches."""
        return 1.0 if self.kind == "wrong" else MOST_WRONG


def parse_goal(text: str) -> Goal:
    """The goal of a text: f1, mcc, precision=0.95, recall=0.9 or wrong=0.01."""
    kind, equals, number = text.strip().partition("=")
    expected = "f1, mcc, precision=P or recall=R with a number above 0 and up to 1, or wrong=W from 0 to 1"
    if kind in ("f1", "mcc") and not equals:
        return Goal("f1" if kind == "f1" else "mcc")
    try:
        least = float(number)
    except ValueError:
        least = math.nan
    for known in ("precision", "recall", "wrong"):
        if kind == known and (0 < least <= 1 or (kind == "wrong" and least == 0)):
            return Goal(known, least)
    raise ParameterError("goal", "neardup", expected, text)


@dataclass(frozen=True)
class Best:
    """A threshold, its counts, and the interval of thresholds with the same counts."""

    threshold: float  # a short number inside the interval
    above: float  # the next lower score: a threshold must be higher than this …
    upto: float  # … and not higher than this
    counts: PairCounts


def find_best(curve: Curve, goal: Goal, least: float = 0.0) -> Best | None:
    """The best threshold for the goal, None if none reaches it; `least` is the lowest allowed.

    f1 and mcc: the highest. precision=p: most recall with that precision; recall=r: most precision with that
    recall; wrong=w: most recall with a precision of 1 − w. Ties: the highest threshold. The threshold 0, which finds
    every pair, is excluded.
    """
    allowed = (curve.thresholds > 0) & (curve.thresholds >= least)
    if goal.kind in ("precision", "wrong"):
        allowed &= curve.precision >= (goal.least if goal.kind == "precision" else 1 - goal.least)
        value = curve.recall
    elif goal.kind == "recall":
        allowed &= curve.recall >= goal.least
        value = curve.precision
    else:
        value = curve.f1 if goal.kind == "f1" else curve.mcc
    if not allowed.any():
        return None
    place = int(np.argmax(np.where(allowed, value, -np.inf)))
    upto = float(curve.thresholds[place])
    below = float(curve.thresholds[place + 1]) if place + 1 < len(curve.thresholds) else 0.0
    above = max(below, float(np.nextafter(least, -1.0)), 0.0)  # scores below `least` are unknown
    return Best(short_number(above, upto), above, upto, curve.at(upto))


def short_number(above: float, upto: float) -> float:
    """The number with fewest digits that is more than `above` and not more than `upto`, nearest their middle."""
    for digits in range(1, 17):
        scale = 10.0**digits
        middle = round((above + upto) / 2 * scale)
        around = sorted((middle - 1, middle, middle + 1), key=lambda k: abs(k / scale - (above + upto) / 2))
        for k in around:
            if above < k / scale <= upto:
                return float(k / scale)
    return upto
