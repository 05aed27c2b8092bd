"""An index in SQLite and in PostgreSQL, and the servers of PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import postgres
import pytest
from truths import Place

from neardup.index.truth import DocumentStore


def _running() -> Iterator[postgres.Server]:
    if reason := postgres.missing():
        pytest.skip(reason)
    running = postgres.Server()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    """A server whose databases the tests of a worker share: each takes an index of another name."""
    yield from _running()


@pytest.fixture
def own_server() -> Iterator[postgres.Server]:
    """A server that a test may kill."""
    yield from _running()


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Place]:
    """A function that names a new place each time."""
    if request.param == "sqlite":
        return lambda: Place(str(tmp_path / uuid.uuid4().hex / "news.index"))
    running = request.getfixturevalue("server")
    return lambda: Place(running.url("i" + uuid.uuid4().hex))


@pytest.fixture
def place(places: Callable[[], Place]) -> Place:
    return places()


@pytest.fixture
def truth(place: Place) -> Iterator[DocumentStore]:
    created = place.create(plan="p")
    yield created
    created.close()
