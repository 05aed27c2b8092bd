"""The worked examples of the slides, confidence and bands, with the corrections that they need."""

from __future__ import annotations

from functools import partial

import pytest

from neardup.candidates.curve import Bands, cost
from neardup.signatures.estimate import standard_error, wilson_interval
from slides import coverage, slide_interval

# Confidence


def test_slide_interval_covers_less_than_it_says() -> None:
    """Erratum: a tail of 1 − θ on each side leaves 2θ − 1 in the middle: 0.9 for 0.95."""
    for theta in (0.9, 0.95, 0.975):
        covered = coverage(partial(slide_interval, slots=2000, confidence=theta), 0.5, 2000)
        assert covered == pytest.approx(2 * theta - 1, abs=0.012)


def test_slide_interval_has_no_width_at_the_ends() -> None:
    """Erratum: 20 of 20 agreeing slots do not prove that two documents are equal."""
    assert slide_interval(0, 20, 0.95) == (0, 0)
    assert slide_interval(20, 20, 0.95) == (1, 1)
    low, high = wilson_interval(20, 20)
    assert high == 1
    assert low == pytest.approx(20 / (20 + 1.959964**2))


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
def test_wilson_covers_what_it_says(p: float) -> None:
    """By exact summation, k = 130: a discrete sample can only oscillate around the level."""
    ours = coverage(partial(wilson_interval, slots=130), p, 130)
    printed = coverage(partial(slide_interval, slots=130, confidence=0.95), p, 130)
    assert ours == pytest.approx(0.95, abs=0.025)
    assert printed < 0.93


def test_wilson_covers_what_it_says_on_average() -> None:
    levels = [i / 50 for i in range(1, 50)]
    for slots in (20, 64, 130):
        covered = [coverage(partial(wilson_interval, slots=slots), p, slots) for p in levels]
        assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.01)


def test_standard_error_shrinks_with_the_root_of_k() -> None:
    assert standard_error(0.5, 100) == pytest.approx(0.05)
    assert standard_error(0.5, 400) == pytest.approx(0.025)
    assert standard_error(0.0, 100) == standard_error(1.0, 100) == 0


# Bands


def test_forty_megabytes_and_five_thousand_million_pairs() -> None:
    needed = cost(Bands(20, 5), documents=10**5)
    assert needed.signature_bytes == 10**5 * 100 * 4 == 40_000_000
    assert needed.key_bytes == 10**5 * 20 * 8 == 16_000_000
    assert 10**5 * (10**5 - 1) // 2 == 4_999_950_000
    assert needed.candidates < 4_999_950_000 / 10_000


def test_false_negatives_at_eight_tenths() -> None:
    """Erratum: 0.000356 where the slide cuts to 0.00035; one pair in 2,809, 99.9644 % found."""
    assert pytest.approx(0.328, abs=0.0005) == 0.8**5
    missed = 1 - Bands(20, 5).probability(0.8)
    assert missed == pytest.approx(0.000356, abs=5e-7)
    assert round(1 / missed) == 2809


def test_false_positives_at_three_tenths() -> None:
    """Erratum: 0.047494 where the slide cuts to 0.0474; and the similarity is 0.3, not "0.3 %"."""
    assert pytest.approx(0.00243) == 0.3**5
    assert Bands(20, 5).probability(0.3) == pytest.approx(0.047494, abs=5e-7)
    assert Bands(20, 5).probability(0.003) < 1e-11


@pytest.mark.parametrize(
    ("similarity", "printed", "digits"),
    [(0.2, 0.006, 3), (0.3, 0.047, 3), (0.4, 0.186, 3), (0.5, 0.47, 2), (0.6, 0.802, 3), (0.7, 0.975, 3),
     (0.8, 0.9996, 4)],
)  # fmt: skip
def test_twenty_bands_of_five_rows(similarity: float, printed: float, digits: int) -> None:
    assert round(Bands(20, 5).probability(similarity), digits) == printed


def test_one_row_is_a_straight_line() -> None:
    for s in (0.0, 0.25, 0.5, 1.0):
        assert Bands(1, 1).probability(s) == pytest.approx(s)


@pytest.mark.parametrize(
    ("bands", "midpoint", "missed", "in_vain"),
    [(20, 0.5087, 0.000356, 0.047494), (15, 0.5382, 0.002592, 0.035836), (10, 0.5823, 0.018869, 0.024036)],
)
def test_fewer_bands_of_five_rows(bands: int, midpoint: float, missed: float, in_vain: float) -> None:
    """20, 15 and 10 bands: the middle of the curve, misses at 0.8, and false candidates at 0.3."""
    curve = Bands(bands, 5)
    assert curve.midpoint == pytest.approx(midpoint, abs=5e-5)
    assert 1 - curve.probability(0.8) == pytest.approx(missed, abs=5e-7)
    assert curve.probability(0.3) == pytest.approx(in_vain, abs=5e-7)


def test_fewer_bands_mean_fewer_false_positives_and_more_false_negatives() -> None:
    for s in (0.1, 0.3, 0.5, 0.7, 0.9):
        found = [Bands(b, 5).probability(s) for b in (10, 15, 20)]
        assert found == sorted(found)
        assert len(set(found)) == 3
