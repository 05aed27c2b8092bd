"""The bytes of an input file, on this machine or behind an address."""

from __future__ import annotations

import os
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import IO

import pyarrow as pa

from neardup.remote import is_address, open_remote, remote_status
from neardup.remote.files import open_raw

_BUFFER = 1 << 16


def open_stored(path: str) -> pa.NativeFile:
    """A file for Arrow's readers; an OSError says why it cannot be read."""
    return open_remote(path) if is_address(path) else pa.OSFile(os.fsencode(path))


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file for Python's readers."""
    if isinstance(path, str) and is_address(path):
        return BufferedReader(open_raw(path), _BUFFER)
    return Path(path).open("rb")


def stored_bytes(path: str) -> int:
    """The size of a file, 0 if it no longer exists."""
    with suppress(OSError):
        return remote_status(path).size if is_address(path) else Path(path).stat().st_size
    return 0


def file_stamp(path: str) -> tuple[str, int, int]:
    """Path, size and time of change (or entity tag) of a file."""
    if is_address(path):
        found = remote_status(path)
        return path, found.size, found.changed
    status = os.stat(path)  # noqa: PTH116 - a path may be a plain string
    return str(path), status.st_size, status.st_mtime_ns
