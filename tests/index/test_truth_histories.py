"""Random histories of an index, in SQLite and in PostgreSQL, beside a dict."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from truths import Place, RolledBack, as_tuples, contents, new_rows

from neardup.index.truth import (
    ALL,
    Id,
    NewRows,
    Snapshot,
)


@dataclass
class Model:
    """What a truth should have."""

    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    seqs: dict[str, int] = field(default_factory=dict)
    last: int = 0

    def insert(self, rows: NewRows) -> list[int]:
        for name, row in zip(rows.ids, as_tuples(rows), strict=True):
            self.last += 1
            self.rows.pop(self.seqs.get(str(name), 0), None)
            self.rows[self.last], self.seqs[str(name)] = row, self.last
        return list(range(self.last - len(rows) + 1, self.last + 1))

    def delete(self, ids: list[Id]) -> int:
        gone = {str(name) for name in ids} & set(self.seqs)
        for name in gone:
            del self.rows[self.seqs.pop(name)]
        return len(gone)

    def assert_is(self, snapshot: Snapshot) -> None:
        assert (snapshot.last(), snapshot.count()) == (self.last, len(self.rows))
        assert contents(snapshot) == self.rows
        assert snapshot.alive(0, self.last + 9).tolist() == sorted(self.rows)
        middle = self.last // 2
        assert snapshot.alive(middle, self.last - 1).tolist() == [
            seq for seq in sorted(self.rows) if middle <= seq < self.last
        ]
        names = [*self.seqs, "unknown"]
        assert snapshot.find(names).tolist() == [*self.seqs.values(), 0]
        every = np.arange(self.last + 3)[::-1]
        fetched = snapshot.fetch(np.concatenate([every, every]), ALL)
        assert fetched.seqs.tolist() == sorted(self.rows)
        assert as_tuples(fetched) == [self.rows[seq] for seq in sorted(self.rows)]


IDS = st.one_of(
    st.integers(-3, 12), st.integers(-3, 12).map(str), st.sampled_from(["", "\0", "a\0", "\ud800", "ß"])
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.lists(IDS, max_size=8)),
        st.tuples(st.just("delete"), st.lists(IDS, max_size=8)),
        st.tuples(st.just("end"), st.sampled_from(["commit", "roll back", "reopen"])),
    ),
    max_size=25,
)


def apply(steps: list[tuple[str, Any]], place: Place, start: int) -> None:
    """Runs a history in transactions, and compares the truth with the model after each."""
    truth, model = place.create(), Model()
    transaction: list[tuple[str, Any]] = []
    for number, (kind, value) in enumerate([*steps, ("end", "commit")], start):
        if kind != "end":
            transaction.append((kind, (number, value)))
            continue
        tried = Model(dict(model.rows), dict(model.seqs), model.last)
        with suppress(RolledBack), truth.writing() as writer:
            for step, (seed, ids) in transaction:
                if step == "insert":
                    rows = new_rows(ids, seed)
                    assert writer.insert(rows).tolist() == tried.insert(rows)
                else:
                    assert writer.delete(ids) == tried.delete(ids)
            tried.assert_is(writer)
            if value == "roll back":
                raise RolledBack
        model = model if value == "roll back" else tried
        if value == "reopen":
            truth.close()
            truth = place.open()
        with truth.reading() as snapshot:
            model.assert_is(snapshot)
        transaction = []
    assert truth.check() == []
    assert sum(len(rows) for rows in truth.salvage()) == len(model.rows)
    truth.close()


def test_random_histories_agree_with_a_dict(places: Callable[[], Place]) -> None:
    @given(STEPS)
    def histories(steps: list[tuple[str, Any]]) -> None:
        apply(steps, places(), 0)

    histories()


@pytest.mark.slow
def test_a_longer_history_agrees_with_a_dict(place: Place) -> None:
    source = random.Random(3)
    steps: list[tuple[str, Any]] = []
    for _ in range(60):
        ids = [source.choice([str, int])(source.randrange(3000)) for _ in range(source.randrange(300))]
        steps.append((source.choice(["insert", "insert", "delete"]), ids))
        if source.random() < 0.4:
            steps.append(("end", source.choice(["commit", "roll back", "reopen"])))
    apply(steps, place, 1)
