"""The exact matchers find every pair that reaches the threshold and no other, whatever the collection."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from neardup import kernels
from neardup.candidates import partitions, prefix
from neardup.candidates.exact import Exact, FeatureSets, JoinedPairs, collect, exact_pairs, expand
from neardup.columns import Features
from neardup.errors import ParameterError, PlanError
from neardup.kernels.exact import overlap
from neardup.thresholds import as_fraction
from neardup.weights.counts import Counts

THRESHOLDS = [k / 20 for k in range(1, 21)]
MATCHERS = ["prefix", "partitions"]
SPREAD = 0x9E3779B97F4A7C15
Document = dict[int, int]


def make_features(documents: list[Document], weighted: bool = True) -> Features:
    rows = [sorted((h * SPREAD % 2**64, count) for h, count in row.items()) for row in documents]
    offsets = np.cumsum([0, *map(len, rows)])
    hashes = np.array([h for row in rows for h, _ in row], np.uint64)
    weights = np.array([count for row in rows for _, count in row], np.float32)
    return Features(offsets, hashes, weights if weighted else None, distinct=True)


def by_force(features: Features, threshold: float) -> list[list[int]]:
    """(left, right, shared) of all similar pairs."""
    weights = np.zeros(0, np.float32) if features.weights is None else features.weights
    sizes = features.sizes
    if len(weights):
        sums = np.zeros(len(features))
        kernels.weighted.sum_weights(features.offsets, weights, False, sums)
        sizes = sums.astype(np.int64)
    limit = as_fraction(threshold)
    ratio = (limit.numerator, limit.denominator)
    out = np.zeros((5000, 3), np.int64)
    while (count := brute_force(features.hashes, weights, features.offsets, sizes, ratio, out)) > len(out):
        out = np.zeros((count, 3), np.int64)
    return out[:count].tolist()


@kernels.jit
def brute_force(hashes, weights, offsets, sizes, limit, out):
    """The number of pairs of documents that reach the limit, the first of which are written to out."""
    p, q = limit
    count = 0
    for a in range(len(sizes)):
        for b in range(a + 1, len(sizes)):
            needed = max((p * (sizes[a] + sizes[b]) + p + q - 1) // (p + q), 1)
            shared = overlap(hashes, weights, offsets, a, b, (sizes[a], sizes[b]), needed)
            if shared >= 0:
                if count < len(out):
                    out[count, 0], out[count, 1], out[count, 2] = a, b, shared
                count += 1
    return count


def found_by(sets: FeatureSets, matches: JoinedPairs) -> list[list[int]]:
    pairs = expand(sets, matches)
    return np.stack([pairs.left, pairs.right, pairs.shared], axis=1).astype(int).tolist()


def random_collection(random: np.random.Generator, base: int) -> list[Document]:
    """Up to 24 documents: some at random, some empty, most of them copied from others and changed here and there."""
    words, most = int(random.integers(1, 60)), int(random.integers(1, 5))
    documents: list[Document] = []
    for _ in range(random.integers(2, 25)):
        if documents and random.random() < 0.6:
            row = dict(documents[random.integers(len(documents))])
            for _ in range(random.integers(0, 4)):
                word = base + int(random.integers(words))
                if random.random() < 0.5 or word not in row:
                    row[word] = int(random.integers(1, most + 1))
                else:
                    del row[word]
        else:
            chosen = random.integers(0, words, random.integers(0, 40))
            row = {base + int(word): int(random.integers(1, most + 1)) for word in chosen}
        documents.append(row)
    return documents


def check_random_collections(rounds: int, together: int) -> int:
    """Collections of words of their own are matched together, which costs less; each at every other threshold."""
    pairs = 0
    for number in range(rounds):
        random = np.random.default_rng(number)
        documents = [
            row
            for part in range(together)
            for row in random_collection(random, 100 * part * (number % 4 > 0))
        ]
        features = make_features(documents, weighted=number % 2 == 0)
        sets = collect(features)
        for threshold in THRESHOLDS[number // 2 % 2 :: 2]:
            limit, expected = as_fraction(threshold), by_force(features, threshold)
            pairs += len(expected)
            assert found_by(sets, prefix.match(sets, limit, 1 + number % 2)) == expected
            assert found_by(sets, partitions.match(sets, limit, 1 + number % 2)) == expected
    return pairs


def test_five_hundred_random_collections_at_every_threshold() -> None:
    assert check_random_collections(rounds=25, together=20) > 25_000


@pytest.mark.slow
def test_twenty_thousand_random_collections_at_every_threshold() -> None:
    check_random_collections(rounds=1000, together=20)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_sizes_at_the_borders_of_partitions(threshold: float) -> None:
    begins = partitions.boundaries(as_fraction(threshold), 120).tolist()
    sizes = sorted({size for begin in begins for size in (begin - 1, begin, begin + 1) if 0 < size <= 130})
    documents = [dict.fromkeys(range(size), 1) for size in sizes]  # one inside the other: similarity = L / L'
    documents += [{0: size, 1: 1} for size in sizes]
    features = make_features(documents)
    sets, limit = collect(features), as_fraction(threshold)
    expected = by_force(features, threshold)
    for matches in (
        prefix.match(sets, limit),
        partitions.match(sets, limit),
        partitions.match(sets, limit, pruning=False),
        partitions.match(sets, limit, partitions=False),
    ):
        assert found_by(sets, matches) == expected


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.77, 0.9, 0.99, 1.0])
def test_partitions_fulfil_the_conditions_of_section_4_2(threshold: float) -> None:
    limit = as_fraction(threshold)
    begins = partitions.boundaries(limit, 1000)
    number = np.searchsorted(begins, np.arange(1, 1001), "right")
    for small in range(1, 1001):
        largest = min(int(small / limit), 1000)  # of the sizes similar to it
        assert number[largest - 1] - number[small - 1] <= 1, "(A)"
        same = np.flatnonzero(number == number[small - 1]) + 1
        assert Fraction(small, int(same.max())) >= limit or same.max() <= small, "(B)"
    for before, begin in pairwise(begins.tolist()[1:-1]):  # (C): moved to the left, a border would break (A)
        if begin > before + 1:
            assert Fraction(before - 1, begin - 1) >= limit, "both would be similar and two partitions apart"


def test_the_recurrence_as_printed_gives_other_numbers_of_partitions_than_the_paper() -> None:
    """SpotSigs 5.1 has 501, 41 and 3 for ρ = 1000; its own recurrence gives these."""

    def count(limit: Fraction) -> int:
        begin, number = 1, 0
        while begin <= 1000:
            begin, number = int(begin / limit) + 1, number + 1
        return number

    assert [count(Fraction(k, 10)) for k in (10, 9, 1)] == [1000, 49, 3]
    ours = [len(partitions.boundaries(Fraction(k, 10), 1000)) - 1 for k in (10, 9, 1)]
    assert ours[0] == 1000
    assert all(mine >= theirs for mine, theirs in zip(ours, [1000, 49, 3], strict=True)), (
        "no wider than theirs"
    )


D1, D2, D3 = {1: 5, 2: 4, 3: 4}, {1: 8, 2: 4}, {1: 4, 2: 5, 3: 5}


def test_the_example_of_section_4_3_2_needs_one_computation_for_d1() -> None:
    sets = collect(make_features([D1, D2, D3]))
    assert sets.sizes.tolist() == [12, 13, 14]
    together = partitions.match(sets, Fraction(4, 5), partitions=False)
    assert found_by(sets, together) == [[0, 2, 12]]
    assert together.work.computed.tolist() == [2, 1, 0], "d2, d1, d3; d3 has nothing longer to meet"
    apart = partitions.match(sets, Fraction(4, 5))
    assert found_by(sets, apart) == [[0, 2, 12]]
    assert apart.work.computed[1] == 1
    unpruned = partitions.match(sets, Fraction(4, 5), partitions=False, pruning=False)
    assert unpruned.work.computed.sum() == 3
    assert unpruned.work.visits > together.work.visits


@pytest.mark.parametrize("matcher", MATCHERS)
def test_what_line_17_as_printed_would_miss(matcher: str) -> None:
    features = make_features([dict.fromkeys(range(10), 1), dict.fromkeys(range(1, 10), 1)])
    assert exact_pairs(features, 0.9, matcher).similarity.tolist() == [0.9]
    assert len(exact_pairs(features, 0.91, matcher)) == 0


@pytest.mark.parametrize("matcher", MATCHERS)
def test_copies_are_reported_and_empty_documents_are_not(matcher: str) -> None:
    features = make_features([{}, D1, {}, D1, D2, D1, {7: 1}])
    pairs = exact_pairs(features, 1.0, matcher)
    assert [*zip(pairs.left, pairs.right, strict=True)] == [(1, 3), (1, 5), (3, 5)]
    assert pairs.similarity.tolist() == [1, 1, 1]
    for none in (make_features([]), make_features([{}, {}]), make_features([{1: 1}])):
        assert len(exact_pairs(none, 0.5, matcher)) == 0


@pytest.mark.parametrize("matcher", MATCHERS)
def test_threads_and_the_order_of_documents_change_nothing(matcher: str) -> None:
    random = np.random.default_rng(5)
    documents = [row for part in range(60) for row in random_collection(random, 40 * part)]
    expected = by_force(make_features(documents), 0.6)
    place = random.permutation(len(documents))
    shuffled = make_features([documents[d] for d in place])
    for threads in (1, 2, 5):
        pairs = exact_pairs(make_features(documents), 0.6, matcher, threads)
        assert np.stack([pairs.left, pairs.right, pairs.shared], 1).tolist() == expected
        pairs = exact_pairs(shuffled, 0.6, matcher, threads)
        back = np.sort(np.stack([place[pairs.left], place[pairs.right]], 1), axis=1)
        assert sorted(back.tolist()) == [row[:2] for row in expected]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_feature_of_every_document_does_not_bring_all_documents_together(matcher: str) -> None:
    common = dict.fromkeys(range(10), 1)
    documents = [common | dict.fromkeys(range(100 * d + 50, 100 * d + 70), 1) for d in range(3000)]
    sets = collect(make_features(documents))
    matches = {"prefix": prefix.match, "partitions": partitions.match}[matcher](sets, Fraction(4, 5), 1)
    assert len(matches.left) == 0
    assert matches.work.visits < 10 * len(documents)


def test_features_of_any_kind_will_do() -> None:
    occurrences = Features(np.array([0, 4, 7]), np.array([5, 6, 5, 7, 7, 6, 5], np.uint64))
    assert exact_pairs(occurrences, 1.0).similarity.tolist() == [1.0], "as sets they are equal"
    assert exact_pairs(Counts()(occurrences), 0.7).similarity.tolist() == [0.75], "as multi-sets they are not"
    assert Exact("partitions").pairs(Counts()(occurrences), 0.7).shared.tolist() == [3]


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, 1e-12, float("nan")])
def test_thresholds_are_above_0_and_up_to_1(threshold: float) -> None:
    with pytest.raises(ParameterError, match="above 0 and up to 1"):
        exact_pairs(make_features([D1]), threshold)


def test_what_cannot_be_matched_is_refused() -> None:
    with pytest.raises(ParameterError, match="one of 'auto', 'prefix', 'partitions'"):
        exact_pairs(make_features([D1]), 0.5, "other")
    half = Features(np.array([0, 1]), np.array([1], np.uint64), np.array([0.5], np.float32), distinct=True)
    with pytest.raises(PlanError, match="whole weights"):
        exact_pairs(half, 0.5)
    loose = Features(np.array([0, 1]), np.array([1], np.uint64), np.array([1], np.float32))
    with pytest.raises(PlanError, match="distinct"):
        exact_pairs(loose, 0.5)
