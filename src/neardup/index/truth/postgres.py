"""The truth in a PostgreSQL server: several processes write and read one index, each with its own connections.

An index is a schema. Writers take an advisory lock for their transaction, so that sequence numbers are given in the
order of commits: who has read up to a number never misses a smaller one. Readers have snapshots (REPEATABLE READ) and
wait for nobody. Ids are unique by their SHA-256: PostgreSQL's indexes take no key of more than 2,700 bytes.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from neardup.errors import (
    IndexBusy,
    OutputError,
    StorageError,
)
from neardup.index.truth import Row, StoredRows, stored
from neardup.index.truth.postgres_server import (
    COMMENT,
    comment_of,
    connect,
    holder,
    lock_number,
    refuse_others,
    shown,
    split_url,
    translated,
)
from neardup.index.truth.sql import SqlSnapshot, SqlWriter

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]
    Outcome = Callable[[int, uuid.UUID], bool | None]

with suppress(ImportError):  # said when a truth is opened
    import psycopg
    from psycopg import errors, pq, sql

_IDLE = 16  # connections kept open between uses
_LISTED = 20_000  # values in a statement
_TOKENS = 1000  # commits whose outcome can be looked up
_SALVAGED = 1024  # documents at a time
_MOST_SENTENCES = 100  # of a check
_TABLES = f"""
CREATE TABLE documents (
    seq bigint PRIMARY KEY, id bytea NOT NULL, "integer" boolean NOT NULL, low bigint NOT NULL,
    high bigint NOT NULL, characters bigint NOT NULL, tokens bigint NOT NULL, attributes text,
    checksum bigint NOT NULL);
CREATE UNIQUE INDEX documents_id ON documents (sha256(id));
CREATE TABLE bodies (seq bigint PRIMARY KEY, body bytea, signature bytea, checksum bigint NOT NULL);
ALTER TABLE bodies ALTER body SET STORAGE EXTERNAL, ALTER signature SET STORAGE EXTERNAL;
CREATE TABLE state (
    last bigint NOT NULL, count bigint NOT NULL, commits bigint NOT NULL, checksum bigint NOT NULL);
CREATE TABLE about (name text PRIMARY KEY, value bytea NOT NULL, checksum bigint NOT NULL);
CREATE TABLE blobs (name text PRIMARY KEY, data bytea NOT NULL, checksum bigint NOT NULL);
CREATE TABLE tokens (number bigint PRIMARY KEY, token uuid NOT NULL);  -- of the last commits
INSERT INTO state VALUES (0, 0, 0, {stored.state_checksum(0, 0, 0)});
"""
_DOCUMENT_TYPES = ("int8", "bytea", "bool", "int8", "int8", "int8", "int8", "text", "int8")
_BODY_TYPES = ("int8", "bytea", "bytea", "int8")


class PostgresTruth:
    """The truth in a schema of a database: `postgresql://host/database?index=NAME`, else index `neardup`."""

    def __init__(self, url: str, *, wait: float = 10.0) -> None:
        self._address, self.schema = split_url(url)
        self.place, self.wait = shown(self._address, self.schema), wait
        self._idle: list[Connection] = []
        self._process, self._closed = os.getpid(), False
        with self._session() as connection:
            refuse_others(connection, self.schema, self.place)

    @staticmethod
    def exists(url: str) -> bool:
        """Whether the database has this index."""
        address, schema = split_url(url)
        with translated(shown(address, schema)), connect(address, schema) as connection:
            return comment_of(connection, schema) is not None

    @staticmethod
    def create(url: str, about: Mapping[str, str], *, wait: float = 10.0) -> PostgresTruth:
        """A new truth; a lost connection leaves a whole one or none. Refused if there is one already."""
        address, schema = split_url(url)
        place = shown(address, schema)
        with translated(place), connect(address, schema) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(schema),))
            if comment_of(connection, schema) is not None:
                raise OutputError(f"{place}: the database has this index already.")
            name = sql.Identifier(schema)
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
            connection.execute(_TABLES)
            connection.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(name, sql.Literal(COMMENT)))
            rows = stored.named_rows({key: stored.text_bytes(value) for key, value in about.items()})
            connection.cursor().executemany("INSERT INTO about VALUES (%s, %s, %s)", rows)
        return PostgresTruth(url, wait=wait)

    @contextmanager
    def reading(self) -> Iterator[PostgresSnapshot]:
        """A snapshot of the last commit, valid inside the `with`."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self._session(begin) as connection:
            snapshot = PostgresSnapshot(connection, self.place)
            try:
                yield snapshot
            finally:
                snapshot.ended = True

    @contextmanager
    def writing(self) -> Iterator[PostgresWriter]:
        """The only writer. On exit everything is committed and durable; on an exception nothing is."""
        # READ COMMITTED: a snapshot taken before the lock would miss what the writer before this one committed.
        with self._session("BEGIN ISOLATION LEVEL READ COMMITTED") as connection:
            self._take_lock(connection)
            writer = PostgresWriter(connection, self.place, self._outcome)
            try:
                yield writer
                writer.finish()
            finally:
                writer.ended = True

    def version(self) -> int:
        """The number of write transactions: changes with every commit, of this process or another."""
        with self.reading() as snapshot:
            return snapshot.version()

    def check(self) -> list[str]:
        """What is damaged, one sentence each; empty if all is well. Reads everything."""
        found: list[str] = []
        with self.reading() as snapshot:
            for check in stored.find_damage(snapshot.stream):
                try:
                    found += check()
                except StorageError as problem:
                    found.append(str(problem))
                    break  # the server ends a transaction with its first error
        return found[:_MOST_SENTENCES]

    def salvage(self) -> Iterator[StoredRows]:
        """The undamaged rows, with all columns, by ascending seq."""
        with self.reading() as snapshot:
            for low in range(1, snapshot.last() + 1, _SALVAGED):
                rows = snapshot.sound_rows(low, low + _SALVAGED - 1)
                if len(rows):
                    yield rows

    def close(self) -> None:
        """Ends all connections that are not in use; those in use end with their `with`."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _session(self, begin: str = "") -> Iterator[Connection]:
        """A connection that nobody else uses, in a transaction if `begin` starts one, which ends here."""
        if self._closed:
            raise StorageError(f"{self.place}: the index was closed. Open it again.")
        with translated(self.place):
            connection = self._begin(begin)
            process = os.getpid()
            try:
                yield connection
            finally:
                if process == os.getpid():
                    self._give_back(connection)

    def _begin(self, begin: str) -> Connection:
        """A connection on which `begin` went well; one that was lost while idle is replaced by a new one."""
        if self._process != os.getpid():  # the parent continues with its connections
            _inherited.extend(self._idle)
            self._idle, self._process = [], os.getpid()
        with suppress(IndexError):
            connection = self._idle.pop()
            try:
                connection.execute(begin or "SELECT")
                return connection
            except psycopg.OperationalError:
                connection.close()
                self._drop_idle()
        connection = connect(self._address, self.schema)
        connection.execute(begin or "SELECT")
        return connection

    def _give_back(self, connection: Connection) -> None:
        """Ends what the connection was doing, and keeps it for the next use if it is sound."""
        status = connection.info.transaction_status
        if status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
        idle = connection.info.transaction_status == pq.TransactionStatus.IDLE
        if idle and not self._closed and len(self._idle) < _IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def _drop_idle(self) -> None:
        """Closes the other idle connections: a server that was restarted has ended them all."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _take_lock(self, connection: Connection) -> None:
        """Waits for other writers; the lock ends with the transaction."""
        connection.execute(
            "SELECT set_config('lock_timeout', %s, true)", (f"{max(1, int(self.wait * 1000))}ms",)
        )
        try:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(self.schema),))
        except errors.LockNotAvailable:
            connection.execute("ROLLBACK")
            raise IndexBusy(self.place, holder(connection, self.schema), self.wait) from None
        connection.execute("SET LOCAL lock_timeout = 0")

    def _outcome(self, number: int, token: uuid.UUID) -> bool | None:
        """Whether a commit that was not answered took place; None if the server stays away.

        The lock is taken first: the lost session may still be committing.
        """
        end = time.monotonic() + self.wait
        while time.monotonic() < end:
            try:
                with connect(self._address, self.schema) as connection, connection.transaction():
                    self._take_lock(connection)
                    found = connection.execute(
                        "SELECT token FROM tokens WHERE number = %s", (number,)
                    ).fetchone()
                    (commits,) = connection.execute("SELECT commits FROM state").fetchone() or (0,)
                    return None if commits >= number + _TOKENS else found is not None and found[0] == token
            except (psycopg.Error, IndexBusy):
                time.sleep(0.1)
        return None


_inherited: list[Connection] = []  # kept: closing them would end the parent's sessions


class PostgresSnapshot(SqlSnapshot):
    """One committed state. Ranges of seqs include both ends."""

    def __init__(self, connection: Connection, place: str) -> None:
        self._connection = connection
        super().__init__(place)

    def _run(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        with translated(self._place):
            cursor = self._connection.execute(statement.replace("?", "%s"), values or None, binary=True)
            return cursor.fetchall() if cursor.description else []

    def _listed(self, begin: str, values: Sequence[object], end: str = "") -> list[Row]:
        rows: list[Row] = []
        kind = "bytea" if values and isinstance(values[0], bytes) else "bigint"
        for start in range(0, len(values), _LISTED):
            part = list(values[start : start + _LISTED])
            rows += self._all(f"{begin} = ANY(?::{kind}[]){end}", (part,))
        return rows

    def _by_id(self, select: str, keys: Sequence[bytes]) -> list[Row]:
        return self._listed(f"{select} WHERE sha256(id)", [hashlib.sha256(key).digest() for key in keys])

    def stream(self, statement: str) -> Iterator[Row]:
        """The rows of a statement, a few at a time."""
        with translated(self._place), self._connection.cursor("stream", binary=True) as cursor:
            cursor.itersize = _SALVAGED
            yield from cursor.execute(statement)

    def sound_rows(self, low: int, high: int) -> StoredRows:
        """The undamaged rows of a range of seqs, with all columns."""
        documents = self._all(
            'SELECT seq, id, "integer", low, high, characters, tokens, attributes, checksum FROM documents '
            "WHERE seq BETWEEN ? AND ? ORDER BY seq",
            (low, high),
        )
        bodies = "SELECT seq, body, signature, checksum FROM bodies WHERE seq BETWEEN ? AND ?"
        return stored.sound_rows(documents, self._all(bodies, (low, high)))


class PostgresWriter(PostgresSnapshot, SqlWriter):
    """The state inside a write transaction. Reads see what was written before them."""

    def __init__(self, connection: Connection, place: str, outcome: Outcome) -> None:
        super().__init__(connection, place)
        self._outcome = outcome

    def _store(self, rows: stored.PreparedRows) -> None:
        with translated(self._place):
            self._copy("documents", _DOCUMENT_TYPES, rows.documents)
            self._copy("bodies", _BODY_TYPES, rows.bodies)

    def _copy(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        if not rows:
            return
        statement = f"COPY {table} FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)

    def _discard(self, seqs: Sequence[Row]) -> None:
        gone = [row[0] for row in seqs]
        self._listed("DELETE FROM documents WHERE seq", gone)
        self._listed("DELETE FROM bodies WHERE seq", gone)

    def _commit(self) -> None:
        """Commits; if the server dies meanwhile, asks it afterwards whether the commit took place."""
        number, token = self._commits + 1, uuid.uuid4()
        if self._changed:
            self._all(
                "WITH old AS (DELETE FROM tokens WHERE number <= ?) INSERT INTO tokens VALUES (?, ?)",
                (number - _TOKENS, number, token),
            )
        try:
            cursor = self._connection.execute("COMMIT")
        except psycopg.OperationalError as problem:
            committed = self._outcome(number, token) if self._changed else True
            if committed:
                return
            left = "the batch is stored wholly or not at all" if committed is None else "nothing was changed"
            raise StorageError(
                f"{self._place}: the connection was lost during a commit; {left}. Try again."
            ) from problem
        if cursor.statusmessage != "COMMIT":  # the server rolls back a transaction in which something failed
            raise StorageError(f"{self._place}: a statement failed, so the transaction was rolled back.")
