"""The truth in PostgreSQL: lost servers and commits, other schemas, messages.

NEARDUP_KILLS=1000 kills more servers than the usual 4.
"""

from __future__ import annotations

import os
import random
import signal
import time
from typing import Any

import postgres
import pytest
from truths import KILLS, Child, Place, assert_whole, new_rows, write_batches

from neardup.errors import (
    InputError,
    ParameterError,
    StorageError,
)


def test_a_server_killed_in_the_middle_of_a_batch_leaves_the_index_unchanged(
    own_server: postgres.Server,
) -> None:
    truth = Place(own_server.url()).create()
    with truth.writing() as writer:
        writer.insert(new_rows(["a"]))
    with (
        pytest.raises(StorageError, match=r"server cannot be reached.*Nothing was changed"),
        truth.writing() as writer,
    ):
        writer.insert(new_rows(["b"]))
        own_server.kill()
        writer.insert(new_rows(["c"]))
    with pytest.raises(StorageError, match="cannot be reached"):
        truth.version()
    own_server.start()
    with truth.reading() as snapshot:
        assert (snapshot.count(), snapshot.last()) == (1, 1)
    with truth.writing() as writer:
        assert writer.insert(new_rows(["b"])).tolist() == [2]


def test_a_connection_lost_while_idle_is_made_again(own_server: postgres.Server) -> None:
    truth = Place(own_server.url()).create()
    with truth.reading(), truth.reading():
        pass  # two connections
    own_server.kill()
    own_server.start()
    assert truth.version() == 0
    with truth.writing() as writer:
        writer.insert(new_rows(["a"]))


def test_a_commit_without_an_answer_is_looked_up(own_server: postgres.Server) -> None:
    truth = Place(own_server.url()).create()

    def write(name: str, commits: bool) -> None:
        with truth.writing() as writer:
            writer.insert(new_rows([name]))
            writer._connection = Lost(writer._connection, own_server, commits)  # type: ignore[attr-defined]

    write("committed", True)
    with pytest.raises(StorageError, match="lost during a commit; nothing was changed"):
        write("not committed", False)
    with truth.reading() as snapshot:
        assert snapshot.find(["committed", "not committed"]).tolist() == [1, 0]
        assert (snapshot.count(), snapshot.last(), snapshot.version()) == (1, 1, 1)


def test_a_commit_whose_server_stays_away_is_in_doubt(own_server: postgres.Server) -> None:
    Place(own_server.url()).create()
    truth = Place(own_server.url()).open(wait=0.3)
    with (
        pytest.raises(StorageError, match="lost during a commit; the batch is stored wholly or not at all"),
        truth.writing() as writer,
    ):
        writer.insert(new_rows(["a"]))
        writer._connection = Lost(writer._connection, own_server, True, False)  # type: ignore[attr-defined]
    own_server.start()
    with truth.reading() as snapshot:
        assert snapshot.count() == 1


class Lost:
    """A connection whose server dies with COMMIT: just after it, or just before."""

    def __init__(self, connection: Any, server: postgres.Server, commits: bool, returns: bool = True) -> None:
        self.connection, self.server, self.commits, self.returns = connection, server, commits, returns

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, statement: str, *values: Any, **options: Any) -> Any:
        if statement != "COMMIT":
            return self.connection.execute(statement, *values, **options)
        if self.commits:
            self.connection.execute(statement)
        self.server.kill()
        if self.returns:
            self.server.start()
        return self.connection.execute("SELECT 1")


@pytest.mark.slow
def test_killed_servers_lose_nothing_that_was_acknowledged(own_server: postgres.Server) -> None:
    place, source, last = Place(own_server.url()), random.Random(6), -1
    place.create().close()
    for _ in range(max(3, KILLS // 5)):
        child = Child(lambda say, start=last + 1: write_batches(place, start, say))
        said = child.ready()
        assert said.isdigit(), said
        time.sleep(source.random() * 0.2)
        own_server.kill()
        os.kill(child.pid, signal.SIGTERM)  # it may be waiting for the outcome of a commit
        lines = [said, *(line for line in child.join() if line.isdigit())]
        own_server.start()
        truth = place.open()
        with truth.reading() as snapshot:
            last = assert_whole(snapshot)
        assert last in (int(lines[-1]), int(lines[-1]) + 1)
        assert truth.check() == []
        truth.close()


def test_indexes_of_one_database_are_apart(server: postgres.Server) -> None:
    truths = [Place(server.url(name)).create(name=name) for name in ("one", 'two "x" %s', "three")]
    with truths[0].writing() as writer, truths[1].writing() as other:
        writer.insert(new_rows(["a"]))
        other.insert(new_rows(["b", "c"]))
    counts = []
    for truth in truths:
        with truth.reading() as snapshot:
            counts.append(snapshot.count())
    assert counts == [1, 2, 0]


def test_a_damaged_row_in_the_server_is_noticed_and_not_salvaged(server: postgres.Server) -> None:
    truth = Place(server.url("damaged")).create()
    with truth.writing() as writer:
        writer.insert(new_rows([f"{number}" for number in range(20)], size=300))
        writer._all("UPDATE documents SET tokens = tokens + 1 WHERE seq = 3")
        writer._all("UPDATE bodies SET signature = 'x' WHERE seq = (SELECT max(seq) FROM bodies)")
    found = truth.check()
    assert len(found) == 2 and "Document 3 is damaged" in found[0]
    assert sum(len(rows) for rows in truth.salvage()) == 18


def test_a_schema_that_is_not_ours_is_refused(server: postgres.Server) -> None:
    import psycopg

    address = server.url("x").replace("&index=x", "")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.documents (seq int)")
        connection.execute("CREATE SCHEMA newer; CREATE TABLE newer.state (last int)")
        connection.execute("COMMENT ON SCHEMA newer IS 'neardup index, format 9'")
    with pytest.raises(InputError, match="not an index of neardup"):
        Place(server.url("other")).open()
    with pytest.raises(InputError, match="format 9"):
        Place(server.url("newer")).open()


def test_messages_do_not_have_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError, match="cannot be reached") as raised:
        Place("postgresql://me:secret@localhost:1/news?index=a").open()
    assert "secret" not in str(raised.value)
    with pytest.raises(InputError) as unread:
        Place("postgresql://me:secret@localhost:1/news?nonsense=secret").open()
    assert "secret" not in str(unread.value)
    with pytest.raises(ParameterError, match="index"):
        Place("postgresql://localhost/news?index=").open()
