"""Weights of phrases: the grid of the paper's sections 4.3 to 4.5, and what is common."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import neardup
from neardup.columns import Features, Texts, Tokens
from neardup.errors import ParameterError, PlanError, StatisticsError
from neardup.features.passages import PassageWords
from neardup.features.shingles import Shingles
from neardup.plan import View, Weight, stage_json
from neardup.registry import get_method
from neardup.statistics import Statistics, count_features
from neardup.text.words import Words
from neardup.weights.counts import Counts
from neardup.weights.frequency import IdfRange, TfIdf
from neardup.weights.phrases import FUNCTIONS, PhraseWeight, heaviest
from neardup.weights.position import Position
from neardup.weights.selection import OneIn
from neardup.weights.shape import Damp, Middle, Threshold, Top, TopShare

REPEATED = [
    "the cat saw the cat on the mat and the cat saw the dog",
    "the dog",
    "",
    "a cat on the mat saw the dog",
]
CORPUS = ["the cat sat on the mat", "the dog sat on the mat", "a bird sang on the roof", "the end", ""]


def tokens_of(texts: list[str]) -> Tokens:
    return Words()(Texts.from_strings(texts))


def statistics(weight: PhraseWeight, texts: list[str] = CORPUS) -> Statistics:
    tokens = tokens_of(texts)
    tables = {stage_json(stage): count_features(stage(tokens)) for stage in weight.counts}
    return Statistics(len(texts), stage_json(Words()), tables)


def look(weight: PhraseWeight, texts: list[str], known: Statistics | None = None) -> list[dict[int, float]]:
    tokens = tokens_of(texts)
    found = weight(weight.phrases(tokens), tokens, known or statistics(weight))
    bounds = zip(found.offsets[:-1], found.offsets[1:], strict=True)
    return [
        dict(zip(found.hashes[a:b].tolist(), found.weights[a:b].tolist(), strict=True)) for a, b in bounds
    ]


def plain(**options: object) -> PhraseWeight:
    return PhraseWeight(Shingles(2), Shingles(1), **{"around": 0, "rare": 1.0, **options})  # type: ignore[arg-type]


def phrase(text: str, width: int = 2) -> int:
    return int(Shingles(width)(tokens_of([text])).hashes[0])


DF = {"the": 4, "cat": 1, "sat": 2, "on": 3, "mat": 2}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_table_4(function: str) -> None:
    found = look(plain(function=function), ["the cat sat"])[0]
    n = len(CORPUS)
    expected = {
        "uniform": lambda df: 1.0,
        "ln_idf": lambda df: math.log(n / df),
        "idf": lambda df: math.log(1 + n / df),
        **{f"df{p or ''}": lambda df, p=p: (df / n) ** (p or 1) for p in ("", 2, 3, 4)},
        **{f"ln_df{p or ''}": lambda df, p=p: math.log(1 + df) ** (p or 1) for p in ("", 2, 3, 4, 10)},
    }[function]
    assert found[phrase("the cat")] == pytest.approx(expected(DF["the"]))
    assert found[phrase("cat sat")] == pytest.approx(expected(DF["cat"]))


def test_super_shingles_of_samples_and_the_sampler_of_the_paper() -> None:
    one, two = (get_method("rare_phrases").plan(agree=agree) for agree in (1, 2))
    assert (two.candidates.groups, two.candidates.width, two.candidates.agree) == (6, 14, 2)
    assert two.candidates.probability(0.9) == pytest.approx(0.415, abs=0.001)
    assert one.candidates.agree == 1
    with pytest.raises(ParameterError, match="at most the number of bands, 6"):
        get_method("rare_phrases").plan(agree=7)
    samplers = [
        get_method("rare_phrases").plan(**options).view.signature.sampler  # type: ignore[union-attr]
        for options in ({}, {"around": 0}, {"sampler": "ioffe"}, {"around": 0, "sampler": "ioffe"})
    ]
    assert samplers == ["darts", "clocks", "ioffe", "ioffe"]
    text = "the harbour of the town is closed for the winter and the ferry does not sail before the spring"
    found = [
        neardup.dedup([text, text + " again", "another text"], method="rare_phrases", **options)
        for options in ({"agree": 2, "bands": 8, "rows": 1}, {"sampler": "ioffe"})
    ]
    assert [len(one.removed) for one in found] == [1, 1]


def test_the_inverse_of_the_phrase_and_words_that_nobody_counted() -> None:
    found = look(plain(function="df", inverse=True), ["the mat", "zebra crossing here"])
    assert found[0] == {phrase("the mat"): pytest.approx(4 / 5 / 2)}
    assert all(
        weight == pytest.approx(1 / 5) for weight in found[1].values()
    )  # df 0 counts as 1: rare, not nothing


def test_common_phrases_are_left_out_and_unknown_ones_are_rare() -> None:
    found = look(plain(common_above=1), ["the cat sat on the mat near me"])[0]
    assert phrase("on the") not in found and phrase("the mat") not in found
    assert phrase("the cat") in found and phrase("near me") in found


def test_rare_is_a_share_of_the_phrases_of_two_documents() -> None:
    rows = [*(f"pair{k} x" for k in range(8) for _ in range(2)), *("thrice y",) * 3, *("four z",) * 4]
    known = statistics(plain(), rows)
    texts = ["pair1 x", "thrice y", "four z", "new w"]
    for share, kept in ((0.5, 1), (0.85, 2), (0.95, 3)):
        weight = plain(rare=share, alone=0.0)
        assert [bool(row) for row in look(weight, texts, known)] == [kept >= 1, kept >= 2, kept >= 3, True]


def test_a_document_of_common_text_alone_is_compared_by_it() -> None:
    weight = plain(common_above=1)
    both = look(weight, ["on the mat", "on the mat with a very long story of its own"])
    assert set(both[0]) == {phrase("on the"), phrase("the mat")}
    assert phrase("on the") not in both[1]


def test_the_words_around_decide_what_is_running_text() -> None:
    prose = "the man of the house and the dog of the man and the cat of the dog"
    menu = "home sports weather traffic jobs cars homes obituaries"
    weight = PhraseWeight(Shingles(3), PassageWords(10), around=5, rare=1.0)
    known = statistics(weight, [prose, prose, menu, menu])
    story, furniture = (np.mean(list(row.values())) for row in look(weight, [prose, menu], known))
    assert story > 4 * furniture


def test_a_phrase_takes_its_largest_weight() -> None:
    weight = PhraseWeight(Shingles(1), Shingles(1), "df", around=2, rare=1.0)
    found = look(weight, ["cat the the the mat mat cat"])[0]
    assert found[phrase("cat", 1)] == pytest.approx(max(1 + 4, 2 + 2 + 1) / 4 / 5)


def test_batches_do_not_matter() -> None:
    weight = PhraseWeight(Shingles(3), PassageWords(4), around=3)
    known = statistics(weight)
    assert look(weight, CORPUS, known) == [look(weight, ["", text, ""], known)[1] for text in CORPUS]


def test_passages_are_rows_of_their_own() -> None:
    found = PassageWords(2)(tokens_of(["a b c", "", "d", "e f"]))
    assert found.sizes.tolist() == [2, 1, 1, 2]


def test_the_inverse_inside_the_function() -> None:
    before = look(plain(function="df2", inverse=True, inside=True), ["the mat", "the cat"])
    assert before[0] == {phrase("the mat"): pytest.approx((4 / 2 / 5) ** 2)}
    assert before[1] == {phrase("the cat"): pytest.approx((4 / 1 / 5) ** 2)}
    with pytest.raises(ParameterError, match="inside"):
        plain(inside=True)


PHRASES = Shingles(2)
STAGES = [
    Counts(), TfIdf(PHRASES, "log", "smooth"), IdfRange(PHRASES, 0.1, 0.9), OneIn(2), Position(PHRASES), Threshold(0.3),
    Top(3), TopShare(0.5), Middle(0.2, 0.8), Damp(2, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("around", [0, 2])
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: type(stage).__name__)
def test_other_weight_stages_may_come_before(stage: Weight, around: int) -> None:
    """The weight is the product, and what the other stage leaves out stays out."""
    weight = plain(around=around)
    known, tokens = statistics(weight, REPEATED), tokens_of(REPEATED)
    other = stage(PHRASES(tokens), tokens, known)
    both = weight(other, tokens, known)
    alone = look(weight, REPEATED, known)
    for d, (start, stop) in enumerate(zip(both.offsets[:-1], both.offsets[1:], strict=True)):
        mine = slice(*other.offsets[d : d + 2])
        ones = np.ones(len(other.hashes)) if other.weights is None else other.weights
        factors = dict(zip(other.hashes[mine].tolist(), ones[mine].tolist(), strict=True))
        found = dict(zip(both.hashes[start:stop].tolist(), both.weights[start:stop].tolist(), strict=True))
        assert found == pytest.approx({key: alone[d][key] * factor for key, factor in factors.items()})


@pytest.mark.parametrize(
    "stage", [stage for stage in STAGES if not isinstance(stage, Counts)], ids=lambda s: type(s).__name__
)
def test_other_weight_stages_may_come_after(stage: Weight) -> None:
    weight = plain(around=2)
    known, tokens = statistics(weight, REPEATED), tokens_of(REPEATED)
    first = weight(PHRASES(tokens), tokens, known)
    both = stage(first, tokens, known)
    assert both.distinct and both.weights is not None and len(both.hashes) <= len(first.hashes)
    kept = np.isin(first.hashes, both.hashes)
    if not isinstance(stage, (TfIdf, Position, Damp)):
        assert set(both.weights.tolist()) <= set(first.weights[kept].tolist())
    else:
        assert not np.array_equal(both.weights, first.weights)


def test_counting_after_weighing_is_refused() -> None:
    tokens = tokens_of(REPEATED)
    with pytest.raises(PlanError, match="before other weights"):
        Counts()(plain()(PHRASES(tokens), tokens, statistics(plain(), REPEATED)), tokens)


def test_clear_answers_to_what_does_not_fit() -> None:
    tokens = tokens_of(CORPUS)
    with pytest.raises(StatisticsError, match="--stats"):
        plain()(Shingles(2)(tokens), tokens, None)
    with pytest.raises(StatisticsError, match="do not cover"):
        plain()(Shingles(2)(tokens), tokens, Statistics(1, "", {}))
    with pytest.raises(PlanError, match="does not make"):
        plain()(Shingles(3)(tokens), tokens, statistics(plain()))
    with pytest.raises(ParameterError, match="function"):
        plain(function="tf")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("around", [0, 2])
def test_what_is_prepared_gives_the_same_weights_with_other_frequencies(function: str, around: int) -> None:
    """A run prepares once and finishes twice: with the frequencies of texts, and of groups of them."""
    weight = PhraseWeight(Shingles(2), PassageWords(3), function, around)  # type: ignore[arg-type]
    view, tokens = View(Shingles(2), (weight,)), tokens_of([*CORPUS, *REPEATED])
    first, second = statistics(weight), replace(statistics(weight), documents=3, df_unit="clusters")
    prepared = view.prepare(tokens, first)
    for known in (first, second) if weight.prepared_by is not None else (first,):
        found, wanted = view.finish(prepared, known), naive_weights(weight, tokens, known)
        assert np.array_equal(found.offsets, wanted.offsets) and np.array_equal(found.hashes, wanted.hashes)
        assert np.array_equal(found.weights, wanted.weights) and found.weights.dtype == np.float32


def naive_weights(weight: PhraseWeight, tokens: Tokens, known: Statistics) -> Features:
    """The weight of every occurrence, and of equal ones the largest."""
    features = weight.phrases(tokens)
    return weight._only_rare(heaviest(features, weight._word_weights(features, tokens, known)), known)
