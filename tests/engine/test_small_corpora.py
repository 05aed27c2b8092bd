"""Methods on a few texts whose pairs can be worked out by hand, and frequencies that are counted over contents."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import neardup
from corpora import facts
from neardup.registry import methods
from sentences import overlapping, story

COUNTING = [name for name, method in methods().items() if method.plan().counts]


def found(texts: list[str], **options: object) -> dict[tuple[int, int], float]:
    rows = neardup.pairs(texts, **options).to_pylist()
    return {(row["left"], row["right"]): row["similarity"] for row in rows}


def numbered(first: int, last: int) -> list[str]:
    return [f"w{k}" for k in range(first, last)]


# I-Match: sixteen texts, so that a word of 2 to 5 of them (16^0.25 … 16^0.6 = 5.28) is inside [0.4, 0.75].

FILLERS = [f"filler{k} lonely{k} single{k} alone{k}" for k in range(12)]


def imatch(*texts: str, fillers: list[str] | None = None, **options: object) -> set[tuple[int, int]]:
    given = [*texts, *(FILLERS if fillers is None else fillers)]
    assert len(given) == 16
    return set(found(given, method="imatch", **options))


def test_imatch_sees_neither_order_nor_repeats_nor_stop_words_nor_what_is_rare() -> None:
    """ANDD paper, 2.2: the set of unique terms inside the lexicon represents the document, and nothing else."""
    pairs = imatch(
        "amber basalt copper",
        "The copper was basalt, and amber is amber.",  # order, stop words, repeats
        "amber basalt copper unheard",  # a word of one text: idf 1
        "amber basalt",  # a word of the lexicon is missing
    )
    assert pairs == {(0, 1), (0, 2), (1, 2)}


def test_a_word_of_every_text_is_no_part_of_the_lexicon() -> None:
    everywhere = [f"common {text}" for text in FILLERS]
    pairs = imatch(
        "common amber basalt copper",
        "amber basalt copper common common",
        "amber basalt copper dolomite",
        "basalt copper dolomite common",
        fillers=everywhere,
    )
    assert pairs == {(0, 1)}, "the third has dolomite, the fourth no amber"


def test_the_same_hash_is_a_near_duplicate_and_nothing_else_is() -> None:
    """ANDD paper, 2.2: if and only if their hash values are identical. All pairs of a bucket are reported with 1."""
    texts = [
        "amber basalt copper",
        "copper basalt amber!",
        "basalt amber copper",
        "amber basalt dolomite dolomite",
    ]
    scores = found([*texts, *FILLERS], method="imatch")
    assert scores == {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}


def test_too_few_words_of_the_lexicon_are_no_signature() -> None:
    """ANDD paper, 2.2: with little retained, different documents are easily mistaken for near-duplicates."""
    few = ["amber basalt one1 two2", "basalt amber three3 four4", "copper dolomite", "copper dolomite five5"]
    assert imatch(*few) == set()
    assert imatch(*few, least=2) == {(0, 1), (2, 3)}
    report = neardup.dedup([*few, *FILLERS], method="imatch").report
    assert (report["without_features"], report["without_tokens"]) == (16, 0)


def test_random_lexicons_forgive_a_word_and_more_of_them_must_agree_if_asked() -> None:
    """Simhash thesis, 2.4.3: one addition upsets the digest; near-duplicates share at least one of K + 1 hashes."""
    base = "amber basalt copper dolomite emerald feldspar granite"
    texts = [base, base + " hematite", "hematite jasper kyanite limestone", "jasper kyanite limestone marble"]
    assert imatch(*texts) == set()
    scores = found([*texts, *FILLERS], method="imatch", lexicons=12, drop=0.5)
    assert (0, 1) in scores, "in about half of eleven lexicons there is no hematite"
    agreeing = round(scores[0, 1] * 12)
    assert scores[0, 1] == agreeing / 12
    assert 2 <= agreeing <= 9
    few = {"lexicons": 12, "drop": 0.5}
    assert (0, 1) in imatch(*texts, **few, agree=2)
    assert (0, 1) not in imatch(*texts, **few, agree=agreeing + 1)


def test_imatch_over_spots_compares_what_stands_behind_antecedents() -> None:
    """The sentences are in two texts each; what stands around them is not."""
    sentences = [
        "The amber basalt copper dolomite emerald feldspar granite.",
        "A hematite jasper kyanite limestone marble nephrite opal.",
        "The pumice quartz ruby sapphire topaz umber vesuvian.",
    ]
    body = " ".join(sentences)
    texts = [
        "menu home login " + body,
        body + " copyright imprint",
        " ".join(sentences[:2]),
        "menu home login",
    ]
    options = {"method": "imatch_spots", "distance": 1, "idf_low": 0.0, "idf_high": 0.9}
    assert set(found([*texts, *FILLERS], **options)) == {(0, 1)}


# Super-shingles


def test_super_shingles_find_texts_with_the_same_shingles_and_few_others() -> None:
    base = " ".join(numbered(0, 200))
    texts = [base, base.upper() + ".", " ".join(numbered(100, 300)), " ".join(numbered(300, 500))]
    # 1 and 2 have equal shingles. The third shares 96 of 196 with them, a Jaccard of 96/296 = 0.32: a group of 14
    # agrees with probability 0.32^14 = 1e-7.
    assert found(texts, method="super_shingles") == {(0, 1): 1.0}
    assert found(texts, method="super_shingles", agree=6) == {(0, 1): 1.0}


@pytest.mark.parametrize("agree", [1, 2, 3])
def test_super_shingles_report_the_share_of_equal_groups(agree: int) -> None:
    base = numbered(0, 400)
    texts = [" ".join([*base, f"x{k}"]) for k in range(30)]
    scores = found(texts, method="super_shingles", agree=agree)
    assert scores
    assert all(round(value * 6, 9) in range(agree, 7) for value in scores.values())


def test_a_threshold_has_super_shingles_compared_exactly() -> None:
    base = numbered(0, 400)
    texts = [" ".join([*base, *numbered(1000 + 10 * k, 1003 + 10 * k)]) for k in range(12)]
    exact = 396 / (396 + 3 + 3)  # 399 shingles each, of which three are its own
    for options in ({"threshold": 0.9}, {"verify": "exact"}):
        scores = found(texts, method="super_shingles", agree=1, **options)
        assert scores and set(scores.values()) == {exact}
    assert found(texts, method="super_shingles", agree=1, threshold=0.99) == {}


# The hybrid


def test_the_hybrid_drops_what_shares_shingles_but_not_words() -> None:
    """A template of 3,000 words that occur once, and a body that repeats its own words: the shingles of the template
    propose, the counts of the words decide."""
    template = numbered(0, 3000)
    bodies = [[f"body{k}"] * 130 for k in range(2)]
    texts = [" ".join([*template, *body]) for body in bodies]
    texts += [" ".join([*template, *bodies[0], "last"])]
    # Words of 0 and 1: dot product 3,000, squared norms 3,000 + 16,900: a cosine of 0.151, equal bits 0.548.
    # Words of 0 and 2: 19,900 / √(19,900 · 19,901) = 0.99997, equal bits 0.997.
    proposed = found(texts, method="super_shingles", ngram=8)
    assert set(proposed) == {(0, 1), (0, 2), (1, 2)}, "all are candidates"
    scores = found(texts, method="hybrid")
    assert set(scores) == {(0, 2)}
    assert scores[0, 2] > 0.97
    low = found(texts, method="hybrid", threshold=0.3)
    assert low[0, 1] == pytest.approx(0.548, abs=4 * (0.548 * 0.452 / 384) ** 0.5)


# Frequencies are counted over contents


def counted_corpus() -> pa.Table:
    source = random.Random(9)
    texts = [*overlapping(source, 9), *(story(source, 4, 60) for _ in range(25)), "", " ", "word"]
    texts += [text.upper() for text in texts[:20]]
    return pa.table({"id": [f"d{k:03}" for k in range(len(texts))], "text": texts})


def options_for(name: str) -> dict[str, float]:
    """A window that keeps something in a collection of a few dozen texts."""
    return {"idf_low": 0.2, "idf_high": 0.85} if "idf_low" in methods()[name].parameters else {}


@pytest.mark.parametrize("name", [*COUNTING, "spotsigs", "spotsigs_lsh"])
def test_frequencies_do_not_depend_on_the_order_or_the_number_of_copies(name: str) -> None:
    table = counted_corpus()
    options = {"method": name, **options_for(name)}
    plan = neardup.make_plan(**options)
    assert plan.counts, "a plan that counts is what this is about"
    first = neardup.dedup(table, **options, pairs="all")
    assert any(row["reason"] == "similar" for row in first.pairs.to_pylist())
    shuffled = table.take(random.Random(3).sample(range(len(table)), len(table)))
    assert facts(neardup.dedup(shuffled, **options, pairs="all")) == facts(first)

    copies = table.slice(0, 5)
    more = pa.concat_tables(
        [table] + [copies.set_column(0, "id", pa.array([f"e{k}{n}" for n in range(5)])) for k in range(40)]
    )
    again = neardup.dedup(more, **options, pairs="all").pairs.to_pylist()
    old = [row for row in again if row["left"].startswith("d") and row["right"].startswith("d")]
    assert sorted(map(repr, old)) == sorted(map(repr, first.pairs.to_pylist()))


@pytest.mark.parametrize("name", [*COUNTING, "spotsigs"])
@pytest.mark.parametrize("texts", [["", " ", "..."], ["", "", ""], [""]])
def test_counting_where_there_is_nothing_to_count(name: str, texts: list[str]) -> None:
    result = neardup.dedup(texts, method=name, **options_for(name))
    assert result.kept == texts
    assert (result.report["without_tokens"], result.report["without_features"]) == (len(texts), 0)


@pytest.mark.parametrize("name", [name for name in COUNTING if "idf_low" in methods()[name].parameters])
def test_a_lexicon_that_keeps_nothing_leaves_the_copies(name: str) -> None:
    texts = [*overlapping(random.Random(1), 5), "a last word"]
    result = neardup.dedup([*texts, *texts], method=name, idf_low=0.999, idf_high=0.9995)
    assert result.kept == texts
    assert {row["reason"] for row in result.pairs.to_pylist()} == {"copy"}
    assert result.report["without_features"] == 12


def test_a_single_content_is_rare_and_that_is_an_answer() -> None:
    """N = 1: log 1 = 0, and everything counts as rare."""
    text = overlapping(random.Random(1), 5)[0]
    for high in (0.75, 1.0):
        result = neardup.dedup([text, text], method="imatch", idf_high=high)
        assert (result.kept, result.report["without_features"]) == ([text], 2 if high < 1 else 0)
