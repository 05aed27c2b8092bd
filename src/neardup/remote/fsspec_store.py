"""All other stores, by fsspec: hf://, memory://, az://, sftp:// and what else is installed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from neardup.errors import InputError, MissingExtra
from neardup.remote.retries import Final, one_line
from neardup.remote.stores import Status, tag_number

TAGS = (
    "ETag",
    "etag",
    "sha256",
    "sha",
    "blob_id",
    "LastModified",
    "last_modified",
    "mtime",
    "updated",
    "created",
)


class FsspecStore:
    """Objects of a scheme that fsspec knows."""

    def __init__(self, scheme: str) -> None:
        self._scheme = scheme

    @cached_property
    def _client(self) -> Any:
        try:
            import fsspec
        except ImportError:
            raise MissingExtra("fsspec", "remote", f"Reading {self._scheme}://") from None
        try:
            return fsspec.filesystem(self._scheme)
        except ImportError as error:
            raise InputError(f"{self._scheme}:// needs another package: {one_line(error)}") from None
        except ValueError:
            raise InputError(
                f"{self._scheme}:// is not a known kind of address: s3, gs, hf, https, file and those of fsspec are"
            ) from None

    def status(self, address: str) -> Status | None:
        """Size and entity tag, or what the store has instead."""
        client: Any = self._client
        try:
            client.invalidate_cache()
            info = client.info(address)
        except Exception as error:  # every store has exceptions of its own
            raise _as_os_error(error) from None
        return None if info["type"] == "directory" else _status(info)

    def read(self, address: str, start: int, size: int, known: Status) -> bytes:
        """A range."""
        try:
            found: bytes = self._client.cat_file(address, start=start, end=start + size)
        except Exception as error:
            raise _as_os_error(error) from None
        return found

    def list(self, folder: str) -> dict[str, Status]:
        """All objects below a folder."""
        try:
            self._client.invalidate_cache()
            found = self._client.find(folder, detail=True)
            base = self._client._strip_protocol(folder).rstrip("/")
        except Exception as error:
            raise _as_os_error(error) from None
        return {folder.rstrip("/") + path[len(base) :]: _status(info) for path, info in found.items()}

    def upload(self, path: Path, address: str) -> None:
        """The object appears when it is whole, if the store can do that."""
        try:
            self._client.makedirs(address.rpartition("/")[0], exist_ok=True)
            self._client.put_file(str(path), address)
        except Exception as error:
            raise _as_os_error(error) from None

    def delete(self, address: str) -> None:
        """Remove an object."""
        try:
            self._client.rm_file(address)
        except FileNotFoundError:
            pass
        except Exception as error:
            raise _as_os_error(error) from None


def _status(info: dict[str, Any]) -> Status:
    tags = [str(info[name]) for name in TAGS if info.get(name) is not None]
    return Status(int(info.get("size") or 0), tag_number(tags[0]) if tags else 0)


def _as_os_error(error: Exception) -> OSError:
    """What a client raised, as an OSError of the same kind."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError("it does not exist")
    if isinstance(error, PermissionError):
        return PermissionError("the store refuses access: check the credentials")
    if isinstance(error, (ValueError, TypeError, NotImplementedError)):
        return Final(one_line(error))
    return OSError(one_line(error))
