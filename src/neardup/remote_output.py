"""Result folders behind an address: written here first, and uploaded when they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from neardup.errors import OutputError
from neardup.output import OutputFolder, one_line
from neardup.remote import is_address, joined, read_remote, remote_status, shown, store_of
from neardup.remote.addresses import WEB, scheme_of
from neardup.remote.retries import retried

REPORT = "report.json"

__all__ = ["RemoteFolder", "output_file", "output_folder", "split_target", "work_place"]


class RemoteFolder(OutputFolder):
    """A transaction over the objects of a remote folder.

    An object store has no rename, and an object appears when its upload ends. So files are written to a temporary
    folder, and `commit` uploads them in the order of the calls of `file`; the report comes last and says that the
    others are there. A failure before that leaves a folder that had nothing without a report.
    """

    def __init__(self, address: str, *, force: bool = False) -> None:
        if scheme_of(address) in WEB:
            raise OutputError(
                f"{shown(address)} is a web address, which takes no files: name a folder or s3://bucket/…"
            )
        if not address.partition("://")[2].strip("/") and scheme_of(address) != "memory":
            raise OutputError(
                f"{address} names no bucket or host: write {scheme_of(address)}://bucket/folder"
            )
        self._store = store_of(address)
        self.address = address.rstrip("/")
        self._temporary = tempfile.TemporaryDirectory(prefix="neardup-output-")
        super().__init__(self._temporary.name, force=force)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._temporary.cleanup()

    def is_there(self, name: str) -> bool:
        """Whether the store has an object of this name."""
        try:
            remote_status(joined(self.address, name))
        except FileNotFoundError as error:
            if "bucket" in str(error):
                raise self._cannot_write(error) from None
            return False
        except OSError as error:
            raise self._cannot_write(error) from None
        return True

    def read(self, name: str) -> bytes | None:
        """The bytes of an object, None if nothing has this name."""
        with suppress(OSError):
            return read_remote(joined(self.address, name))
        return None

    def remove(self, name: str) -> None:
        """Remove an object that an earlier run wrote."""
        with suppress(OSError):
            retried(lambda: self._store.delete(joined(self.address, name)))

    def is_input(self, name: str, path: str) -> bool:
        """Whether an object of the folder is this input."""
        return joined(self.address, name) == path

    def _refuse_existing(self, name: str) -> None:
        if not self.force and self.is_there(name):
            raise OutputError(
                f"{joined(self.address, name)} exists already: choose another output, or overwrite with --force"
            )

    def commit(self) -> None:
        """Upload every file, in the order of the calls of `file`; the report of an earlier run goes first."""
        if self.force and REPORT in self._files:
            self.remove(REPORT)
        for name, path in [*self._files.items()]:
            if path.exists():
                self._upload(path, joined(self.address, name))
            del self._files[name]

    def _upload(self, path: Path, address: str) -> None:
        try:
            retried(lambda: self._store.upload(path, address))
        except OSError as error:
            raise self._cannot_write(error) from None

    def _cannot_write(self, error: OSError) -> OutputError:
        return OutputError(f"{shown(self.address)} cannot be written: {one_line(error)}")


def output_folder(path: str | os.PathLike[str], *, force: bool = False) -> OutputFolder:
    """The transaction over a folder, on this machine or behind an address."""
    if is_address(path):
        local = local_path(str(path))
        return OutputFolder(local, force=force) if local else RemoteFolder(str(path), force=force)
    return OutputFolder(path, force=force)


def local_path(address: str) -> str | None:
    """The path that a file:// address names, None for another one."""
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(address).path) if scheme_of(address) == "file" else None


@contextmanager
def output_file(target: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """Where to write a file, which has its name, or is uploaded, when the block ends without an exception."""
    place, name = split_target(target)
    with output_folder(place, force=force) as folder:
        yield folder.file(name)
        folder.commit()


def split_target(target: str | os.PathLike[str]) -> tuple[Any, str]:
    """The folder of an output file, and its name."""
    if is_address(target):
        folder, _, name = str(target).rpartition("/")
        return folder, name
    path = Path(target)
    return path.parent, path.name


def work_place(output: str | Path) -> Path:
    """Where a run keeps what it can be resumed from: the output folder, or one of its own for a remote output."""
    if not isinstance(output, str) or not is_address(output):
        return Path(output)
    if (local := local_path(output)) is not None:
        return Path(local)
    from hashlib import sha256

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "neardup" / sha256(output.rstrip("/").encode()).hexdigest()[:16]
