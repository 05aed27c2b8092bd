"""Result folders that are written as a whole or not at all, and the reasons why writing fails."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath, PureWindowsPath
from types import TracebackType

from neardup.errors import OutputError
from neardup.remote.addresses import is_address

__all__ = [
    "OutputFolder",
    "PAGE",
    "is_file_name",
    "one_line",
    "only_writer",
    "reason",
    "refuse_address",
    "remove_result",
    "whole_file",
]

PAGE = "report.html"  # of `neardup report`, beside a result
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


class OutputFolder:
    """A transaction over the files of a folder.

    Files are written under hidden names in the same folder; `commit` syncs them and gives them their
    names. Leaving the block without a commit, by an exception or Ctrl-C, removes the files again.
    """

    def __init__(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        if not os.fspath(path):
            raise OutputError("the output folder has no name: give one, or . for this folder")
        self.path, self.force = Path(path), force
        self._files: dict[str, Path] = {}
        self._made: list[Path] = []
        self._mark = secrets.token_hex(4)

    def __enter__(self) -> OutputFolder:
        try:
            missing = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = "a file has this name" if self.path.is_file() else reason(error)
            raise OutputError(f"{self.path} cannot be created as a folder: {why}") from None
        self._made = missing
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for temporary in self._files.values():
            temporary.unlink(missing_ok=True)
        self._files.clear()
        for folder in self._made:  # innermost first; a folder with files stays
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
            raise OutputError(f"{self.path} cannot be written: {reason(error)}") from error

    def file(self, name: str) -> Path:
        """A path to write to, which `commit` will rename to `name`."""
        if not is_file_name(name):
            raise OutputError(f"{name!r} is not a file name: results stay inside {self.path}")
        self._refuse_existing(name)
        # The name comes first, so that a person can recognise what a power cut leaves behind.
        temporary = self.path / f".{name}.{self._mark}.partial"
        return self._files.setdefault(name, temporary)

    def is_there(self, name: str) -> bool:
        """Whether the folder has a file of this name."""
        return (self.path / name).exists()

    def read(self, name: str) -> bytes | None:
        """The bytes of a file of the folder, None if it has none of this name."""
        try:
            return (self.path / name).read_bytes()
        except OSError:
            return None

    def remove(self, name: str) -> None:
        """Remove a file that an earlier run wrote, or a folder of files as a run on Spark leaves it."""
        remove_result(self.path / name)

    def is_input(self, name: str, path: str) -> bool:
        """Whether a file of the folder is this input."""
        target = self.path / name
        return not is_address(path) and target.exists() and target.samefile(path)

    def _refuse_existing(self, name: str) -> None:
        target = self.path / name
        if target.is_dir() and not (self.force and is_spark_result(target)):
            raise OutputError(f"{target} is a folder: remove it or choose another output folder")
        if not self.force and (target.exists() or target.is_symlink()):
            raise OutputError(f"{target} exists already: choose another output, or overwrite with --force")

    def remove_leftovers(self, names: Iterable[str]) -> None:
        """Remove partial files that a killed run left under these names, if no other run is writing."""
        for name in names:
            for left in self.path.glob(f".{name}.????????.partial"):
                left.unlink(missing_ok=True)

    def commit(self) -> None:
        """Sync every file and give it its name, in the order of the calls of `file`."""
        written = {name: path for name, path in self._files.items() if path.exists()}
        try:
            for path in written.values():
                sync(path)
            for name, path in written.items():
                self._refuse_existing(name)
                if (self.path / name).is_dir() and not (self.path / name).is_symlink():
                    shutil.rmtree(self.path / name)
                path.replace(self.path / name)  # a link is replaced, not followed
                del self._files[name]
            with contextlib.suppress(OSError):  # not every file system can sync a folder
                sync(self.path)
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written: {reason(error)}") from None
        self._made = []


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name beside a file, with its ending: what is written there takes its place when the block has ended well.

    A device or pipe is written as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    aside = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.partial{target.suffix}")
    try:
        yield aside
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def remove_result(path: Path) -> None:
    """Removes a file, or a folder of files as a run on Spark leaves it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def refuse_address(path: str | os.PathLike[str]) -> None:
    """Refuse s3://bucket/folder and the like, which would be taken for a local path or for a remote one by turns."""
    if is_address(path):
        raise OutputError(
            f"{os.fspath(path)} is not a path on this machine: write to a local folder, and copy it from there"
        )


@contextlib.contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Has no other run write to the folder meanwhile: a second one is refused at once."""
    refuse_address(path)
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        why = "a file has this name" if path.is_file() else reason(error)
        raise OutputError(f"{path} cannot be created as a folder: {why}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise OutputError(f"{path} is written by another run: wait for it, or give another folder.") from None
    finally:
        os.close(handle)
        for folder in made:  # innermost first; a folder with files stays
            with contextlib.suppress(OSError):
                folder.rmdir()


def is_spark_result(path: Path) -> bool:
    """Whether a folder holds part files that Spark has written, as a table of a result."""
    return (path / "_SUCCESS").is_file()


def is_file_name(name: str) -> bool:
    """Whether the name stays in its folder, on every system."""
    return (
        PureWindowsPath(name).name == name == PurePath(name).name
        and name not in ("", ".", "..")
        and "\0" not in name
    )


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reason(error: OSError) -> str:
    """The message of the operating system, without the path: the caller names it."""
    return error.strerror or one_line(error)


def one_line(error: BaseException) -> str:
    """The first line of an error's message, without its full stop."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")
