"""Documents of any input in chunks: ids that occur once, attributes, and parts of chunks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.columns import Texts
from neardup.documents import Problems
from neardup.errors import InputError, NeardupError
from neardup.index import streams
from neardup.index.index import Index
from neardup.index.inputs import AttributeColumns, InputChunk, unique_ids
from neardup.index.truth import Attributes


def chunks_of(batches: list[list[str | int]]) -> Iterator[InputChunk]:
    for ids in batches:
        yield InputChunk(Texts.from_strings([str(name) for name in ids]), ids, [None] * len(ids))


@given(st.lists(st.lists(st.one_of(st.integers(0, 60), st.integers(0, 60).map(str)), min_size=1, max_size=6)))
def test_an_id_that_occurs_twice_is_refused_in_any_chunk(batches: list[list[str | int]]) -> None:
    """As integer or string: an index has one document for both."""
    names = [str(name) for ids in batches for name in ids]
    if len(set(names)) == len(names):
        assert [list(chunk.ids) for chunk in unique_ids(chunks_of(batches))] == batches
    else:
        with pytest.raises(InputError, match="for more than one document"):
            list(unique_ids(chunks_of(batches)))


def test_many_chunks_and_one_repeated_id() -> None:
    numbers = list(range(20_000))
    random.Random(1).shuffle(numbers)
    batches: list[list[str | int]] = [list(numbers[at : at + 37]) for at in range(0, len(numbers), 37)]
    assert sum(len(chunk.ids) for chunk in unique_ids(chunks_of(batches))) == 20_000
    for place in (0, 5_000, 19_999):
        with pytest.raises(InputError, match=rf"1 id stands .* for example {numbers[place]}: "):
            list(unique_ids(chunks_of([*batches, ["last", numbers[place]]])))


def test_parts_of_a_chunk() -> None:
    (chunk,) = chunks_of([["a", "b", "c", "d", "e"]])
    parts = list(chunk.parts(2))
    assert [list(part.ids) for part in parts] == [["a", "b"], ["c", "d"], ["e"]]
    assert [part.texts.document(0) for part in parts] == [b"a", b"c", b"e"]
    assert [len(part.attributes) for part in parts] == [2, 2, 1]


def test_in_python_the_last_document_of_an_id_wins_unless_asked(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "b", "a"], "text": ["first text", "other", "last text"]})
    with Index(tmp_path / "i", method="minhash") as index:
        with pytest.raises(InputError, match="1 id stands for more than one document, for example 'a'"):
            index.add(rows, duplicate_ids="error")
        assert len(index) == 0
        index.add(rows)
        assert len(index) == 2 and index.get("a").text == "last text"  # type: ignore[union-attr]


def test_streams_are_those_of_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a stream change neither ids nor matches; a bad row is named by its number in the stream."""
    monkeypatch.setattr(streams, "BATCH", 3)
    texts = [f"the harbour council voted on Tuesday for berth number {n // 2} again" for n in range(10)]
    texts[7] += " \ud800"
    problems = Problems()
    with (
        Index(tmp_path / "a", method="minhash") as whole,
        Index(tmp_path / "b", method="minhash") as streamed,
    ):
        assert whole.add(texts).new == streamed.add(iter(texts), problems=problems).new == 10
        assert streamed.add(({"id": f"x{n}", "text": text} for n, text in enumerate(texts[:5]))).new == 5
        assert [one.record for one in problems.first] == [8]
        streamed.delete([f"x{n}" for n in range(5)])
        asked = [f"no match {n} here" for n in range(4)] + texts
        assert streamed.query_many(iter(asked)).equals(whole.query_many(asked))
        assert pa.types.is_integer(streamed.query_many(iter(asked)).schema.field("id").type)
        with pytest.raises(InputError, match="for more than one document"):
            streamed.add(iter([{"id": n % 4, "text": "twice"} for n in range(5)]), duplicate_ids="error")


def test_datasets_of_hugging_face(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"id": f"d{n}", "text": f"a museum shows log book number {n} of the captain"} for n in range(5)]
    with Index(tmp_path / "i", method="minhash", threshold=0.9) as index:
        assert index.add(datasets.Dataset.from_list(rows)).new == 5
        lazy = datasets.Dataset.from_list(rows).to_iterable_dataset()
        assert index.add(lazy).unchanged == 5
        assert index.query_many(lazy).column("relation").to_pylist() == ["copy"] * 5


def test_attributes_of_documents(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "one", "who": "x, y", "q": "3", "day": "1970-01-02", "at": "http://h/"},
        {"id": "b", "text": "two", "who": None, "q": None, "day": None, "at": None},
    ]
    with Index(tmp_path / "i", method="minhash") as index:
        index.add(pa.Table.from_pylist(rows), attributes=AttributeColumns("who", "q", "day", "at"))
        found = [index.get(name).attributes for name in "ab"]  # type: ignore[union-attr]
        assert found == [Attributes(("x", "y"), 3.0, 86400.0, "http://h/"), Attributes()]
        changed = [{**rows[0], "q": "4"}, rows[1]]
        done = index.add(pa.Table.from_pylist(changed), attributes=AttributeColumns("who", "q", "day", "at"))
        assert (done.replaced, done.unchanged) == (1, 1)  # an attribute that changed is stored


def test_what_cannot_be_meant_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with Index(tmp_path / "i", method="minhash") as index:
        index.add(["a text of some words"])
        calls = {
            "ids are given as a list": [lambda: index.delete(None), lambda: index.collapse("abc")],  # type: ignore[arg-type]
            "'limit' parameter": [
                lambda: index.query("a", limit=0),
                lambda: index.query_many(["a"], limit=-1),
            ],
            "'threshold' parameter": [lambda: index.query("a", threshold="high")],  # type: ignore[arg-type]
            "'id_colum' parameter": [
                lambda: index.add(["a"], id_colum="id"),
                lambda: index.update([], id_colum="x"),
            ],
            "a list of names": [lambda: index.collapse(["a"], 5)],  # type: ignore[arg-type]
        }
        for sentence, attempts in calls.items():
            for attempt in attempts:
                with pytest.raises(NeardupError, match=f"(?i){sentence}"):
                    attempt()
        assert len(index) == 1


def test_a_stream_updates_what_is_there(tmp_path: Path) -> None:
    with Index(tmp_path / "i", method="minhash") as index:
        index.add([{"id": "a", "text": "first"}])
        with pytest.raises(InputError, match="1 document is not in the index, for example 'b'"):
            index.update(iter([{"id": "a", "text": "other"}, {"id": "b", "text": "new"}]))
        given = pa.table({"id": ["a"], "text": ["second"], "q": [2]})
        assert index.update(iter([{"id": "a", "text": "second"}])).replaced == 1
        assert index.update(given, attributes=AttributeColumns(quality="q")).replaced == 1
        assert index.get("a").attributes == Attributes(quality=2.0)  # type: ignore[union-attr]
