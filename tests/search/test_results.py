"""Result lists: folded under the best visible document, and as if what is hidden did not exist."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from neardup.cli import group
from neardup.errors import ParameterError
from neardup.search.documents import Document, covers, may_see
from neardup.search.indexing import IndexDecision, crawl_order, decide_at_index_time
from neardup.search.results import clusters_by_master, collapse

readers = st.one_of(st.none(), st.frozensets(st.sampled_from("abc"), min_size=1))
documents = st.lists(
    st.builds(
        Document,
        id=st.integers(),
        fingerprint=st.one_of(st.none(), st.sampled_from([0, 1, 3, 7, 15, 31, 63, 2**64 - 1, 2**63])),
        readers=readers,
        time=st.floats(0, 9),
        length=st.integers(0, 9),
        quality=st.one_of(st.none(), st.floats(0, 1)),
    ),
    max_size=14,
    unique_by=lambda document: document.id,
)
groups = st.frozensets(st.sampled_from("abc"))


@given(documents, groups, st.sampled_from(["rank", "time", "length"]))
def test_what_a_reader_sees_does_not_depend_on_what_is_hidden(
    results: list[Document], mine: frozenset[str], order: str
) -> None:
    visible = [document for document in results if may_see(mine, document.readers)]
    shown = collapse(results, mine, order=order)  # type: ignore[arg-type]
    assert shown == collapse(visible, mine, order=order)  # type: ignore[arg-type]
    everything = [document for one in shown for document in (one.shown, *one.folded)]
    assert sorted(document.id for document in everything) == sorted(document.id for document in visible)


@given(documents)
def test_folded_documents_are_near_the_one_shown(results: list[Document]) -> None:
    for one in collapse(results, {"a", "b", "c"}, distance=2):
        for document in one.folded:
            assert document.fingerprint is not None and one.shown.fingerprint is not None
            assert (document.fingerprint ^ one.shown.fingerprint).bit_count() <= 2
            assert (one.shown.quality or 0) >= (document.quality or 0)


def test_the_best_visible_one_stands_for_the_others() -> None:
    results = [
        Document("a", 0, frozenset({"x"}), quality=3),
        Document("b", 1, quality=1, time=5),
        Document("c", 2, quality=2, time=9),
    ]
    assert [(one.shown.id, [d.id for d in one.folded]) for one in collapse(results, {"x"})] == [
        ("a", ["b", "c"])
    ]
    assert [(one.shown.id, [d.id for d in one.folded]) for one in collapse(results)] == [("c", ["b"])]
    newest = collapse(results, {"x"}, order="time")[0].folded
    assert [document.id for document in newest] == ["c", "b"]
    with pytest.raises(ParameterError, match="order"):
        collapse(results, order="best")  # type: ignore[arg-type]


def test_two_that_resemble_a_hidden_one_are_not_folded() -> None:
    results = [Document("a", 0b111), Document("hidden", 0, frozenset({"x"})), Document("b", 0b111000)]
    assert [one.shown.id for one in collapse(results)] == ["a", "b"]


@given(documents, documents)
def test_nothing_is_discarded_for_a_copy_that_some_readers_cannot_see(
    held: list[Document], new: list[Document]
) -> None:
    new = [replace(document, id=("new", document.id)) for document in new]
    known = {document.id: document for document in [*held, *new]}
    decisions = decide_at_index_time(new, held)
    for document, decision in zip(new, decisions, strict=True):
        if decision.action == "keep":
            assert decision == IndexDecision("keep")
            continue
        other = known[decision.because_of]
        assert covers(other.readers, document.readers)
        assert document.fingerprint is not None and other.fingerprint is not None
        assert (document.fingerprint ^ other.fingerprint).bit_count() == decision.distance <= 3
        assert (decision.action == "discard") == (decision.distance == 0)
        if isinstance(other.id, tuple):  # what was discarded itself is no reason
            assert decisions[new.index(other)].action != "discard"


def test_decisions_for_an_index() -> None:
    held = [Document("h", 0), Document("secret", 0xF0F0, frozenset({"x"}))]
    new = [
        Document(1, 0),
        Document(2, 3),
        Document(3, 0xF0F0),
        Document(4, 0xF0F0, frozenset({"x"})),
        Document(5, None),
        Document(6, 0xFF),
    ]
    found = decide_at_index_time(new, held)
    assert [decision.action for decision in found] == ["discard", "lower", "keep", "discard", "keep", "keep"]
    assert [d.action for d in decide_at_index_time(new[:1], held, discard=None)] == ["lower"]


def test_unique_content_is_downloaded_first() -> None:
    pages = [
        Document("a", 0, quality=1),
        Document("a2", 1, quality=2),
        Document("b", 0xFF00),
        Document("a3", 3),
        Document("e", None),
    ]
    assert crawl_order(pages) == ["a2", "b", "e", "a", "a3"]


def test_the_command_hides_what_a_reader_may_not_see(tmp_path: Path) -> None:
    words = " ".join(f"w{i}" for i in range(80))
    rows = [
        {"id": "secret", "text": words, "who": ["board"], "rank": 3},
        {"id": "one", "text": words + " more", "who": None, "rank": 1},
        {"id": "two", "text": words, "who": "staff,board", "rank": 2},
        {"id": "far", "text": "nothing of the kind", "who": None, "rank": 0},
    ]
    path = tmp_path / "results.jsonl"
    path.write_text(
        "".join(
            json.dumps({**row, "who": ",".join(row["who"]) if isinstance(row["who"], list) else row["who"]})
            + "\n"
            for row in rows
        )
    )
    options = [
        "collapse",
        str(path),
        "--readers-column",
        "who",
        "--quality-column",
        "rank",
        "--distance",
        "6",
        "--json",
    ]
    said = {
        who: [
            json.loads(line)
            for line in CliRunner().invoke(group, [*options, "--reader-groups", who]).output.splitlines()
        ]
        for who in ("", "staff", "board")
    }
    assert said[""] == [{"id": "one", "folded": []}, {"id": "far", "folded": []}]
    assert said["staff"] == [{"id": "two", "folded": ["one"]}, {"id": "far", "folded": []}]
    assert said["board"] == [{"id": "secret", "folded": ["one", "two"]}, {"id": "far", "folded": []}]
