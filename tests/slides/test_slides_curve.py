"""Properties of the S-curve, of the choice of bands, and of intervals, for any parameters."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from neardup.candidates.curve import SLACK, Bands, choose_bands, cost, expected_recall_table, s_curve
from neardup.errors import ParameterError
from neardup.signatures.estimate import standard_error, wilson_interval, wilson_intervals

unit = st.floats(0, 1, allow_subnormal=False)
some_bands = st.builds(Bands, st.integers(1, 60), st.integers(1, 20))
thresholds = st.floats(0.05, 1)
recalls = st.floats(0.5, 0.9999)


# The curve


@settings(deadline=None)
@given(unit, st.integers(1, 50), st.integers(1, 15))
def test_curve_is_the_formula(s: float, b: int, r: int) -> None:
    exact = 1 - (1 - Fraction(s) ** r) ** b
    assert s_curve(s, b, r) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def test_curve_keeps_small_probabilities() -> None:
    """The naive formula gives 0 here: 1 − 1e-20 is 1 in floats."""
    assert s_curve(1e-4, 20, 5) == pytest.approx(2e-19)
    assert 1 - (1 - 1e-4**5) ** 20 == 0


def test_curve_of_arrays_and_ends() -> None:
    assert s_curve(0.0, 20, 5) == 0.0
    assert s_curve(1.0, 20, 5) == 1.0
    values = s_curve(np.array([[0.0, 0.5], [0.8, 1.0]]), 20, 5)
    assert values.shape == (2, 2)
    assert values[1, 0] == s_curve(0.8, 20, 5)
    assert isinstance(s_curve(0.5, 20, 5), float)
    assert list(s_curve([0.0, 1.0], 3, 3)) == [0.0, 1.0]


@given(some_bands, unit, unit)
def test_curve_rises(bands: Bands, s: float, t: float) -> None:
    low, high = sorted((s, t))
    assert bands.probability(low) <= bands.probability(high) + 1e-15


@given(some_bands, st.floats(1e-6, 1 - 1e-6))
def test_reach_is_the_inverse_of_probability(bands: Bands, recall: float) -> None:
    assert bands.probability(bands.reach(recall)) == pytest.approx(recall, rel=1e-9)


@given(some_bands)
def test_midpoints(bands: Bands) -> None:
    """At the rule of thumb P is 1 − (1 − 1/b)^b: 1 for one band, falling to 1 − 1/e."""
    assert bands.probability(bands.midpoint) == pytest.approx(0.5)
    rule = (1 / bands.bands) ** (1 / bands.rows)
    assert bands.midpoint < rule
    assert bands.probability(rule) == pytest.approx(1 - (1 - 1 / bands.bands) ** bands.bands)


def test_reach_at_the_ends() -> None:
    assert Bands(20, 5).reach(0) == 0
    assert Bands(20, 5).reach(1) == 1
    with pytest.raises(ParameterError):
        Bands(20, 5).reach(1.5)


def test_recall_table() -> None:
    table = expected_recall_table(Bands(20, 5), (0.3, 0.8))
    assert table == [(0.3, s_curve(0.3, 20, 5)), (0.8, s_curve(0.8, 20, 5))]


# The choice


@settings(deadline=None)
@given(thresholds, recalls)
def test_choice_reaches_the_recall_with_no_band_too_many(threshold: float, recall: float) -> None:
    choice = choose_bands(threshold, recall)
    assert choice.slots <= 512
    assert choice.probability(threshold) >= recall
    if choice.bands > 1:
        assert s_curve(threshold, choice.bands - 1, choice.rows) < recall


@settings(deadline=None, max_examples=30)
@given(st.floats(0.3, 0.99), st.floats(0.8, 0.999))
def test_choice_has_about_the_least_work(threshold: float, recall: float) -> None:
    """Against every other number of rows, with as many bands as they need."""
    ours = cost(choose_bands(threshold, recall)).seconds
    for rows in range(1, 40):
        other = choose_bands(threshold, recall, rows=rows)
        if other.probability(threshold) >= recall:
            assert ours <= SLACK * cost(other).seconds * (1 + 1e-12)


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.5, (35, 3)), (0.6, (34, 4)), (0.7, (17, 4)), (0.8, (12, 5)), (0.9, (9, 8)), (0.95, (5, 9))],
)
def test_choice_for_the_default_recall(threshold: float, expected: tuple[int, int]) -> None:
    """Pinned: a change of the prior or of the costs changes what plans mean, and should be seen."""
    choice = choose_bands(threshold)
    assert (choice.bands, choice.rows) == expected


def test_the_table_in_the_docs_is_what_is_chosen() -> None:
    page = (Path(__file__).parents[2] / "docs" / "minhash-theory.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (0\.\d+) \|((?: \**\d+ × \d+\** \|){3})$", page, re.MULTILINE)
    assert len(lines) == 6
    for threshold, cells in lines:
        chosen = [choose_bands(float(threshold), recall) for recall in (0.9, 0.99, 0.999)]
        assert re.findall(r"\d+ × \d+", cells) == [f"{choice.bands} × {choice.rows}" for choice in chosen]


def test_larger_collections_get_sharper_curves() -> None:
    rows = [choose_bands(0.7, documents=10**e).rows for e in (3, 5, 7, 9)]
    assert rows == sorted(rows)
    assert rows[0] < rows[-1]


def test_bands_and_rows_by_hand_win() -> None:
    assert choose_bands(0.7, bands=14, rows=8) == Bands(14, 8)
    assert choose_bands(0.7, num_perm=128, bands=14, rows=8) == Bands(14, 8)
    assert choose_bands(0.7, bands=200, rows=10) == Bands(200, 10)


def test_two_of_three_fix_the_third() -> None:
    assert choose_bands(0.7, num_perm=128, bands=16) == Bands(16, 8)
    assert choose_bands(0.7, num_perm=128, rows=5) == Bands(25, 5)


@settings(deadline=None)
@given(thresholds, recalls, st.integers(1, 300))
def test_split_of_num_perm_has_the_most_rows(threshold: float, recall: float, num_perm: int) -> None:
    split = choose_bands(threshold, recall, num_perm=num_perm)
    assert split.bands == num_perm // split.rows
    reaching = [r for r in range(1, num_perm + 1) if s_curve(threshold, num_perm // r, r) >= recall]
    assert split.rows == max(reaching, default=1)


@settings(deadline=None)
@given(thresholds, recalls, st.integers(1, 600))
def test_rows_or_bands_by_hand_win(threshold: float, recall: float, given_by_hand: int) -> None:
    by_rows = choose_bands(threshold, recall, rows=given_by_hand)
    assert by_rows.rows == given_by_hand
    assert by_rows.probability(threshold) >= recall or by_rows.bands == max(1, 512 // given_by_hand)
    by_bands = choose_bands(threshold, recall, bands=given_by_hand)
    assert by_bands.bands == given_by_hand
    assert by_bands.probability(threshold) >= recall or by_bands.rows == 1


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.01}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"threshold": 0.001}, "threshold"),
        ({"threshold": 0.7, "recall": 0.0}, "recall"),
        ({"threshold": 0.7, "recall": 1.0}, "recall"),
        ({"threshold": 0.7, "num_perm": 0}, "num_perm"),
        ({"threshold": 0.7, "num_perm": 100, "bands": 20, "rows": 6}, "num_perm"),
        ({"threshold": 0.7, "num_perm": 4, "bands": 5}, "num_perm"),
        ({"threshold": 0.7, "bands": -1}, "bands"),
        ({"threshold": 0.7, "rows": 2.5}, "rows"),
        ({"threshold": 0.7, "rows": True}, "rows"),
        ({"threshold": 0.7, "documents": 0}, "documents"),
        ({"threshold": 0.7, "max_slots": 0}, "max_slots"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, float], name: str) -> None:
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of choose_bands must be") as caught:
        choose_bands(**arguments)  # type: ignore[arg-type]
    assert caught.value.name == name


def test_an_unreachable_threshold_names_the_least_one() -> None:
    with pytest.raises(ParameterError, match=r"at least 0\.009 for a recall of 0\.99 with 512 slots"):
        choose_bands(0.001)


def test_bands_refuse_nothing_and_less() -> None:
    with pytest.raises(ParameterError, match="The 'rows' parameter of Bands"):
        Bands(3, 0)


# The cost


@given(some_bands, st.integers(1, 10**9))
def test_cost_is_finite_and_adds_up(bands: Bands, documents: int) -> None:
    needed = cost(bands, documents)
    assert needed.key_bytes == 8 * bands.bands * documents
    assert needed.signature_bytes == 4 * bands.slots * documents
    assert needed.seconds == needed.signing + needed.sorting + needed.verifying
    assert 0 < needed.concerned < documents
    assert needed.candidates > 0


@given(some_bands, st.integers(100, 10**7))
def test_more_rows_mean_fewer_candidates_and_more_bands_more(bands: Bands, documents: int) -> None:
    sharper, wider = Bands(bands.bands, bands.rows + 1), Bands(bands.bands + 1, bands.rows)
    found = cost(bands, documents).candidates
    assert cost(sharper, documents).candidates < found < cost(wider, documents).candidates


# Intervals


@given(st.integers(0, 500), st.integers(1, 500), st.floats(0.01, 0.9999))
def test_wilson_holds_the_estimate_and_stays_inside(agreeing: int, slots: int, confidence: float) -> None:
    assume(agreeing <= slots)
    low, high = wilson_interval(agreeing, slots, confidence)
    assert 0 <= low <= agreeing / slots <= high <= 1
    assert low < high
    mirrored = wilson_interval(slots - agreeing, slots, confidence)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(st.integers(1, 200), st.integers(2, 400), st.floats(0.5, 0.999))
def test_wilson_ends_are_z_standard_errors_away(agreeing: int, slots: int, confidence: float) -> None:
    """The definition: at both ends, the estimate is z of that end's own standard errors away."""
    assume(agreeing < slots)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    for end in wilson_interval(agreeing, slots, confidence):
        assert abs(agreeing / slots - end) == pytest.approx(z * standard_error(end, slots), rel=1e-6)


def test_wilson_known_value() -> None:
    """Ten of ten: the low end is k / (k + z²)."""
    assert wilson_interval(10, 10) == pytest.approx((0.722467, 1.0), abs=1e-6)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.277533), abs=1e-6)


def test_wilson_of_many_is_wilson_of_each() -> None:
    low, high = wilson_intervals(np.arange(131), 130, 0.9)
    for k in range(131):
        assert (low[k], high[k]) == wilson_interval(k, 130, 0.9)


def test_standard_error_of_arrays() -> None:
    assert list(standard_error(np.array([0.0, 0.5, 1.0]), 25)) == [0.0, 0.1, 0.0]


@pytest.mark.parametrize(
    ("agreeing", "slots", "confidence"), [(5, 4, 0.95), (-1, 4, 0.95), (0, 0, 0.95), (1, 4, 1)]
)
def test_bad_samples_are_refused(agreeing: int, slots: int, confidence: float) -> None:
    with pytest.raises(ParameterError):
        wilson_interval(agreeing, slots, confidence)


def test_bad_similarities_are_refused() -> None:
    with pytest.raises(ParameterError):
        standard_error(1.2, 10)
    with pytest.raises(ParameterError):
        standard_error(0.5, 0)
