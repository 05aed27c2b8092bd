"""The truth of an index, in SQLite and in PostgreSQL: one battery for both."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from truths import Place, RolledBack, as_tuples, new_rows

from neardup.errors import (
    InputError,
    OutputError,
    StorageError,
)
from neardup.index.truth import (
    ALL,
    MATCH,
    Attributes,
    Columns,
    DocumentStore,
    Id,
    NewRows,
)


@pytest.mark.parametrize(
    "name", ["", "\0", "a\0b", "\ud800", "é", "x" * 10_000, "1", 1, -5, 10**30, "01", " 1"], ids=ascii
)
def test_every_id_comes_back_as_it_was(truth: DocumentStore, name: Id) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["before", name, "after"]))
    with truth.reading() as snapshot:
        (seq,) = snapshot.find([name])
        (found,) = snapshot.fetch(np.array([seq])).ids
        assert (type(found), found, seq) == (type(name), name, 2)


def test_an_integer_and_its_digits_are_one_document(truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["1"]))
        writer.insert(new_rows([np.int64(1)]))
        assert writer.fetch(np.array([1, 2])).ids == [1]
        assert writer.count() == 1
        assert writer.delete(["1", 1]) == 1


@pytest.mark.parametrize(
    "name", [None, 1.5, True, b"x", 10**5000], ids=["None", "1.5", "True", "bytes", "digits"]
)
def test_other_ids_are_refused_and_change_nothing(truth: DocumentStore, name: Any) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["a"]))
        rows = new_rows(["b", "c"])
        with pytest.raises(InputError, match="id"):
            writer.insert(
                NewRows(["b", name], *(getattr(rows, column) for column in list(rows.__dict__)[1:]))
            )
    with truth.reading() as snapshot:
        assert (snapshot.count(), snapshot.last()) == (1, 1)


def test_extreme_values_come_back(truth: DocumentStore) -> None:
    whole = np.array([0, 2**63, 2**64 - 1], np.uint64)
    numbers = np.array([0, 2**62, 2**63 - 1])
    attributes = [
        Attributes(),
        Attributes((), float("inf"), -1e-300),
        Attributes(("a,b", ""), time=0.1, url=""),
    ]
    rows = NewRows(
        ["a", "b", "c"],
        whole,
        whole[::-1],
        numbers,
        numbers,
        [b"", None, b"\0" * 10**6],
        [b"", b"\0", None],
        attributes,
    )
    with truth.writing() as writer:
        writer.insert(rows)
    with truth.reading() as snapshot:
        assert as_tuples(snapshot.fetch(np.arange(4), ALL)) == as_tuples(rows)


def test_columns_that_were_not_asked_for_are_empty(truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["a", "b"]))
    with truth.reading() as snapshot:
        rows = snapshot.fetch(np.array([1, 2]), Columns(signature=True))
        assert (len(rows.bodies), len(rows.signatures), len(rows.attributes)) == (0, 2, 0)
        empty = snapshot.fetch(np.array([], np.int64), ALL)
        assert (len(empty), empty.seqs.dtype, empty.low.dtype) == (0, np.int64, np.uint64)
        assert list(snapshot.scan(3, 9, MATCH, 5)) == []


def test_any_number_of_documents_is_fetched_and_found(truth: DocumentStore) -> None:
    ids: list[Id] = [f"d{number}" for number in range(5000)]
    with truth.writing() as writer:
        writer.insert(new_rows(ids))
        assert writer.delete(ids[::3]) == len(ids[::3])
    with truth.reading() as snapshot:
        seqs = np.random.default_rng(0).permutation(np.arange(1, 5001))
        rows = snapshot.fetch(seqs, MATCH)
        assert rows.ids == [name for place, name in enumerate(ids) if place % 3]
        assert snapshot.find(rows.ids).tolist() == rows.seqs.tolist()
        assert snapshot.count() == len(rows)


def test_names_and_data_are_kept(place: Place, truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.set_about(method="minhash", odd="\0\ud800")
        writer.set_about(method="simhash")
        writer.set_blob("statistics", b"1" * 10**6)
        writer.set_blob("statistics", b"\0\xff")
    with place.open().reading() as snapshot:
        assert snapshot.about() == {"plan": "p", "method": "simhash", "odd": "\0\ud800"}
        assert snapshot.blob("statistics") == b"\0\xff"
        assert snapshot.blob("other") is None


def test_a_snapshot_does_not_see_later_commits(truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["a", "b"]))
    with truth.reading() as before:
        with truth.writing() as writer:
            writer.insert(new_rows(["b", "c"], seed=1))
            writer.delete(["a"])
            with truth.reading() as meanwhile:
                assert meanwhile.alive(1, 9).tolist() == [1, 2]
        with truth.reading() as after:
            assert after.alive(1, 9).tolist() == [3, 4]
            assert before.alive(1, 9).tolist() == [1, 2]
            assert (before.last(), before.count(), after.last()) == (2, 2, 4)
            assert before.find(["b"]).tolist() == [2]


def test_the_version_changes_with_every_commit_of_anybody(place: Place, truth: DocumentStore) -> None:
    other = place.open()
    seen = [truth.version()]
    for change in (
        lambda writer: writer.insert(new_rows(["a"])),
        lambda writer: writer.delete(["a"]),
        lambda writer: writer.set_about(x="y"),
        lambda writer: writer.set_blob("x", b""),
    ):
        with other.writing() as writer:
            change(writer)
        seen.append(truth.version())
    assert len(set(seen)) == 5
    assert truth.version() == other.version()
    with suppress(RolledBack), other.writing() as writer:
        writer.insert(new_rows(["b"]))
        raise RolledBack
    assert truth.version() == seen[-1]


def test_a_change_that_failed_half_way_is_never_committed(truth: DocumentStore) -> None:
    with pytest.raises(StorageError, match="rolled back"), truth.writing() as writer:
        writer.insert(new_rows(["a"]))
        writer._store = lambda rows: 1 / 0  # type: ignore[attr-defined]
        with suppress(ZeroDivisionError):
            writer.insert(new_rows(["b"]))
    with truth.reading() as snapshot:
        assert (snapshot.count(), snapshot.last()) == (0, 0)


def test_use_after_the_end_is_an_error(truth: DocumentStore) -> None:
    with truth.reading() as snapshot:
        pass
    with pytest.raises(RuntimeError, match="after"):
        snapshot.alive(1, 2)
    with truth.writing() as writer:
        pass
    with pytest.raises(RuntimeError, match="after"):
        writer.insert(new_rows(["a"]))
    truth.close()
    with pytest.raises(StorageError, match="closed"), truth.reading():
        pass


def test_a_place_has_one_truth(place: Place, truth: DocumentStore) -> None:
    with pytest.raises(OutputError, match="already"):
        place.create()
    with place.open().reading() as snapshot:
        assert snapshot.about() == {"plan": "p"}


def test_a_place_without_a_truth_is_refused(place: Place) -> None:
    with pytest.raises(InputError, match=r"no (such )?index"):
        place.open()
