"""Addresses: what is one, its parts, and how it is shown."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # one letter is a drive of Windows
WEB = ("http", "https")


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an address such as s3://bucket/folder."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def scheme_of(address: str) -> str:
    """The scheme, in small letters."""
    return address.partition(":")[0].lower()


def joined(folder: str, name: str) -> str:
    """The address of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


def above(address: str) -> str:
    """The folder that an address is in."""
    return address.rstrip("/").rpartition("/")[0]


def last_name(address: str) -> str:
    """The name of the file, without the query of a web address."""
    return path_of(address).rstrip("/").rpartition("/")[2]


def path_of(address: str) -> str:
    """The address without the query of a web address, whose suffix says the format."""
    return address.partition("?")[0].partition("#")[0] if scheme_of(address) in WEB else address


def shown(address: str) -> str:
    """The address as messages and reports name it: without a password, and without a query, which may hold a key."""
    bare = path_of(address)
    if "@" not in bare.partition("://")[2].partition("/")[0]:
        return bare
    parts = urlsplit(bare)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
