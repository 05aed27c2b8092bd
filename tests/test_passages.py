"""Where two documents agree: shared passages against a plain-Python twin."""

from __future__ import annotations

import re
import time
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.columns import Texts
from neardup.explain.passages import Comparison, Passage, Side, shared_passages
from neardup.plan import Plan
from neardup.registry import get_method
from neardup.verify.jaccard import Jaccard

FENCE = "The fence along the north field was mended in April, before the sheep came back from the hills."
GATE = "A gate of chestnut (painted green) now closes the lane that leads from the farm to the river."


def plan(ngram: int = 3, **options: object) -> Plan:
    return get_method("minhash").plan(ngram=ngram, **options)


def words(side: Side) -> list[str]:
    return [side.text[p.start : p.end].strip() for p in side.passages]


def numbers(side: Side) -> list[int]:
    return [p.number for p in side.passages]


# The twin: sets of tuples, and one question for each token.


def grams(tokens: list[str], width: int) -> list[tuple[str, ...]]:
    if not tokens:
        return []
    return [tuple(tokens[i : i + width]) for i in range(max(1, len(tokens) - width + 1))]


def naive_shared(own: list[str], other: list[str], width: int) -> list[bool]:
    runs, known = grams(own, width), set(grams(other, width))
    flags = [False] * len(own)
    for i, run in enumerate(runs):
        for k in range(len(run)):
            flags[i + k] |= run in known
    return flags


def naive_starts(own: list[str], other: list[str], width: int) -> list[int]:
    shared, runs, theirs = naive_shared(own, other, width), grams(own, width), grams(other, width)
    links = set(pairwise(theirs))
    starts = []
    for i in range(len(own)):
        if not shared[i]:
            begins = i == 0 or shared[i - 1]
        else:
            here = i < len(runs) and runs[i] in theirs
            begins = here and not (i > 0 and (runs[i - 1], runs[i]) in links)
        if begins:
            starts.append(i)
    return starts


def naive_jaccard(own: list[str], other: list[str], width: int) -> float:
    a, b = set(grams(own, width)), set(grams(other, width))
    return len(a & b) / len(a | b) if a | b else 0.0


# Few words, so that runs repeat and meet in every way; every separator that moves a cut.
texts = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "dd", "é"]), st.sampled_from([" ", ", ", "\n", ". (", "-", '" '])
    ),
    max_size=25,
).map(lambda pairs: "".join(word + gap for word, gap in pairs))


@given(texts, texts, st.integers(1, 4))
def test_passages_agree_with_the_twin(left: str, right: str, width: int) -> None:
    found = shared_passages(plan(width), left, right)
    tokens = [re.findall(r"\w+", text) for text in (left, right)]
    assert found.similarity == naive_jaccard(tokens[0], tokens[1], width)
    for side, own, other in ((found.left, *tokens), (found.right, *tokens[::-1])):
        flags = [passage.shared for passage in side.passages for _ in range(passage.tokens)]
        assert flags == naive_shared(own, other, width)
        firsts = np.cumsum([0, *(p.tokens for p in side.passages)])[:-1]
        assert not own or firsts.tolist() == naive_starts(own, other, width)
        for first, passage in zip(firsts, side.passages, strict=True):
            stretch = side.text[passage.start : passage.end]
            assert re.findall(r"\w+", stretch) == own[first : first + passage.tokens]


def check_whole(found: Comparison) -> None:
    for side in (found.left, found.right):
        assert "".join(side.text[p.start : p.end] for p in side.passages) == side.text
        assert all(p.start < p.end for p in side.passages)
        assert all((p.number > 0) == p.shared for p in side.passages)
    left, right = ({p.number for p in side.passages} - {0} for side in (found.left, found.right))
    assert left == right == set(range(1, len(left) + 1))
    firsts = [n for n in dict.fromkeys(numbers(found.left)) if n]
    assert firsts == sorted(firsts)


@given(texts, texts, st.integers(1, 4))
def test_passages_cover_the_text_and_have_partners(left: str, right: str, width: int) -> None:
    check_whole(shared_passages(plan(width), left, right))


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.text(max_size=30),
    st.sampled_from(["words", "whitespace", "characters"]),
)
def test_any_unicode(before: str, common: str, after: str, tokens: str) -> None:
    left, right = before + " " + common, common + " " + after
    found = shared_passages(plan(2, tokens=tokens), left, right)
    check_whole(found)
    assert found.left.text == unicodedata.normalize("NFC", left)


@pytest.mark.parametrize("kind", ["words", "whitespace", "characters"])
def test_similarity_is_that_of_the_engine(kind: str) -> None:
    chosen = plan(4, tokens=kind)
    features = chosen.view.represent(chosen.text(Texts.from_strings([FENCE + GATE, GATE])))
    pairs = Jaccard().measure(features, np.array([0]), np.array([1]))
    found = shared_passages(chosen, FENCE + GATE, GATE)
    assert found.similarity == pairs.similarity[0]
    assert found.containment == pairs.containment[0] == found.right.containment
    assert (found.shared, found.left.features, found.right.features) == (
        pairs.shared[0],
        pairs.left_size[0],
        pairs.right_size[0],
    )


def test_a_changed_word_cuts_a_text_into_three() -> None:
    found = shared_passages(plan(), FENCE, FENCE.replace("April", "autumn"))
    assert words(found.left) == [
        "The fence along the north field was mended in",
        "April,",
        "before the sheep came back from the hills.",
    ]
    assert words(found.right)[1] == "autumn,"
    assert numbers(found.left) == numbers(found.right) == [1, 0, 2]


def test_moved_paragraphs_are_told_apart() -> None:
    found = shared_passages(plan(), f"{FENCE}\n\n{GATE}", f"{GATE}\n\nMeanwhile:\n\n{FENCE}")
    assert words(found.left) == [FENCE, GATE]
    assert words(found.right) == [GATE, "Meanwhile:", FENCE]
    assert numbers(found.left) == [1, 2]
    assert numbers(found.right) == [2, 0, 1]


def test_repeated_passages_share_a_number() -> None:
    found = shared_passages(plan(), FENCE, f"{FENCE}\n{FENCE}")
    assert numbers(found.left) == [1]
    assert numbers(found.right) == [1, 1]


def test_brackets_stay_with_their_words() -> None:
    found = shared_passages(
        plan(), 'He left. "Nobody saw him go" they said', 'They knew. "Nobody saw him go" I said'
    )
    assert words(found.left) == ["He left.", '"Nobody saw him go"', "they said"]


@pytest.mark.parametrize(
    ("left", "right", "passages"),
    [
        ("", "", []),
        ("", FENCE, []),
        ("...", FENCE, [Passage(0, 3, False, 0, 0)]),
        ("the fence", FENCE, [Passage(0, 9, False, 0, 2)]),
        ("the fence", "The  fence!", [Passage(0, 9, True, 1, 2)]),
    ],
)
def test_short_and_empty_texts(left: str, right: str, passages: list[Passage]) -> None:
    assert shared_passages(plan(5), left, right).left.passages == passages


def test_texts_are_compared_in_nfc_without_surrogates() -> None:
    found = shared_passages(plan(1), "cafe\u0301 \ud800 noir", "caf\u00e9 \ufffd noir")
    assert found.left.text == found.right.text == "caf\u00e9 \ufffd noir"
    assert found.similarity == 1


def test_scripts_without_spaces() -> None:
    found = shared_passages(
        plan(2), "港の東側の岸壁は月曜日に閉鎖された", "港の東側の岸壁は火曜日に閉鎖された"
    )
    assert words(found.left) == ["港の東側の岸壁は", "月", "曜日に閉鎖された"]


def test_the_threshold_is_decided_in_whole_numbers() -> None:
    same = [f"w{i}" for i in range(7)]
    left, right = " ".join([*same, "x"]), " ".join([*same, "y", "z"])
    assert shared_passages(plan(1, threshold=0.7), left, right).near_duplicates  # 7 of 10, on the nose
    assert not shared_passages(plan(1, threshold=0.71), left, right).near_duplicates


def test_an_estimate_is_given_where_the_plan_decides_on_it() -> None:
    found = shared_passages(plan(verify="estimate"), FENCE, FENCE)
    assert found.estimate == 1.0
    assert shared_passages(plan(), FENCE, FENCE).estimate is None
    assert shared_passages(plan(verify="none"), FENCE, FENCE).similarity == 1


@pytest.mark.slow
def test_ten_megabytes_take_seconds() -> None:
    random = np.random.default_rng(5)
    draws = random.integers(0, 30_000, 1_700_000)
    changed = np.where(np.arange(len(draws)) % 50 == 0, 30_001, draws)
    left, right = (" ".join(map("w{}".format, row.tolist())) for row in (draws, changed))
    shared_passages(plan(5), FENCE, GATE)
    start = time.process_time()
    found = shared_passages(plan(5), left, right)
    assert time.process_time() - start < 6  # about one; room for a busy machine
    assert len(found.left.passages) > 60_000
