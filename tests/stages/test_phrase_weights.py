"""Weights of phrases: the grid of the paper's sections 4.3 to 4.5, and what is common."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neardup.columns import Features, Texts, Tokens
from neardup.errors import ParameterError, PlanError, StatisticsError
from neardup.features.passages import PassageWords
from neardup.features.shingles import Shingles
from neardup.plan import stage_json
from neardup.statistics import Statistics, count_features
from neardup.text.words import Words
from neardup.weights.phrases import FUNCTIONS, PhraseWeight

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
        "idf": lambda df: math.log(1 + n / df),
        **{f"df{p or ''}": lambda df, p=p: (df / n) ** (p or 1) for p in ("", 2, 3, 4)},
        **{f"ln_df{p or ''}": lambda df, p=p: math.log(1 + df) ** (p or 1) for p in ("", 2, 3, 4, 10)},
    }[function]
    assert found[phrase("the cat")] == pytest.approx(expected(DF["the"]))
    assert found[phrase("cat sat")] == pytest.approx(expected(DF["cat"]))


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


def test_clear_answers_to_what_does_not_fit() -> None:
    tokens = tokens_of(CORPUS)
    with pytest.raises(StatisticsError, match="--stats"):
        plain()(Shingles(2)(tokens), tokens, None)
    with pytest.raises(StatisticsError, match="do not cover"):
        plain()(Shingles(2)(tokens), tokens, Statistics(1, "", {}))
    with pytest.raises(PlanError, match="must follow the phrases"):
        plain()(Features(np.array([0, 1]), np.zeros(1, np.uint64)), tokens, statistics(plain()))
    with pytest.raises(ParameterError, match="function"):
        plain(function="tf")
