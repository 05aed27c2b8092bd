"""A PostgreSQL server with an index: its address, connections, the lock of the writer, and its errors as sentences."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from neardup.errors import (
    IndexDamaged,
    InputError,
    MissingExtra,
    ParameterError,
    StorageError,
)
from neardup.index.truth import FORMAT

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

try:
    import psycopg
    from psycopg import errors, sql
except ImportError:  # said when a truth is opened
    MISSING = True
else:
    MISSING = False

COMMENT = f"neardup index, format {FORMAT}"
# Without statistics of a new table the planner guesses: every statement here is best answered by an index.
SETTINGS = "SET jit = off; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"


def split_url(url: str) -> tuple[str, str]:
    """The address for the server, and the schema, which is the option `index`."""
    if MISSING:
        raise MissingExtra("psycopg", "postgres", "An index in PostgreSQL")
    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    names = [value for key, value in options if key == "index"] or ["neardup"]
    if (
        not 0 < len(names[-1].encode("utf-8", "replace")) < 64
        or "\0" in names[-1]
        or names[-1].startswith("pg_")
    ):
        raise ParameterError("index", "a PostgreSQL address", "a name of 1 to 63 bytes", names[-1])
    query = urlencode([(key, value) for key, value in options if key != "index"])
    address = f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
    try:
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # its message may have the password
        raise InputError(f"{shown(address, names[-1])}: the address of the server cannot be read.") from None
    return address, names[-1]


def shown(address: str, schema: str) -> str:
    """The address for messages: without user, password and options."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}?index={schema}"


def connect(address: str, schema: str) -> Connection:
    """A connection with our settings, in the schema of the index."""
    command = Path(sys.argv[0]).name if sys.argv else ""
    name = f"neardup {os.getpid()}@{socket.gethostname()} {command}"[:63]
    connection = psycopg.connect(address, autocommit=True, application_name=name, connect_timeout=10)
    try:
        connection.execute(SETTINGS)
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))
        # A commit is acknowledged when it is durable, whatever the server's default; stricter defaults stay.
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
        )
    except BaseException:
        connection.close()
        raise
    return connection


def lock_number(schema: str) -> int:
    """The number of the advisory lock of an index."""
    digest = hashlib.sha256(f"neardup index {schema}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def holder(connection: Connection, schema: str) -> str:
    """Who holds the lock of the writer, for a sentence."""
    row = connection.execute(
        "SELECT a.application_name, a.xact_start FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
        "WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32) | l.objid::bigint = %s",
        (lock_number(schema),),
    ).fetchone()
    if row is None or row[1] is None:
        return "another process"
    return f"{row[0]} since {row[1].astimezone().isoformat(timespec='seconds')}"


def comment_of(connection: Connection, schema: str) -> str | None:
    """The comment of a schema that has tables; None without them."""
    row = connection.execute(
        "SELECT obj_description(n.oid, 'pg_namespace') FROM pg_namespace n "
        "WHERE n.nspname = %s AND EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = n.oid)",
        (schema,),
    ).fetchone()
    return None if row is None else row[0] or ""


def refuse_others(connection: Connection, schema: str, place: str) -> None:
    """Refuses a schema that is not ours, or of another format."""
    comment = comment_of(connection, schema)
    if comment is None:
        raise InputError(f"{place}: the database has no such index.")
    if not comment.startswith("neardup index, format "):
        raise InputError(
            f"{place}: the schema {schema!r} is not an index of neardup. Name another with ?index=NAME."
        )
    if comment != COMMENT:
        version = comment.rpartition(" ")[2]
        raise InputError(
            f"{place}: the index has format {version}, this version of neardup reads {FORMAT}. "
            "Use the version that made it."
        )


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Errors of the server become a sentence about the index."""
    try:
        yield
    except psycopg.Error as problem:
        raise _error(place, problem) from problem


def _error(place: str, problem: psycopg.Error) -> Exception:
    reason = str(problem).strip().partition("\n")[0].rstrip(".")
    if isinstance(problem, errors.DiskFull):
        return StorageError(
            f"{place}: the server's disk is full. Nothing was changed; make room and try again."
        )
    if isinstance(problem, (errors.DataCorrupted, errors.IndexCorrupted)):
        return IndexDamaged(f"{place}: the index is damaged ({reason}). Restore it from a backup.")
    if isinstance(problem, (errors.UndefinedTable, errors.UndefinedColumn)):
        return IndexDamaged(f"{place}: the index is damaged ({reason}).")
    if isinstance(problem, errors.ProgramLimitExceeded):
        return InputError(f"{place}: a document is larger than 1 GB ({reason}). Leave it out.")
    if isinstance(problem, errors.InsufficientPrivilege):
        return StorageError(
            f"{place}: the server refuses access ({reason}). Ask for the right to use the schema."
        )
    if isinstance(problem, psycopg.OperationalError):
        return StorageError(
            f"{place}: the server cannot be reached ({reason}). Nothing was changed; try again."
        )
    return StorageError(f"{place}: the index cannot be used ({reason}).")
