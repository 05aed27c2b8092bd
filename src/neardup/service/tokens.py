"""Bearer tokens: 256 random bits each, of which a file has the SHA-256, the scopes, and the groups with their ids.

A token is random, so that a plain hash of it is as hard to invert as a slow one. A token bound to groups sees the
documents of these groups, and those that everybody may see. If it may write, its ids begin with a prefix of its own:
otherwise an answer about an id would reveal whether a hidden document has it.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neardup.errors import InputError
from neardup.index.documents import Access, may_see
from neardup.index.truth import Attributes

SCOPES = ("read", "write", "admin")
START = "ndt_"  # so that scanners for secrets know a token when they see one
MOST = 10_000
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Caller:
    """Who asks: the name of a token, and what it may do."""

    name: str = "anybody"
    scopes: frozenset[str] = frozenset(SCOPES)
    groups: frozenset[str] | None = None  # None: sees every document
    prefix: str = ""  # of the ids that it may write

    def may(self, scope: str) -> bool:
        """Whether the token has a scope; admin has all."""
        return scope in self.scopes or "admin" in self.scopes

    def sees(self, attributes: Attributes | None) -> bool:
        """Whether a document with these attributes exists for the caller."""
        access = None if attributes is None else attributes.access
        return self.groups is None or access is None or may_see(self.groups, frozenset(access))


@dataclass(frozen=True)
class Token:
    """A token without its secret."""

    name: str
    sha256: str
    scopes: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    prefix: str = ""
    created: str = ""

    def __post_init__(self) -> None:
        """Refuses what would give a token more than its creator meant."""
        if not NAME.fullmatch(self.name):
            raise InputError(f"The token name {self.name!r} must have 1 to 64 of A-Z a-z 0-9 . _ -")
        if not self.scopes or not set(self.scopes) <= set(SCOPES):
            raise InputError(f"The scopes of the token {self.name} must be some of {', '.join(SCOPES)}.")
        if not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise InputError(f"The token {self.name} has no SHA-256: make it again with --new-token.")
        if self.groups is not None and "admin" in self.scopes:
            raise InputError(f"The token {self.name} has the scope admin, which sees all: give no groups.")
        if self.groups is not None and "write" in self.scopes and not self.prefix:
            raise InputError(
                f"The token {self.name} writes and is bound to groups: give --id-prefix, which its ids begin with."
            )

    @property
    def caller(self) -> Caller:
        """Who asks with the token."""
        groups = None if self.groups is None else frozenset(self.groups)
        return Caller(self.name, frozenset(self.scopes), groups, self.prefix)


class AccessTokens:
    """The tokens of a file, as last read."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.required = path, False
        self._known: tuple[tuple[bytes, Caller], ...] = ()
        self.reload()

    def __len__(self) -> int:
        return len(self._known)

    def reload(self) -> int:
        """Read the file again; a file that cannot be used changes nothing and raises an error."""
        found = read_tokens(self.path) if self.path is not None else []
        self._known = tuple((bytes.fromhex(token.sha256), token.caller) for token in found)
        self.required = self.required or (
            self.path is not None and self.path.exists()
        )  # even without a token
        return len(found)

    def caller(self, secret: str) -> Caller | None:
        """Who has this token. Every token is compared, each in constant time."""
        digest, found = hashlib.sha256(secret.encode("utf-8", "replace")).digest(), None
        for known, caller in self._known:
            if hmac.compare_digest(known, digest):
                found = caller
        return found


def read_tokens(path: Path) -> list[Token]:
    """The tokens of a file; none if the file does not exist."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise InputError(
                    f"{path}: others may write the file of tokens, and make their own: chmod go-w it."
                )
            data = json.loads(file.read())
        return [_token(entry) for entry in data["tokens"][:MOST]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise InputError(
            f"{path}: the file of tokens cannot be read ({type(problem).__name__})."
        ) from problem


def _token(entry: dict[str, Any]) -> Token:
    groups = entry.get("groups")
    if not isinstance(entry["scopes"], list) or not isinstance(groups, (list, type(None))):
        raise ValueError("not a list")
    return Token(
        str(entry["name"]),
        str(entry["sha256"]),
        tuple(map(str, entry["scopes"])),
        None if groups is None else tuple(map(str, groups)),
        str(entry.get("prefix", "")),
        str(entry.get("created", "")),
    )


def new_token(
    path: Path, name: str, scopes: Sequence[str], groups: Iterable[str] | None = None, prefix: str = ""
) -> str:
    """The secret of a new token, which is stored nowhere."""
    secret = START + secrets.token_urlsafe(32)
    bound = None if groups is None else tuple(sorted(set(groups)))
    created = datetime.now(UTC).isoformat(timespec="seconds")
    digest = hashlib.sha256(secret.encode()).hexdigest()
    made = Token(name, digest, tuple(sorted(set(scopes))), bound, prefix, created)
    with _changing(path) as folder:
        known = read_tokens(path)
        if any(token.name == name for token in known):
            raise InputError(f"The token {name} exists: revoke it first, or choose another name.")
        if len(known) >= MOST:
            raise InputError(f"{path} has {MOST:,} tokens, the most it can have: revoke some.")
        _write(path, [*known, made], folder)
    return secret


def revoke_token(path: Path, name: str) -> None:
    """Remove a token."""
    with _changing(path) as folder:
        known = read_tokens(path)
        if all(token.name != name for token in known):
            raise InputError(f"{path} has no token {name}.")
        _write(path, [token for token in known if token.name != name], folder)


@contextmanager
def _changing(path: Path) -> Iterator[int]:
    """The folder of the file, locked: of two changes at a time, one would otherwise restore a revoked token."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise InputError(f"{path}: the file of tokens cannot be written ({problem.strerror}).") from problem
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)


def _write(path: Path, tokens: Sequence[Token], folder: int) -> None:
    """Write aside and rename, readable by this user alone."""
    aside = path.with_name(path.name + ".new")
    text = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=2) + "\n"
    try:
        aside.unlink(missing_ok=True)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(path)
        os.fsync(folder)
    except OSError as problem:
        raise InputError(f"{path}: the file of tokens cannot be written ({problem.strerror}).") from problem


def effective_access(caller: Caller, given: Sequence[str] | None) -> Access:
    """The groups with access to a document of this caller: its own groups, unless it names some of them."""
    if caller.groups is None:
        return None if given is None else frozenset(given)
    return caller.groups if given is None else frozenset(given)
