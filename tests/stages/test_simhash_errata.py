"""What the simhash thesis gets wrong or leaves open (docs/errata.md), each as a computation."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.candidates.hamming import near_pairs
from neardup.columns import Features, Texts
from neardup.errors import ParameterError
from neardup.evaluate.studies.thesis import VARIANTS
from neardup.registry import get_method
from neardup.signatures.sign_bits import SignBits
from neardup.weights.fields import FlipWeight
from neardup.weights.position import SCALES


def test_the_scale_that_should_decay_slowest_decays_faster_than_another() -> None:
    """Section 5.2 chooses log(x)/x 'because it scales much slower than the others'."""
    x = np.arange(3.0, 1000.0)
    printed, reciprocal_log, reciprocal = np.log(x) / x, 1 / np.log(x), 1 / x
    assert np.log(1.0) / 1.0 == 0  # and the first word counts for nothing
    fall = [scale[-1] / scale[0] for scale in (printed, reciprocal_log, reciprocal)]
    assert fall[2] < fall[0] < fall[1]
    assert SCALES["log(x)/x"] == "log(x + 1) / x"


def test_popcounts_need_65_tables() -> None:
    """Section 6.2 speaks of 64: a fingerprint has 0 to 64 ones."""
    values = np.array([(1 << ones) - 1 for ones in range(65)], dtype=object)
    assert len({int(value).bit_count() for value in values}) == 65


@pytest.mark.parametrize(("d", "lists"), [(32, 2), (22, 3)])
def test_fewer_than_four_lists_miss_pairs_at_distance_3(d: int, lists: int) -> None:
    """Section 2.6.2: 'in general, this approach will require 64/d sorted lists'; that is complete with four of them."""
    a, b = 0, sum(1 << (d * block) for block in range(lists))  # one bit in each block
    assert (a ^ b).bit_count() <= 3
    assert all(
        (a >> d * block) & ((1 << d) - 1) != (b >> d * block) & ((1 << d) - 1) for block in range(lists)
    )
    left, right, apart = near_pairs(np.array([[a, b]], np.uint64), 3, kind="tables")
    assert (left.tolist(), right.tolist(), apart.tolist()) == ([0], [1], [lists])


def test_the_least_sum_guarantees_nothing() -> None:
    """Section 7.1.1: a weight of the least sum of all 'might guarantee a bit flip'; it is one chance in two."""
    assert FlipWeight(1, 0.5).needed == 1 and FlipWeight(1, 0.99).needed == 7
    with pytest.raises(ParameterError, match="probability"):
        FlipWeight(1, 1.0)


def test_a_sum_of_exactly_0_is_the_bit_0_and_no_features_are_no_fingerprint() -> None:
    features = Features(
        np.array([0, 1, 1]), np.array([5], np.uint64), np.array([0.0], np.float32), distinct=True
    )
    signed = SignBits(64)(features)
    assert signed.slots.tolist() == [[0, 0], [0, 0]] and signed.present.tolist() == [True, False]
    plan = get_method("simhash").plan(weights="tf")
    assert plan.view.represent(plan.text(Texts.from_strings(["…"]))).sizes.tolist() == [0]


def test_one_precision_of_table_6_1_is_out_of_order() -> None:
    """Precision falls with the distance in every row but one."""
    rising = [
        name
        for name, (_, precision, _) in VARIANTS.items()
        if None not in precision and list(precision) != sorted(precision, reverse=True)
    ]
    assert rising == ["tagged text"]


def test_the_constants_of_the_experiments_are_the_defaults() -> None:
    """But for thresholds of weights: with log idf 0.1 and 0.3 drop what 0.01 and 0.5 drop with tf / df."""
    from neardup.features.shingles import Shingles
    from neardup.index.upkeep import REFRESH_AFTER
    from neardup.weights.notation import parse_weights
    from neardup.weights.position import TagBoost
    from neardup.weights.shape import Threshold, Top, TopShare

    low, high, top, share, tags = parse_weights("low, high, top, top_share, tags", Shingles(1))
    assert (low, high, top, share) == (Threshold(0.1), Threshold(0.3), Top(20), TopShare(0.1))
    assert isinstance(tags, TagBoost) and tags.factor == 1.5
    assert REFRESH_AFTER == 1_000_000
