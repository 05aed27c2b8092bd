"""Notices of one frame and other numbers are kept apart with numbers="separate"."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from naive.numbers import differ_in_numbers
from neardup.columns import Texts
from neardup.engines.core.compare import compared_features
from neardup.errors import ParameterError
from neardup.plan import Plan
from neardup.plans import make_plan

PLAN = make_plan(numbers="separate")
FRAME = (
    "The Federal Reserve entered the government securities market to arrange {} billion dlrs of customer "
    "repurchase agreements, a spokesman for the New York Fed said. Dealers said Federal funds were trading at {} "
    "pct when the Fed began its temporary and indirect supply of reserves to the banking system."
)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "7", "8", "12", "3rd"]), max_size=12)


def measured(texts: list[str], plan: Plan = PLAN) -> float:
    values = compared_features(plan, Texts.from_strings(texts), None)
    return float(plan.check.measure(values, np.array([0]), np.array([1])).similarity[0])


@given(WORDS, WORDS)
def test_the_similarity_is_0_where_the_naive_twin_keeps_apart(left: list[str], right: list[str]) -> None:
    texts = [" ".join(left), " ".join(right)]
    plain = measured(texts, make_plan())
    assert measured(texts) == (0 if differ_in_numbers(left, right) else plain)


@given(WORDS, WORDS)
def test_the_order_of_two_documents_does_not_matter(left: list[str], right: list[str]) -> None:
    assert measured([" ".join(left), " ".join(right)]) == measured([" ".join(right), " ".join(left)])


NOTICES = [FRAME.format(1.5, 6), FRAME.format(2.5, 6), FRAME.format(1.5, 6) + " Reuter", FRAME.format(1.5, 6)]


@pytest.mark.parametrize("clusters", ["leaders", "components", "average", "complete"])
def test_notices_with_other_numbers_stay(clusters: str) -> None:
    assert len(neardup.dedup(NOTICES, clusters=clusters).kept) == 1
    assert neardup.dedup(NOTICES, clusters=clusters, numbers="separate").kept == NOTICES[1:3]


def test_a_longer_version_with_more_numbers_is_still_a_near_duplicate() -> None:
    longer = FRAME.format(1.5, 6) + " Economists had expected a move of 2 billion dlrs before noon."
    assert neardup.dedup([FRAME.format(1.5, 6), longer], numbers="separate").kept == [longer]


def test_the_choice_is_part_of_the_plan() -> None:
    assert PLAN.digest != make_plan().digest and Plan.from_json(PLAN.to_json()) == PLAN
    assert PLAN.found(0.7) == make_plan().found(0.7)


@pytest.mark.parametrize(
    "options",
    [
        {"verify": "estimate"}, {"verify": "none"}, {"decide": "containment"}, {"method": "simhash"},
        {"method": "spotsigs"}, {"method": "rare_phrases"}, {"method": "cosine"}, {"method": "hybrid"},
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match="numbers"):
        make_plan(numbers="separate", **options)


def test_compare_says_why_similar_notices_are_kept_apart() -> None:
    found = neardup.compare(NOTICES[0], NOTICES[1], numbers="separate")
    assert (found.relation, found.near_duplicates) == ("different", False) and found.similarity > 0.7
    assert neardup.compare(NOTICES[0], NOTICES[2], numbers="separate").relation == "near-duplicate"


def test_pairs_leave_out_what_is_kept_apart() -> None:
    documents = pa.table({"id": ["a", "b", "c", "d"], "text": NOTICES})
    found = neardup.pairs(documents, numbers="separate").to_pylist()
    assert {(row["left"], row["right"]) for row in found} == {("a", "c"), ("a", "d"), ("c", "d")}
