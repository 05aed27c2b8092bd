"""What a disk can have after a crash, from the file operations that were recorded before it.

A kill leaves everything that was written. After a power loss POSIX promises only what was synced: of the writes since
the last fsync of a file any may be missing, in part or as a whole, and so may names that were made, renamed or removed
since the last fsync of their folder.
"""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath

_RECORD = struct.Struct("<ciqII")
SECTOR = 512
LOCKS = ".lock"  # the content of locks is never synced, and means nothing after a crash
SHARED_MEMORY = "-shm"  # SQLite writes it through mapped memory, and makes it anew after a crash


@dataclass(frozen=True)
class Operation:
    """A file operation, or (kind "!") what the session said."""

    kind: str
    descriptor: int
    offset: int
    first: bytes
    second: bytes


def read_operations(path: Path) -> list[Operation]:
    """The operations of a record."""
    data, place, found = path.read_bytes(), 0, []
    while place < len(data):
        kind, descriptor, offset, a, b = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        found.append(
            Operation(
                kind.decode(), descriptor, offset, data[place : place + a], data[place + a : place + a + b]
            )
        )
        place += a + b
    return found


@dataclass(frozen=True)
class Change:
    """A change of a file's content that is not synced: data at an offset, or a new size."""

    offset: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        if self.data is None:
            del content[self.offset :]
            content.extend(bytes(self.offset - len(content)))
        else:
            content.extend(bytes(max(0, self.offset - len(content))))
            content[self.offset : self.offset + len(self.data)] = self.data


@dataclass(frozen=True)
class Naming:
    """A change of names that is not synced: name → file (None: removed), as one."""

    names: tuple[tuple[str, int | None], ...]

    def folders(self) -> set[str]:
        return {str(PurePosixPath(name).parent) for name, _ in self.names}


@dataclass
class Inode:
    """A file or folder: its synced content, and changes since."""

    folder: bool = False
    synced: bytes = b""
    changes: list[Change] = field(default_factory=list)

    def content(self, kept: list[Change] | None = None) -> bytes:
        content = bytearray(self.synced)
        for change in self.changes if kept is None else kept:
            change.apply(content)
        return bytes(content)


Pending = tuple[int, int]  # (number of the file, number of its change); the file −1: a change of names


@dataclass(frozen=True)
class State:
    """What a disk has after a crash: files (None: a folder) by name, and what was acknowledged before."""

    files: tuple[tuple[str, bytes | None], ...]
    begun: int  # steps that were begun
    done: int  # steps that were acknowledged

    @property
    def key(self) -> bytes:
        """Equal for equal states; the content of locks makes no difference."""
        digest = blake2b(digest_size=16)
        for name, content in self.files:
            what = b"" if content is None or name.endswith(LOCKS) else content
            digest.update(f"{name} {content is None} {len(what)}\0".encode() + what)
        return digest.digest()

    def lay_out(self, folder: Path, shared_memory: bytes | None = None) -> None:
        """Writes the files."""
        for name, content in self.files:
            path = folder / name
            if content is None:
                path.mkdir()
            else:
                path.write_bytes(content)
                if shared_memory is not None and name.endswith("truth.db"):
                    path.with_name(path.name + SHARED_MEMORY).write_bytes(shared_memory)


class Disk:
    """A disk to which recorded operations are applied one by one; `root` is there from the beginning."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.inodes: list[Inode] = [Inode(folder=True)]
        self.names: dict[str, int] = {root: 0}
        self.synced_names: dict[str, int] = {root: 0}
        self.namings: list[Naming] = []
        self.open: dict[int, int] = {}
        self.begun = self.done = 0

    def apply(self, operation: Operation) -> bool:
        """Applies an operation; whether it makes new states possible."""
        kind, path = (
            operation.kind,
            operation.first.decode("utf-8", "replace") if operation.kind in "omudr" else "",
        )
        if path.endswith(SHARED_MEMORY):
            return False
        if kind == "!":
            word, number = json.loads(operation.first)
            self.begun, self.done = number + 1, max(self.done, number + (word == "done"))
            return True
        if kind == "o":
            return self._open(path.rstrip("/"), operation)
        if kind == "c":
            self.open.pop(operation.descriptor, None)
            return False
        if kind in "wts":
            return operation.descriptor in self.open and self._change(operation)
        if kind == "m":
            self.inodes.append(Inode(folder=True))
            self._name((path, len(self.inodes) - 1))
        elif kind in "ud":
            self._name((path, None))
        elif kind == "r":
            self._name((operation.second.decode(), self.names[path]), (path, None))
        return True

    def _open(self, path: str, operation: Operation) -> bool:
        made = path not in self.names
        if made:
            if not operation.offset & os.O_CREAT:
                raise ValueError(f"{path} was opened, and no operation made it: the record is not complete")
            self.inodes.append(Inode())
            self._name((path, len(self.inodes) - 1))
        number = self.names[path]
        self.open[operation.descriptor] = number
        cut = bool(operation.offset & os.O_TRUNC) and not made
        if cut:
            self.inodes[number].changes.append(Change(0, None))
        return made or cut

    def _change(self, operation: Operation) -> bool:
        number = self.open[operation.descriptor]
        inode = self.inodes[number]
        if operation.kind == "s":
            self._sync(number)
            return False
        inode.changes.append(Change(operation.offset, operation.first if operation.kind == "w" else None))
        if any(name.endswith(LOCKS) for name, other in self.names.items() if other == number):
            inode.synced, inode.changes = inode.content(), []
            return False
        return True

    def _sync(self, number: int) -> None:
        inode = self.inodes[number]
        if not inode.folder:
            inode.synced, inode.changes = inode.content(), []
            return
        (folder,) = [name for name, other in self.names.items() if other == number]
        for naming in self.namings:
            if folder in naming.folders():
                _rename(self.synced_names, naming)
        self.namings = [naming for naming in self.namings if folder not in naming.folders()]

    def _name(self, *names: tuple[str, int | None]) -> None:
        naming = Naming(names)
        self.namings.append(naming)
        _rename(self.names, naming)

    # states -------------------------------------------------------------------------------------

    def pending(self) -> list[Pending]:
        """Changes that are not synced."""
        names = [(-1, place) for place in range(len(self.namings))]
        return names + [
            (number, place) for number, inode in enumerate(self.inodes) for place in range(len(inode.changes))
        ]

    def state(self, lost: set[Pending] = frozenset(), torn: dict[Pending, Change] | None = None) -> State:
        """The state of the disk if these changes are lost, and others torn."""
        names = dict(self.synced_names)
        for place, naming in enumerate(self.namings):
            if (-1, place) not in lost:
                _rename(names, naming)
        files: dict[str, bytes | None] = {}
        for name, number in sorted(names.items()):
            parent = str(PurePosixPath(name).parent)
            if name == self.root or (
                parent != self.root and files.get(_within(parent, self.root), b"") is not None
            ):
                continue  # the folder itself is lost
            files[_within(name, self.root)] = self._content(number, lost, torn or {})
        return State(tuple(files.items()), self.begun, self.done)

    def _content(self, number: int, lost: set[Pending], torn: dict[Pending, Change]) -> bytes | None:
        inode = self.inodes[number]
        if inode.folder:
            return None
        changes = enumerate(inode.changes)
        return inode.content(
            [torn.get((number, place), change) for place, change in changes if (number, place) not in lost]
        )

    def states(self, rng: random.Random, more: int) -> Iterator[State]:
        """The state after a kill, and states after a power loss: systematic ones, and `more` random ones."""
        yield self.state()
        pending = self.pending()
        if not pending:
            return
        names, data = {one for one in pending if one[0] < 0}, {one for one in pending if one[0] >= 0}
        yield from map(self.state, [set(pending), names, data])
        latest = sorted(data)[-4:] + sorted(names)[-4:]
        for one in latest:
            yield self.state({one})
            yield self.state(set(pending) - {one})
        for place in range(more):
            kept = rng.choice((0.1, 0.5, 0.9))
            lost = {one for one in pending if rng.random() > kept}
            torn = {}
            if place % 2 and data:
                one = rng.choice(sorted(data)[-6:])
                lost.discard(one)
                torn = self._torn(one, rng)
            yield self.state(lost, torn)

    def _torn(self, one: Pending, rng: random.Random) -> dict[Pending, Change]:
        """A write of which only some sectors, the first or the last, reached the disk."""
        change = self.inodes[one[0]].changes[one[1]]
        if change.data is None or len(change.data) <= 1:
            return {}
        sector = rng.choice((SECTOR, 4096))
        cuts = range(sector - change.offset % sector, len(change.data), sector)
        if not cuts:
            return {}
        cut = rng.choice(cuts)
        if rng.random() < 0.5:
            return {one: Change(change.offset, change.data[:cut])}
        return {one: Change(change.offset + cut, change.data[cut:])}


def _rename(names: dict[str, int], naming: Naming) -> None:
    for name, number in naming.names:
        if number is None:
            names.pop(name, None)
        else:
            names[name] = number


def _within(path: str, root: str) -> str:
    return str(PurePosixPath(path).relative_to(root))
