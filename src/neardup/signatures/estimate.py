"""Confidence intervals of estimates: agreeing slots are a binomial sample of the similarity.

k independent slots agree each with probability s, the Jaccard similarity, so that the share of agreeing
slots is an unbiased estimate with variance s(1 − s)/k (slides, "Detecting near-duplicates from sketches").
The interval printed there has the normal quantile of one tail on both sides and no width at 0 and 1; here
it is two-sided, and Wilson's (E. B. Wilson, JASA 22, 1927): the similarities whose own sample would be at
most z standard errors away from the observed one. It never leaves [0, 1] and always has a width.
"""

from __future__ import annotations

import statistics
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neardup.errors import ParameterError

FloatArray = NDArray[np.float64]


@overload
def standard_error(p: float, k: int) -> float: ...
@overload
def standard_error(p: FloatArray, k: int) -> FloatArray: ...
def standard_error(p: float | FloatArray, k: int) -> float | FloatArray:
    """The standard deviation of an estimate from k slots where the similarity is p: √(p(1 − p)/k)."""
    _check_slots(k, "standard_error")
    value = np.asarray(p, dtype=np.float64)
    if not np.all((value >= 0) & (value <= 1)):
        raise ParameterError("p", "standard_error", "between 0 and 1", p)
    error = np.sqrt(value * (1 - value) / k)
    return error if isinstance(error, np.ndarray) and error.ndim else float(error)


def wilson_interval(agreeing: int, slots: int, confidence: float = 0.95) -> tuple[float, float]:
    """The similarities, from low to high, that are compatible with so many agreeing slots."""
    low, high = wilson_intervals([agreeing], slots, confidence)
    return float(low[0]), float(high[0])


def wilson_intervals(
    agreeing: ArrayLike, slots: int, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The low and the high ends of the intervals of many estimates with the same number of slots."""
    counts = np.asarray(agreeing, dtype=np.float64)
    _check_slots(slots, "wilson_interval")
    if not np.all((counts >= 0) & (counts <= slots)):
        raise ParameterError("agreeing", "wilson_interval", f"between 0 and slots = {slots}", agreeing)
    z2 = _two_sided_quantile(confidence) ** 2
    share = counts / slots
    centre = (counts + z2 / 2) / (slots + z2)
    half = np.sqrt(z2 * (share * (1 - share) * slots + z2 / 4)) / (slots + z2)
    # Exact at the ends (0 of k has the low end 0, k of k the high end 1) where rounding would miss it.
    low = np.where(counts == 0, 0.0, np.clip(centre - half, 0.0, share))
    high = np.where(counts == slots, 1.0, np.clip(centre + half, share, 1.0))
    return low, high


def _two_sided_quantile(confidence: float) -> float:
    """The normal quantile that leaves (1 − confidence)/2 in each tail: 1.96 for 0.95."""
    if not 0 < confidence < 1:
        raise ParameterError("confidence", "wilson_interval", "between 0 and 1, both excluded", confidence)
    return statistics.NormalDist().inv_cdf(0.5 + confidence / 2)


def _check_slots(slots: int, callable_name: str) -> None:
    """Refuse an empty sample."""
    if slots < 1:
        raise ParameterError("slots", callable_name, "at least 1", slots)
