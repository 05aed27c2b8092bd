"""What docs/errata.md says about the SpotSigs paper, recomputed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from neardup.candidates.exact import exact_pairs
from neardup.candidates.partitions import boundaries
from neardup.columns import Features

MATCHERS = ["prefix", "partitions"]


def features(*rows: list[int]) -> Features:
    return Features(
        np.cumsum([0, *map(len, rows)]), np.array([x for row in rows for x in row], np.uint64), distinct=True
    )


@pytest.mark.parametrize("matcher", MATCHERS)
def test_the_pair_that_line_17_loses_is_found(matcher: str) -> None:
    """δ1 + δ2 counts what is in neither twice: after 'a' and one list more the printed bound gives the pair up."""
    pairs = exact_pairs(features([*range(10)], [*range(1, 10)]), 0.9, matcher)
    assert pairs.similarity.tolist() == [0.9]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_lengths_9_and_10_meet_at_a_threshold_of_9_tenths(matcher: str) -> None:
    assert (1 - 0.9) * 10 < 1, "what rounding says: a document of ten may miss less than one"
    rows = [[*range(k, k + 10)] for k in range(0, 100, 20)]
    rows += [row[1:] for row in rows]
    assert len(exact_pairs(features(*rows), 0.9, matcher)) == 5


def printed(limit: Fraction, last: int) -> int:
    """The partitions of lengths up to `last` by the recurrence of 4.2, p(k+1) = ⌊p(k)/τ⌋ + 1."""
    begin, count = 1, 0
    while begin <= last:
        begin, count = begin * limit.denominator // limit.numerator + 1, count + 1
    return count


def test_the_numbers_of_partitions() -> None:
    """5.1 has 501, 41 and 3 for τ = 1, 0.9 and 0.1."""
    widest = [printed(Fraction(tau), 1000) for tau in ("1", "0.9", "0.1")]
    assert widest == [1000, 49, 3]
    ours = [len(boundaries(Fraction(tau), 1000)) - 1 for tau in ("1", "0.9", "0.1")]
    assert ours[0] == 1000 and ours[1] > 49 and ours[2] > 3, "finer, and still enough"


def test_the_gains_of_5_3_1() -> None:
    """0.69 (3-shingles, table 1) to 0.94 and 0.53 to 0.89; the text has 24 and 40 percent."""
    assert (round(0.94 / 0.71 - 1, 2), round(0.89 / 0.53 - 1, 2)) == (0.32, 0.68)
