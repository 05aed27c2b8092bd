"""Decisions about new documents and the order to crawl pages, given documents and who is near whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from random_documents import documents

from neardup.index.decisions import IndexDecision, check_documents, crawl_order
from neardup.index.documents import (
    FingerprintedDocument,
    Near,
    Neighbours,
    best_first,
    covers,
    find_neighbours,
)


def decided(
    new: Sequence[FingerprintedDocument], indexed: Sequence[FingerprintedDocument], **how: Any
) -> list[IndexDecision]:
    """The decisions where fingerprints of up to three different bits are near."""
    return check_documents(new, indexed, find_neighbours([*indexed, *new], 3), **how)


def order_of(pages: Sequence[FingerprintedDocument]) -> list[Any]:
    return crawl_order(pages, find_neighbours(pages, 3))


@given(documents, documents)
def test_nothing_is_dropped_for_a_copy_that_some_groups_cannot_see(
    indexed: list[FingerprintedDocument], new: list[FingerprintedDocument]
) -> None:
    new = [replace(document, id=("new", document.id)) for document in new]
    known = {document.id: document for document in [*indexed, *new]}
    decisions = decided(new, indexed)
    for document, decision in zip(new, decisions, strict=True):
        if decision.action == "keep":
            assert decision == IndexDecision("keep")
            continue
        other = known[decision.because_of]
        assert covers(other.access, document.access)
        assert document.fingerprint is not None and other.fingerprint is not None
        assert (document.fingerprint ^ other.fingerprint).bit_count() == 64 * (1 - decision.similarity) <= 3
        copied = document.digest is not None and other.digest == document.digest
        assert (decision.action, decision.relation) == (
            ("drop", "copy") if copied else ("demote", "near-duplicate")
        )
        if isinstance(other.id, tuple):  # a dropped document covers nothing
            assert decisions[new.index(other)].action != "drop"


@given(documents)
def test_the_order_to_crawl_is_by_copies_that_groups_may_see(pages: list[FingerprintedDocument]) -> None:
    order = best_first(pages, "quality")

    def copies(rank: int) -> int:
        page = pages[order[rank]]
        return sum(
            covers(other.access, page.access) and other.fingerprint is not None and page.fingerprint is not None
            and (other.fingerprint ^ page.fingerprint).bit_count() <= 3
            for other in (pages[n] for n in order[:rank])
        )  # fmt: skip

    ranks = sorted(range(len(order)), key=lambda rank: (copies(rank), rank))
    assert order_of(pages) == [pages[order[rank]].id for rank in ranks]


def test_a_new_version_is_no_copy_of_the_old_one() -> None:
    indexed = [FingerprintedDocument("a", 0)]
    assert decided([FingerprintedDocument("a", 0)], indexed)[0].action == "keep"
    assert decided([FingerprintedDocument("b", 0)], indexed)[0] == IndexDecision(
        "demote", "a", 1.0, "near-duplicate"
    )
    assert (
        decided([FingerprintedDocument(7, 0)], [FingerprintedDocument("7", 0)])[0].action == "keep"
    )  # one id, as the index has it


@given(documents, documents, st.booleans())
def test_decisions_are_those_of_a_plain_search(
    indexed: list[FingerprintedDocument], new: list[FingerprintedDocument], drop: bool
) -> None:
    """The first copy that covers a document, else the nearest that does: printed in the plainest way."""
    new = [replace(document, id=("new", document.id)) for document in new]
    known, expected = list(indexed), []
    for document in new:
        some = [] if document.fingerprint is None else [k for k in known if covers(k.access, document.access)]
        copies = [k for k in some if k.fingerprint is not None and None is not k.digest == document.digest]
        apart = [
            ((k.fingerprint ^ document.fingerprint).bit_count(), place, k)  # type: ignore[operator]
            for place, k in enumerate(some)
            if k.fingerprint is not None
        ]
        near = [found for found in apart if found[0] <= 3]
        decision = IndexDecision("keep")
        if copies:
            decision = IndexDecision("drop" if drop else "demote", copies[0].id, 1.0, "copy")
        elif near:
            bits, _, nearest = min(near, key=lambda each: each[:2])
            decision = IndexDecision("demote", nearest.id, 1 - bits / 64, "near-duplicate")
        if decision.action != "drop":
            known.append(document)
        expected.append(decision)
    assert decided(new, indexed, drop=drop) == expected


def test_decisions_for_an_index() -> None:
    indexed = [
        FingerprintedDocument("h", 0, digest=b"h"),
        FingerprintedDocument("secret", 0xF0F0, frozenset({"x"}), digest=b"s"),
    ]
    new = [
        FingerprintedDocument(1, 0, digest=b"h"),
        FingerprintedDocument(2, 3, digest=b"2"),
        FingerprintedDocument(3, 0xF0F0, digest=b"s"),
        FingerprintedDocument(4, 0xF0F0, frozenset({"x"}), digest=b"s"),
        FingerprintedDocument(5, None),
        FingerprintedDocument(6, 0xFF),
        FingerprintedDocument(7, 0, digest=b"edited"),
        FingerprintedDocument(8, 0),
    ]
    found = decided(new, indexed)
    actions = ["drop", "demote", "keep", "drop", "keep", "keep", "demote", "demote"]
    assert [decision.action for decision in found] == actions
    assert [d.action for d in decided(new[:1], indexed, drop=False)] == ["demote"]


def test_unique_pages_are_downloaded_first() -> None:
    pages = [
        FingerprintedDocument("a", 0, quality=1),
        FingerprintedDocument("a2", 1, quality=2),
        FingerprintedDocument("b", 0xFF00),
        FingerprintedDocument("a3", 3),
        FingerprintedDocument("e", None),
    ]
    assert order_of(pages) == ["a2", "b", "e", "a", "a3"]


def test_thousands_of_copies_need_no_pair_of_each() -> None:
    copies = [FingerprintedDocument(n, 7, digest=b"7") for n in range(30_000)]
    assert {decision.action for decision in decided(copies[1:], copies[:1])} == {"drop"}


def test_the_relation_and_the_similarity_are_those_of_the_nearest() -> None:
    """Nodes are texts: 0 and 1 are indexed, 2 is new and contains 0."""
    indexed = [FingerprintedDocument("part", digest=b"0"), FingerprintedDocument("version", digest=b"1")]
    near = Neighbours(
        [0, 1, 2], [[], [], [Near(2, 1.0, "copy"), Near(0, 0.4, "contains"), Near(1, 0.9, "near-duplicate")]]
    )
    new = [FingerprintedDocument("new", digest=b"2")]
    assert check_documents(new, indexed, near) == [IndexDecision("demote", "version", 0.9, "near-duplicate")]
    only = Neighbours([0, 1, 2], [[], [], [Near(0, 0.4, "contains")]])
    assert check_documents(new, indexed, only) == [IndexDecision("demote", "part", 0.4, "contains")]
    unmeasured = Neighbours([0, 1, 2], [[], [], [Near(1, None, None), Near(0, None, None)]])
    assert check_documents(new, indexed, unmeasured) == [IndexDecision("demote", "part", None, None)]
