"""Files for readers that want a path."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

_rooms: list[Path] = []


def room() -> Path:
    """A folder of this process, in memory where the system has such a place."""
    if not _rooms:
        shared = Path("/dev/shm")
        _rooms.append(Path(tempfile.mkdtemp(prefix="neardup-fuzz-", dir=shared if shared.is_dir() else None)))
        atexit.register(shutil.rmtree, _rooms[0], ignore_errors=True)
    return _rooms[0]


def file_with(data: bytes, suffix: str) -> str:
    """A file of these bytes."""
    path = room() / f"input{suffix}"
    path.write_bytes(data)
    return str(path)
