"""Remote objects as files: ranges with read-ahead, retried."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from neardup.remote.retries import Final, retried
from neardup.remote.stores import Status, store_of

if TYPE_CHECKING:
    import pyarrow as pa

LEAST, MOST = 1 << 18, 8 << 20  # bytes of a range: small ones for seeks, growing ones for sequential reads


class RemoteFile(io.RawIOBase):
    """An object that is read in ranges."""

    def __init__(self, address: str, status: Status) -> None:
        super().__init__()
        self._address, self._status, self._size = address, status, status.size
        self._at = self._start = 0
        self._window = b""
        self._ahead = LEAST

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The place of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        """Sets the place of the next read; nothing is asked for yet."""
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def size(self) -> int:
        """The bytes of the object."""
        return self._size

    def readinto(self, target: Any) -> int:
        """The next bytes, at least one before the end."""
        view = memoryview(target).cast("B")
        part = self.read(len(view))
        view[: len(part)] = part
        return len(part)

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, as many as requested before the end."""
        left = max(0, self._size - self._at)
        size = left if size is None or size < 0 else min(size, left)
        parts = []
        while size > 0:
            part = self._some(size)
            parts.append(part)
            self._at += len(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _some(self, size: int) -> bytes:
        """At least one byte at the place of the next read, from the window or from the store."""
        offset = self._at - self._start
        if not 0 <= offset < len(self._window):
            follows = offset == len(self._window)
            self._ahead = min(2 * self._ahead, MOST) if follows else LEAST
            self._window, self._start, offset = self._range(max(size, self._ahead)), self._at, 0
        return self._window if size >= len(self._window) and not offset else self._window[offset:][:size]

    def _range(self, size: int) -> bytes:
        size = min(size, self._size - self._at)

        def request() -> bytes:
            found = store_of(self._address).read(self._address, self._at, size, self._status)
            if len(found) != size:
                raise OSError(f"the connection ended after {len(found):,} of {size:,} bytes")
            return found

        return retried(request)


def open_remote(address: str) -> pa.NativeFile:
    """The object as a file that Arrow's readers take."""
    import pyarrow as pa

    raw: Any = open_raw(address)
    return pa.PythonFile(raw, mode="r")


def open_raw(address: str) -> RemoteFile:
    """The object as a binary file; nothing but its size is asked for yet."""
    return RemoteFile(address, remote_status(address))


def read_remote(address: str) -> bytes:
    """All bytes of a small object."""
    return open_raw(address).read()


def remote_status(address: str) -> Status:
    """The status of an object; an OSError if it cannot be read."""
    found = retried(lambda: store_of(address).status(address))
    if found is None:
        raise Final("it is a folder")
    return found
