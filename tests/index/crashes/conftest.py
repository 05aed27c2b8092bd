"""Sessions that were recorded once for each worker."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from crashes.filesystem import Disk, Operation, read_operations
from crashes.script import Script, scratch_folder, small_limits
from crashes.server import Reply, Request, Server, missing


class Recorder:
    """Runs sessions under the shim."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.script, self.record = cache(self._script), cache(self._record)

    def _script(self, method: str, seed: int, length: int) -> tuple[Script, Path]:
        """A script, and the file that sessions read it from."""
        script = Script.made(method, seed, length)
        path = self.folder / f"{method}-{seed}-{length}.pickle"
        path.write_bytes(pickle.dumps(script))
        return script, path

    def _record(self, method: str, seed: int, length: int) -> tuple[Script, list[Operation], str]:
        """A script, the file operations of its session, and the folder above the index."""
        script, path = self.script(method, seed, length)
        root, log = path.with_suffix(".disk"), path.with_suffix(".log")
        root.mkdir()
        reply = self.server.run(Request(str(root / "news.index"), str(path), str(log)))
        assert (reply.status, reply.errors) == (0, [])
        operations = read_operations(log)
        assert replayed(operations, str(root)) == contents(root), "the record is not complete"
        return script, operations, str(root)

    def run(self, request: Request) -> Reply:
        return self.server.run(request)


def contents(root: Path) -> dict[str, bytes | None]:
    """The files (None: a folder) under a folder."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in root.rglob("*")
        if not path.name.endswith(("-shm", ".lock"))
    }


def replayed(operations: list[Operation], root: str) -> dict[str, bytes | None]:
    """The same after all operations were applied."""
    disk = Disk(root)
    for operation in operations:
        disk.apply(operation)
    return {name: content for name, content in disk.state().files if not name.endswith(".lock")}


@pytest.fixture(scope="session")
def recorder() -> Iterator[Recorder]:
    if reason := missing():
        pytest.skip(reason)
    server = Server()
    with scratch_folder() as folder:
        yield Recorder(server, folder)
    server.stop()


@pytest.fixture
def scratch() -> Iterator[Path]:
    with scratch_folder() as folder:
        yield folder


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    with small_limits():
        yield
