"""The relation of two documents, from the counts of a pair."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup
from naive.relations import relation
from neardup.columns import Pairs
from neardup.plan import Check
from neardup.verify.bits import BitAgreement
from neardup.verify.containment import Containment
from neardup.verify.cosine import Cosine, ExtendedJaccard
from neardup.verify.jaccard import Jaccard, SlotAgreement, Unverified
from neardup.verify.relation import RELATIONS, UNKNOWN, relations, swapped

SETS = st.sets(st.integers(0, 40), max_size=40)
ZERO, ONE = np.zeros(1, np.int64), np.ones(1, np.int64)


def counts(left: set[int], right: set[int], kind: str = "jaccard") -> Pairs:
    shared, mine, theirs = (np.array([float(len(x))]) for x in (left & right, left, right))
    return Pairs(ZERO, ONE, shared, mine, theirs, kind)


def name(pairs: Pairs, check: Check, threshold: float) -> str | None:
    code = int(relations(pairs, check, threshold)[0])
    return None if code == UNKNOWN else RELATIONS[code]


@given(SETS, SETS, st.integers(1, 20))
@example(set(range(9)), set(range(10)), 14)
@example(set(range(9)) | {20}, set(range(9)) | set(range(10, 13)), 14)  # nine tenths, and three quarters
@example({0} | set(range(10, 19)), {0} | set(range(20, 29)), 14)  # a tenth
def test_the_relation_is_that_of_the_naive_twin(left: set[int], right: set[int], twentieths: int) -> None:
    expected = relation(left, right, Fraction(twentieths, 20))
    assert name(counts(left, right), Jaccard(), twentieths / 20) == expected


@given(SETS, SETS, st.sampled_from([0.3, 0.7, 0.9]), st.sampled_from([Jaccard(), Containment()]))
def test_swapping_the_documents_swaps_contains_and_contained(
    left: set[int], right: set[int], threshold: float, check: Check
) -> None:
    kind = "containment" if isinstance(check, Containment) else "jaccard"
    there = relations(counts(left, right, kind), check, threshold)
    back = relations(counts(right, left, kind), check, threshold)
    assert (swapped(there) == back).all() and (swapped(swapped(there)) == there).all()


@given(SETS, SETS, st.sampled_from([0.3, 0.7, 0.9]))
def test_a_pair_that_containment_finds_is_contained_or_a_near_duplicate(
    left: set[int], right: set[int], threshold: float
) -> None:
    pairs = counts(left, right, "containment")
    if Containment().passes(pairs, threshold)[0]:
        assert name(pairs, Containment(), threshold) in ("near-duplicate", "contains", "contained")


@pytest.mark.parametrize("check", [Cosine(), ExtendedJaccard(), BitAgreement(64), SlotAgreement()])
def test_other_measures_know_near_duplicates_only(check: Check) -> None:
    assert name(counts(set(range(10)), set(range(10))), check, 0.7) == "near-duplicate"
    assert name(counts({1}, set(range(10))), check, 0.7) is None


def test_nothing_is_known_without_a_check() -> None:
    assert name(Unverified().measure(None, ZERO, ONE), Unverified(), 0.7) is None


TEXT = [f"word{i}" for i in range(200)]
DOCUMENTS = {
    "whole": TEXT,
    "part": TEXT[:150],
    "edited": ["Editorial", *TEXT[1:]],
    "copy": TEXT,
    "other": [f"else{i}" for i in range(200)],
}


def table() -> dict[str, list[str]]:
    return {"id": list(DOCUMENTS), "text": [" ".join(words) for words in DOCUMENTS.values()]}


def test_pairs_say_the_relation_of_left_to_right() -> None:
    import pyarrow as pa

    rows = neardup.pairs(pa.table(table())).to_pylist()
    found = {(row["left"], row["right"]): row["relation"] for row in rows}
    assert found == {
        ("copy", "edited"): "near-duplicate", ("copy", "part"): "contains", ("copy", "whole"): "copy",
        ("edited", "part"): "contains", ("edited", "whole"): "near-duplicate", ("part", "whole"): "contained",
    }  # fmt: skip


@pytest.mark.parametrize("keep", ["longest", "shortest", "first", "last"])
def test_removed_documents_say_their_relation_to_what_they_duplicate(keep: str) -> None:
    import pyarrow as pa

    documents = pa.table(table())
    result = neardup.dedup(documents, keep=keep)
    pairs = {(row["left"], row["right"]): row["relation"] for row in neardup.pairs(documents).to_pylist()}
    turned = {"contains": "contained", "contained": "contains"}
    pairs |= {(b, a): turned.get(found, found) for (a, b), found in pairs.items()}
    rows = result.clusters.to_pylist()
    assert {row["relation"] for row in rows if row["keep"]} == {None}
    removed = [row for row in rows if not row["keep"]]
    assert removed and all(row["relation"] == pairs[row["id"], row["duplicate_of"]] for row in removed)
    marks = {row["duplicate_of"]: row for row in result.annotations.to_pylist() if not row["keep"]}
    assert all(mark["relation"] in RELATIONS for mark in marks.values())


def test_a_chain_ends_at_a_document_that_may_share_a_passage_only() -> None:
    texts = [" ".join(TEXT[i : i + 100]) for i in range(0, 90, 15)]
    rows = neardup.dedup(texts, clusters="components", keep="first").clusters.to_pylist()
    assert {row["relation"] for row in rows} == {None, "near-duplicate", "shared passage"}
    assert all((row["relation"] == "near-duplicate") == (row["evidence"] == "direct") for row in rows)


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (TEXT, TEXT, "copy"), (TEXT, TEXT[:60], "contains"), (TEXT[:60], TEXT, "contained"),
        (TEXT, ["Editorial", *TEXT[1:]], "near-duplicate"), (TEXT, DOCUMENTS["other"], "different"),
        (TEXT, TEXT[:60] + DOCUMENTS["other"], "shared passage"),
    ],
)  # fmt: skip
def test_compare_says_the_relation(left: list[str], right: list[str], found: str) -> None:
    assert neardup.compare(" ".join(left), " ".join(right)).relation == found
