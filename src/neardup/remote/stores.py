"""Stores: what an address needs to be read, listed and written, whoever answers for its scheme."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from neardup.errors import InputError
from neardup.remote.addresses import WEB, scheme_of


@dataclass(frozen=True)
class Status:
    """What identifies an object: equal as long as nobody writes to it."""

    size: int
    changed: int  # time of change in nanoseconds, or a hash of the entity tag


class Store(Protocol):
    """Objects by their addresses; failures are OSErrors."""

    def status(self, address: str) -> Status | None:
        """Of an object; None for a folder. FileNotFoundError if nothing has the address."""

    def read(self, address: str, start: int, size: int, known: Status) -> bytes:
        """A range of the bytes of the object that had this status when it was opened."""

    def list(self, folder: str) -> dict[str, Status]:
        """All objects below a folder, by address."""

    def upload(self, path: Path, address: str) -> None:
        """Write an object as a whole."""

    def delete(self, address: str) -> None:
        """Remove an object, if it exists."""


@lru_cache
def _store(scheme: str) -> Store:
    if scheme in WEB:
        from neardup.remote.web import WebStore

        return WebStore()
    if scheme in ("s3", "gs"):
        from neardup.remote.arrow_store import ArrowStore

        return ArrowStore(scheme)
    from neardup.remote.fsspec_store import FsspecStore

    return FsspecStore(scheme)


def store_of(address: str) -> Store:
    """The store of an address; an InputError for a scheme that nobody answers for."""
    if "://" not in address:
        raise InputError(f"{address} is not an address: write {scheme_of(address)}:// with two slashes")
    return _store(scheme_of(address))


def tag_number(tag: str) -> int:
    """An entity tag as a number."""
    return int.from_bytes(hashlib.sha256(tag.encode()).digest()[:7], "big")
