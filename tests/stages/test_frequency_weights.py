"""Weights by document frequency, content words, and the selection of one feature in p."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import neardup
from neardup.columns import Features, Texts, Tokens
from neardup.errors import ParameterError, StatisticsError
from neardup.features.shingles import Shingles
from neardup.features.words import ContentWords
from neardup.plan import stage_json
from neardup.signatures.minhash import MinHash
from neardup.statistics import Frequencies, Statistics, count_features
from neardup.text.words import Words
from neardup.weights.counts import Counts
from neardup.weights.frequency import IdfRange, TfIdf, normalised_idf
from neardup.weights.selection import OneIn

WORD = Shingles(1)
NO_TOKENS = Tokens(
    np.zeros(1, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0, np.uint8)
)


def features(*rows: list[int]) -> Features:
    offsets = np.cumsum([0, *map(len, rows)])
    return Features(offsets, np.array([value for row in rows for value in row], np.uint64))


def rows(some: Features) -> list[list[int]]:
    return [some.hashes[a:b].tolist() for a, b in zip(some.offsets[:-1], some.offsets[1:], strict=True)]


def statistics(documents: int, counts: dict[int, int]) -> Statistics:
    keys = np.array(sorted(counts), np.uint64)
    table = Frequencies(keys, np.array([counts[key] for key in sorted(counts)], np.int64))
    return Statistics(documents, stage_json(Words()), {stage_json(WORD): table})


# Normalised idf


def test_normalised_idf_is_the_papers_formula() -> None:
    """SpotSigs, 5.1: log(N / df) / log N."""
    found = normalised_idf(np.array([1, 10, 100, 1000]), 1000)
    assert found == pytest.approx([1.0, 2 / 3, 1 / 3, 0.0])
    assert normalised_idf(np.array([7]), 2160)[0] == pytest.approx(math.log(2160 / 7) / math.log(2160))


def test_one_document_makes_everything_rare() -> None:
    assert normalised_idf(np.array([1, 1]), 1).tolist() == [1.0, 1.0]
    assert normalised_idf(np.array([], np.int64), 0).tolist() == []


def test_counts_of_a_larger_collection_are_no_less_than_in_every_document() -> None:
    """Statistics that were frozen may be of fewer documents than a feature was later met in."""
    assert normalised_idf(np.array([50]), 10).tolist() == [0.0]


# IdfRange


def test_both_bounds_of_the_range_are_inside() -> None:
    counted = statistics(16, {1: 1, 2: 2, 4: 4, 8: 8, 16: 16})  # idf 1, ¾, ½, ¼, 0
    some = features([1, 2, 4, 8, 16], [], [4, 4, 16])
    assert rows(IdfRange(WORD, 0.25, 0.75)(some, NO_TOKENS, counted)) == [[2, 4, 8], [], [4, 4]]
    assert rows(IdfRange(WORD, 0.0, 1.0)(some, NO_TOKENS, counted)) == rows(some)
    assert rows(IdfRange(WORD, 0.5, 0.5)(some, NO_TOKENS, counted)) == [[4], [], [4, 4]]
    assert rows(IdfRange(WORD, 0.3, 0.4)(some, NO_TOKENS, counted)) == [[], [], []]


def test_what_was_never_counted_is_as_rare_as_what_was_seen_once() -> None:
    counted = statistics(16, {1: 1, 2: 16})
    assert rows(IdfRange(WORD, 0.9, 1.0)(features([1, 2, 99]), NO_TOKENS, counted)) == [[1, 99]]


def test_weights_and_positions_go_with_their_features() -> None:
    some = Features(
        np.array([0, 2, 3]),
        np.array([1, 2, 1], np.uint64),
        np.array([0.5, 2, 3], np.float32),
        np.array([7, 8, 9], np.uint32),
    )
    kept = IdfRange(WORD, 0.9, 1.0)(some, NO_TOKENS, statistics(4, {1: 1, 2: 4}))
    assert kept.weights is not None and kept.positions is not None
    assert (rows(kept), kept.weights.tolist(), kept.positions.tolist()) == ([[1], [1]], [0.5, 3], [7, 9])


def test_the_range_without_statistics_is_refused() -> None:
    with pytest.raises(StatisticsError, match="count them first"):
        IdfRange(WORD)(features([1]), NO_TOKENS, None)
    with pytest.raises(StatisticsError, match="do not cover"):
        IdfRange(Shingles(2))(features([1]), NO_TOKENS, statistics(1, {1: 1}))


documents = st.lists(st.lists(st.integers(1, 9), max_size=8), min_size=1, max_size=6)


@given(documents, st.sampled_from([(0.0, 0.5), (0.2, 0.85), (0.4, 0.75), (0.5, 1.0)]))
def test_the_range_is_the_one_of_plain_logarithms(some: list[list[int]], bounds: tuple[float, float]) -> None:
    df = Counter(value for row in some for value in set(row))
    n = len(some)
    idf = {value: math.log(n / count) / math.log(n) if n > 1 else 1.0 for value, count in df.items()}
    counted = Statistics(n, "", {stage_json(WORD): count_features(features(*some))})
    found = rows(IdfRange(WORD, *bounds)(features(*some), NO_TOKENS, counted))
    near = {value for value in idf if min(abs(idf[value] - bound) for bound in bounds) < 1e-12}
    expected = [[value for value in row if bounds[0] <= idf[value] <= bounds[1]] for row in some]
    assert [[v for v in row if v not in near] for row in found] == [
        [v for v in row if v not in near] for row in expected
    ]


# TfIdf


@given(documents)
def test_tf_idf_is_the_count_times_the_logarithm(some: list[list[int]]) -> None:
    df = Counter(value for row in some for value in set(row))
    counted = Statistics(len(some), "", {stage_json(WORD): count_features(features(*some))})
    weighed = TfIdf(WORD)(features(*some), NO_TOKENS, counted)
    assert weighed.weights is not None and weighed.distinct
    expected = [
        count * math.log((len(some) + 1) / df[value])
        for row in some
        for value, count in sorted(Counter(row).items())
    ]
    assert rows(weighed) == [sorted(set(row)) for row in some]
    assert weighed.weights.tolist() == pytest.approx(expected, rel=1e-6)
    assert all(weight > 0 for weight in weighed.weights.tolist()), "no document vanishes"


def test_counted_features_keep_their_counts() -> None:
    counted = statistics(3, {1: 3, 2: 1})
    once = TfIdf(WORD)(Counts()(features([1, 1, 2])), NO_TOKENS, counted)
    assert once.weights is not None
    assert once.weights.tolist() == pytest.approx([2 * math.log(4 / 3), math.log(4)])


# Content words


def content(text: str, **options: object) -> list[int]:
    return ContentWords(**options)(Words()(Texts.from_strings([text]))).hashes.tolist()  # type: ignore[arg-type]


def words(text: str) -> list[int]:
    return WORD(Words()(Texts.from_strings([text]))).hashes.tolist()


def test_stop_words_are_left_out_and_nothing_else() -> None:
    assert content("The harbour was closed, and the harbour is grey.") == words("harbour closed harbour grey")
    assert content("the and was of a") == []
    assert content("") == []
    assert content("Der Hafen ist klein", stopwords="de") == words("Hafen klein")
    assert content("Der Hafen and the harbour", stopwords="de+en") == words("Hafen harbour")
    assert content("The harbour was closed", stopwords=("closed", "WAS")) == words("The harbour")
    assert content("The harbour", stopwords=()) == words("The harbour")


def test_documents_do_not_run_into_each_other() -> None:
    texts = Texts.from_strings(["the", "a harbour", "", "was green and grey"])
    found = ContentWords()(Words()(texts))
    assert found.sizes.tolist() == [0, 1, 0, 2]
    assert found.hashes.tolist() == words("harbour green grey")


def test_an_unknown_language_is_refused_before_anything_is_read() -> None:
    with pytest.raises(ParameterError, match="a language code"):
        ContentWords("xx")


# One in p


def test_one_in_p_stays_and_it_is_the_same_in_every_document() -> None:
    values = np.random.default_rng(3).integers(0, 2**64, 40_000, dtype=np.uint64)
    whole = Features(np.array([0, 30_000, 30_000, 40_000]), values)
    for p in (2, 3, 16, 100):
        kept = OneIn(p)(whole)
        share = len(kept.hashes) / len(values)
        assert share == pytest.approx(1 / p, abs=4 * (1 / p * (1 - 1 / p) / len(values)) ** 0.5)
        assert kept.sizes[1] == 0
        again = OneIn(p)(Features(np.array([0, 40_000]), values[::-1].copy()))
        assert again.hashes.tolist() == kept.hashes[::-1].tolist()


def test_one_in_one_is_all() -> None:
    assert rows(OneIn(1)(features([5, 6], [7]))) == [[5, 6], [7]]


@pytest.mark.parametrize("p", [2, 16])
@pytest.mark.parametrize("similarity", [0.3, 0.7])
def test_min_hashes_of_the_selection_are_unbiased(p: int, similarity: float) -> None:
    """A remainder of the very bits that min-hashes are made of would bias them."""
    random, union = np.random.default_rng(5), 20_000
    values = random.integers(0, 2**64, union, dtype=np.uint64)
    shared = round(similarity * union)
    own = (union - shared) // 2
    left, right = values[: shared + own], np.concatenate([values[:shared], values[shared + own :]])
    both = Features(np.cumsum([0, len(left), len(right)]), np.concatenate([left, right]))
    kept = OneIn(p)(both)
    a, b = (set(row) for row in rows(kept))
    truth = len(a & b) / len(a | b)
    slots = MinHash(4096)(kept).slots
    found = float((slots[0] == slots[1]).mean())
    assert found == pytest.approx(truth, abs=4.5 * (truth * (1 - truth) / 4096) ** 0.5)
    assert truth == pytest.approx(similarity, abs=5 * (similarity * (1 - similarity) * p / union) ** 0.5)


def test_the_features_that_stay_are_those_of_the_plain_formula() -> None:
    values = [0, 1, 2**63, 2**64 - 1, *range(1000, 1200)]
    assert rows(OneIn(7)(features(values))) == [[v for v in values if naive.stirred(v) % 7 == 0]]


def test_ruled_lines_do_not_make_unlike_texts_alike() -> None:
    """Each = is a token: by its count it would outweigh the words of a text."""
    source, rule = random.Random(3), "=" * 60
    texts = [" ".join(source.choices([f"w{k}" for k in range(500)], k=40)) for _ in range(30)]
    ruled = [f"{rule}\n{text}\n{rule}" if k % 2 else text for k, text in enumerate(texts)]
    assert len(neardup.pairs(ruled, method="cosine")) == 0
    counted = neardup.pairs(ruled, method="cosine", weights="tfidf", threshold=0.9)
    assert len(counted) == 105, "what counts did: all pairs of the 15 texts with ruled lines"
