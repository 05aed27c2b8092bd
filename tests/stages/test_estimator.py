"""The share of equal slots estimates Jaccard without bias and with the variance of independent slots.

Sets of 10 to 100,000 features, many seeds: the mean is within 3 standard errors of the truth, and the variance
is J(1 − J)/k as it is for a binomial sample. A family of permutations that is not min-wise independent, or
whose members depend on each other, fails one or the other (the last tests show that they would notice).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Texts
from neardup.features.shingles import Shingles, factors
from neardup.signatures.minhash import MinHash
from neardup.text.words import Words
from neardup.verify.jaccard import Jaccard

SLOTS = 128
SIZES = {10: 1500, 100: 1500, 1_000: 800, 10_000: 200, 100_000: 40}  # features of the union: seeds tried
MakeFeatures = Callable[[int, int], Hashes]  # so many different ones, by seed


def random_features(size: int, seed: int) -> Hashes:
    return np.random.default_rng([size, seed]).integers(0, 2**64, size, dtype=np.uint64)


def shingled_integers(size: int, seed: int) -> Hashes:
    """The most regular tokens there can be, the integers from 0, as the shingle kernel hashes them."""
    hashes = np.empty(size + 1, np.uint64)
    tokens = np.arange(size, dtype=np.uint64)
    kernels.shingles.shingle(tokens, np.array([0, size]), factors(1), hashes)
    return hashes[:size]


def unmixed_integers(size: int, seed: int) -> Hashes:
    """What the permutations must never be given."""
    return np.arange(size, dtype=np.uint64) << np.uint64(32)


def estimates(
    make: MakeFeatures, size: int, jaccard: float, seeds: int, slots: int = SLOTS
) -> tuple[float, NDArray[np.float64]]:
    """The Jaccard similarity of two sets, and its estimate by each seed."""
    shared = round(jaccard * size)
    middle = (shared + size) // 2
    found = np.empty(seeds)
    for seed in range(seeds):
        union = make(size, seed)
        both, left, right = union[:shared], union[shared:middle], union[middle:]
        offsets = np.cumsum([0, shared + len(left), shared + len(right)])
        features = Features(offsets, np.concatenate([both, left, both, right]))
        first, second = MinHash(slots, seed)(features).slots
        found[seed] = np.mean(first == second)
    return shared / size, found


def bias_in_standard_errors(truth: float, found: NDArray[np.float64]) -> float:
    return float((found.mean() - truth) / np.sqrt(truth * (1 - truth) / SLOTS / len(found)))


def variance_ratio(truth: float, found: NDArray[np.float64]) -> float:
    return float(np.mean((found - truth) ** 2) / (truth * (1 - truth) / SLOTS))


@pytest.mark.parametrize("make", [random_features, shingled_integers])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("jaccard", [0.1, 0.5, 0.7, 0.9])
def test_an_estimate_has_no_bias_and_the_variance_of_a_binomial(
    make: MakeFeatures, size: int, jaccard: float
) -> None:
    truth, found = estimates(make, size, jaccard, SIZES[size])
    assert abs(bias_in_standard_errors(truth, found)) < 3
    assert variance_ratio(truth, found) == pytest.approx(1, abs=4 * (2 / len(found)) ** 0.5)


@pytest.mark.parametrize("make", [random_features, shingled_integers])
@pytest.mark.parametrize("jaccard", [0.0, 1.0])
def test_disjoint_sets_agree_nowhere_and_equal_sets_everywhere(make: MakeFeatures, jaccard: float) -> None:
    _, found = estimates(make, 2_000, jaccard, 50)
    assert np.all(found == jaccard)


def prose(random: np.random.Generator, length: int) -> list[str]:
    """Words as frequent as in a language: few very common ones, many rare ones."""
    return [f"word{number}" for number in np.minimum(random.zipf(1.3, length), 5_000)]


def edited(random: np.random.Generator, words: list[str], share: float) -> list[str]:
    """The same words but for some that are replaced."""
    return [f"edit{random.integers(10**6)}" if random.random() < share else word for word in words]


def test_shingles_of_prose_are_estimated_as_well() -> None:
    """Overlapping shingles of common words are as structured as real features get."""
    random = np.random.default_rng(5)
    originals = [prose(random, length) for length in [40, 120, 400, 1500] * 15]
    copies = [
        edited(random, words, share) for words, share in zip(originals, [0.01, 0.03, 0.1] * 20, strict=True)
    ]
    texts = Texts.from_strings(
        [" ".join(words) for pair in zip(originals, copies, strict=True) for words in pair]
    )
    features = Shingles(5)(Words()(texts))
    left = np.arange(0, len(texts), 2)
    truth = Jaccard().measure(features, left, left + 1).similarity
    inside = (truth > 0) & (truth < 1)
    assert inside.sum() > 40
    scores = []
    for seed in range(100):
        slots = MinHash(SLOTS, seed)(features).slots
        share = np.mean(slots[left] == slots[left + 1], axis=1)
        scores.append(((share - truth)[inside]) / np.sqrt(truth * (1 - truth) / SLOTS)[inside])
    every = np.array(scores)
    assert abs(every.mean()) < 3 / every.size**0.5
    assert np.mean(every**2) == pytest.approx(1, abs=4 * (2 / every.size) ** 0.5)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_slots_of_one_seed_do_not_depend_on_each_other(seed: int) -> None:
    """Over many pairs of sets, no two of the 128 slots agree together more often than chance has it."""
    pairs, size, shared = 6_000, 40, 24
    union = np.random.default_rng(seed).integers(0, 2**64, (pairs, size), dtype=np.uint64)
    left = union[:, : (size + shared) // 2]
    right = np.concatenate([union[:, :shared], union[:, (size + shared) // 2 :]], axis=1)
    slots = [
        MinHash(SLOTS, seed)(Features(np.arange(pairs + 1) * side.shape[1], side.ravel())).slots
        for side in (left, right)
    ]
    agree = (slots[0] == slots[1]) - shared / size
    correlation = agree.T @ agree / pairs / (shared / size * (1 - shared / size))
    apart = correlation[~np.eye(SLOTS, dtype=bool)] * pairs**0.5
    assert np.abs(apart).max() < 5.5  # 8,128 pairs of slots: 4 is to be expected
    assert np.abs(agree.mean(axis=0)).max() < 4 * (shared / size * (1 - shared / size) / pairs) ** 0.5


@pytest.mark.parametrize("size", [5, 10, 30, 200])
def test_bands_of_four_slots_agree_as_often_as_independent_slots_would(size: int) -> None:
    """Three slots in arithmetic progression depend on each other; scattered over the bands that does not show."""
    pairs, bands, shared = 6_000, 17, round(0.7 * size)
    found, agreeing = 0.0, 0.0
    for seed in range(4):
        union = np.random.default_rng([size, seed]).integers(0, 2**64, (pairs, size), dtype=np.uint64)
        middle = (size + shared) // 2
        sides = union[:, :middle], np.concatenate([union[:, :shared], union[:, middle:]], axis=1)
        slots = [
            MinHash(4 * bands, seed)(Features(np.arange(pairs + 1) * side.shape[1], side.ravel())).slots
            for side in sides
        ]
        band = (slots[0] == slots[1]).reshape(pairs, bands, 4).all(axis=2)
        agreeing += band.mean() / 4
        found += band.any(axis=1).mean() / 4
    p = (shared / size) ** 4
    assert agreeing == pytest.approx(p, abs=5 * (p * (1 - p) / pairs / bands / 4) ** 0.5)
    assert found == pytest.approx(1 - (1 - p) ** bands, abs=0.01)


def test_a_bias_would_be_noticed() -> None:
    """Multiplication does not mix: integers in a row need the mixing that the shingle kernel gives them."""
    truth, found = estimates(unmixed_integers, 100, 0.9, 300)
    assert abs(bias_in_standard_errors(truth, found)) > 10


def test_dependent_slots_would_be_noticed() -> None:
    """64 slots, each counted twice: the mean is right, the variance is double."""
    truth, found = estimates(random_features, 100, 0.5, 1500, slots=SLOTS // 2)
    assert abs(bias_in_standard_errors(truth, found)) < 3
    assert variance_ratio(truth, found) > 1 + 8 * (2 / len(found)) ** 0.5


def test_a_document_without_features_is_absent_and_any_other_is_present() -> None:
    features = Features(np.array([0, 0, 1, 1, 3]), np.array([7, 8, 9], np.uint64))
    signatures = MinHash(8)(features)
    assert signatures.present.tolist() == [False, True, False, True]
    assert (signatures.slots[~signatures.present] == 2**32 - 1).all()


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 126])
def test_any_number_of_slots_can_be_asked_for(slots: int) -> None:
    features = Features(np.array([0, 50]), random_features(50, 1))
    found = MinHash(slots, 9)(features).slots
    assert found.shape == (1, slots)
    assert len({*found[0].tolist()}) == slots


def test_another_seed_gives_other_slots() -> None:
    features = Features(np.array([0, 50]), random_features(50, 1))
    assert not np.any(MinHash(64, 1)(features).slots == MinHash(64, 2)(features).slots)
