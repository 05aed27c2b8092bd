"""The work folder: texts and what was made of them, so that a killed run can be resumed.

    manifest.json   what the run is: plan, columns, inputs with sizes and hashes, version
    journal.json    what is done and safe: files, rows, bytes of text; replaced as a whole at each checkpoint
    texts.bin       the texts, one behind the other
    STAGE-00000.arrow, …   the rows that a stage has made

The journal names all that counts: the tail of a file that was being written is cut off.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from neardup.checked_json import Invalid, check, check_members, read_json
from neardup.documents import Source, stamp
from neardup.engines.local.checkpoint.budget import MemoryBudget
from neardup.engines.local.checkpoint.spill import SpilledBlock, SpilledRows, cannot_write, synced
from neardup.engines.local.checkpoint.texts import Spool
from neardup.errors import InputError, OutputError
from neardup.output import is_file_name
from neardup.remote import is_address
from neardup.statistics import Statistics
from neardup.statistics.file import load_statistics, save_statistics

NAME = ".neardup-work"
EVERY = 5.0  # seconds between two checkpoints
STATISTICS = "statistics.parquet"
FORMAT = 2  # of the journal
JOURNAL = {"format": Literal[2], "stages": dict, "state": dict, "texts": tuple[int, int]}
STAGE = {"complete": bool, "files": list[tuple[str, int, int, int]]}
SAMPLE = 1 << 20  # bytes at the beginning and at the end of a file that its hash is made of


class Workspace:
    """The state of a run. Without a path, its files are temporary and vanish with the process."""

    def __init__(
        self,
        path: Path | None = None,
        every: float = EVERY,
        folder: str | os.PathLike[str] | None = None,
        spool: Spool | None = None,
        made: Sequence[Path] = (),
        memory: MemoryBudget | None = None,
    ) -> None:
        self.memory = memory or MemoryBudget()
        self.digest: str | None = None  # of what the run is, where it can be resumed
        self._made = made  # folders that were not there, innermost first
        self.path, self.folder, self._every = path, folder if path is None else path, every
        self._borrowed = spool is not None
        self.spool = spool or Spool(folder, path=None if path is None else path / "texts.bin")
        self.state: dict[str, Any] = {}  # of stages, as JSON
        self.saved = False  # a checkpoint exists
        self.written = (0, 0)  # bytes of text that an earlier run has written, and their checksum
        self._stages: dict[str, SpilledRows] = {}
        self._synced: dict[str, int] = {}  # segments of each that have reached the disk
        self._last = time.monotonic()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def rows(self, stage: str) -> SpilledRows:
        """The rows of a stage, with those of an earlier run where there are any."""
        if stage not in self._stages:
            self._stages[stage] = SpilledRows(stage, self._place, self.folder, self.memory.rows)
        return self._stages[stage]

    def _place(self, name: str) -> Path | None:
        return None if self.path is None else self.path / name

    def checkpoint(self, state: Callable[[], dict[str, Any]] | None = None, ended: bool = False) -> None:
        """Write a checkpoint, if the last one is long enough ago; `state` is called only then.

        A stage that has ended writes one in any case, unless the run is so short that there was none before.
        """
        if not (self.checkpoint_due or (ended and self.saved)):
            return
        if state is not None:
            self.state |= state()
        self.commit()

    @property
    def checkpoint_due(self) -> bool:
        """Whether the last checkpoint is long enough ago."""
        return self.path is not None and time.monotonic() - self._last >= self._every

    def commit(self) -> None:
        """Write a checkpoint: data first, then the journal that names it."""
        assert self.path is not None
        try:
            for rows in self._stages.values():
                rows.flush()
                for segment in rows.segments[self._synced.get(rows.name, 0) :]:
                    with segment.file.open("rb") as file:  # type: ignore[union-attr]
                        os.fsync(file.fileno())
                self._synced[rows.name] = len(rows.segments)
            self.spool.sync()
            replaced(self.path / "journal.json", self._journal())
        except OSError as error:
            raise cannot_write(error) from None
        self.saved, self._last = True, time.monotonic()

    def _journal(self) -> dict[str, Any]:
        stages = {
            name: {
                "complete": rows.complete,
                "files": [
                    [segment.file.name, segment.rows, segment.size, segment.checksum]
                    for segment in rows.segments
                ],
            }
            for name, rows in self._stages.items()
        }
        texts = [self.spool.size, self.spool.checksum]
        return {"format": FORMAT, "stages": stages, "state": self.state, "texts": texts}

    def keep_statistics(self, statistics: Statistics) -> None:
        """Store frequencies: counting them a second time would take a pass over all texts."""
        if self.path is not None and self.checkpoint_due:
            save_statistics(statistics, self.path / STATISTICS, force=True)
            self.state["counted"] = True
            self.commit()

    def statistics(self) -> Statistics | None:
        """The frequencies that an earlier run has counted."""
        return load_statistics(self.path / STATISTICS) if self.path and self.state.get("counted") else None

    def load(self) -> None:
        """Load what the journal names."""
        assert self.path is not None
        journal = check_members(read_json(self.path / "journal.json"), JOURNAL)
        self.state, self.saved, self.written = journal["state"], True, tuple(journal["texts"])
        for name, stage in journal["stages"].items():
            rows = self.rows(name)
            rows.complete = check_members(stage, STAGE, repr(name))["complete"]
            rows.segments = [self._segment(*entry) for entry in stage["files"]]
            self._synced[name] = len(rows.segments)

    def _segment(self, file: str, rows: int, size: int, checksum: int) -> SpilledBlock:
        """The rows in a file of the folder, if it is what was written."""
        assert self.path is not None
        if not (is_file_name(file) and file.endswith(".arrow")):
            raise Invalid(f"it names {file!r}, which is no file of a work folder")
        segment = SpilledBlock(rows, self.path / file, 0, size, checksum)
        if not segment.is_whole():
            raise Invalid(f"{file} is not what was written")
        return segment

    def close(self, *, keep: bool = False) -> None:
        """Remove all files; with `keep`, leave what an interrupted run can be resumed from."""
        if not self._borrowed:
            self.spool.close()
        for rows in self._stages.values():
            rows.close()
        if self.path is not None and not (keep and self.saved):
            clear(self.path)
            for folder in self._made:
                with suppress(OSError):  # one that has content stays
                    folder.rmdir()


def can_be_resumed(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has a checkpoint of an unfinished run."""
    return (Path(folder) / NAME / "journal.json").exists()


def open_workspace(
    folder: str | os.PathLike[str],
    identity: dict[str, Any],
    *,
    resume: bool = False,
    force: bool = False,
    every: float = EVERY,
    memory: MemoryBudget | None = None,
) -> Workspace:
    """The work folder inside a folder, new or resumed; refused where it holds another run."""
    path = Path(folder) / NAME
    made = [parent for parent in path.parents if not parent.exists()]
    try:
        make_private(path)
        lock(path)
        left = can_be_resumed(folder)
        if left and not resume and not force:
            raise OutputError(
                f"{path} holds an unfinished run: continue it with --resume, or start over with --force."
            )
        if left and resume:
            refuse_others(path, check(read_json(path / "manifest.json"), dict, "the manifest"), identity)
        else:
            clear(path)
            make_private(path)
            lock(path)
            replaced(path / "manifest.json", identity)
        work = Workspace(path, every, made=made, memory=memory)
        work.digest = identity_digest(identity)
        if left and resume:
            work.load()
    except OSError as error:
        raise OutputError(
            f"{path} cannot be used as the work folder: {error.strerror}; choose another one with --work-dir"
        ) from None
    except ValueError as error:
        raise OutputError(f"{path} is damaged: {error}. Start over with --force.") from None
    return work


def make_private(path: Path) -> None:
    """The folder, readable by nobody else; refused if it, or something in it, is a link or belongs to somebody else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    for each in (path, *path.iterdir()):
        status = each.lstat()
        mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
        if stat.S_ISLNK(status.st_mode) or not mine:
            what = "is a link" if mine else "belongs to another user"
            raise OutputError(f"{each} {what}: remove it, or give another --work-dir.")
    path.chmod(0o700)


_LOCKS: dict[Path, Any] = {}


def lock(path: Path) -> None:
    """Refuse a folder that another process uses; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    unlock(path)
    _LOCKS[path] = file = (path / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        unlock(path)
        raise OutputError(
            f"{path} is used by another run: wait for it, or give another --work-dir."
        ) from None


def unlock(path: Path) -> None:
    """Release a folder."""
    if path in _LOCKS:
        _LOCKS.pop(path).close()


def clear(path: Path) -> None:
    """Remove a work folder, and nothing in it that is not ours."""
    for file in path.iterdir() if path.exists() else ():
        if file.suffix in (".arrow", ".part", ".partial") or file.name in OURS:
            file.unlink(missing_ok=True)
    unlock(path)
    with suppress(OSError):
        path.rmdir()


OURS = ("manifest.json", "journal.json", "texts.bin", STATISTICS, "lock")


def replaced(path: Path, content: dict[str, Any]) -> None:
    """Write a file of JSON so that there is always a whole one, before and after."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        file.write(json.dumps(content).encode())
        synced(file)
    partial.replace(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def identity_digest(identity: dict[str, Any]) -> str:
    """A short name of plan, columns, inputs and version: equal for runs that must give the same result."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def refuse_others(path: Path, found: dict[str, Any], identity: dict[str, Any]) -> None:
    """Explain why the run in a work folder cannot be resumed."""
    for part, said in PARTS.items():
        if found.get(part) != identity.get(part):
            what = changed_file(found.get(part), identity.get(part)) if part == "inputs" else said
            raise OutputError(
                f"{path} cannot be resumed: {what}. Start over with --force, or give its options and inputs."
            )


PARTS = {
    "neardup": "it was made by another version of neardup",
    "plan": "it was made with another plan (method or options)",
    "columns": "other columns or readers' options were given",
    "inputs": "the input changed",
}


def changed_file(before: Any, now: Any) -> str:
    """Which input has changed."""
    old, new = ({entry[0]: entry[1:] for entry in some or ()} for some in (before, now))
    for name in [*old, *new]:
        if name not in new:
            return f"{name} is not among the inputs any more"
        if name not in old:
            return f"{name} was not among the inputs"
        if old[name] != new[name]:
            return f"{name} has changed since"
    return "the inputs come in another order"


def inputs_identity(sources: Sequence[Source]) -> list[list[Any]]:
    """Name, size, time of change and a hash of the beginning and the end of every file that is read."""
    found = []
    for source in sources:
        if source.format == "memory" or source.name in ("-", "<stdin>"):
            raise InputError(f"{source.name} cannot be read a second time: --resume needs files.")
        for path, size, changed in stamp(source):
            found.append([path, size, changed, sampled_hash(path, size)])
    return found


def sampled_hash(path: str, size: int) -> str:
    """SHA-256 of a file's first and last megabyte; a remote object is known by its size and entity tag alone."""
    if is_address(path):
        return ""
    digest = hashlib.sha256()
    with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - what cannot be read is reported later
        digest.update(file.read(SAMPLE))
        file.seek(max(SAMPLE, size - SAMPLE))
        digest.update(file.read(SAMPLE))
    return digest.hexdigest()
