"""A disk that fills up, or fails, at any write: one clear sentence, and the run can go on afterwards."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from test_resume import MAIN, STEPS, command, results

from corpora import corpus, set_constants
from neardup.cli import group
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.checkpoint.texts import Spool
from neardup.errors import NeardupError


class Disk:
    """Fails at one of the writes that go through it, and at every later one."""

    def __init__(self, fails_at: int, code: int = errno.ENOSPC) -> None:
        self.fails_at, self.code, self.writes = fails_at, code, 0

    def write(self) -> None:
        self.writes += 1
        if self.writes >= self.fails_at:
            raise OSError(self.code, os.strerror(self.code))


class File:
    """A file on such a disk."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        self._disk.write()
        return int(self._file.write(data))


def put_on(disk: Disk, patch: pytest.MonkeyPatch) -> None:
    """Has everything that the work folder holds written to the disk."""
    make, open_, sync = Spool.__init__, SpilledRows._open, os.fsync

    def made(self: Spool, *given: Any, **more: Any) -> None:
        make(self, *given, **more)
        self._file = File(self._file, disk)

    def synced(handle: int) -> None:
        disk.write()
        sync(handle)

    patch.setattr(Spool, "__init__", made)
    patch.setattr(SpilledRows, "_open", lambda self, path: File(open_(self, path), disk))
    patch.setattr(os, "fsync", synced)


def run(arguments: list[str], disk: Disk | None = None) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        if disk is not None:
            put_on(disk, patch)
        return CliRunner().invoke(group, arguments, standalone_mode=False)


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    set_constants(monkeypatch, **STEPS)
    pq.write_table(corpus(families=24), tmp_path / "corpus.parquet", row_group_size=50)
    return [*command(tmp_path / "corpus.parquet"), "--resume"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("share", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_every_write_may_fail(code: int, share: int, arguments: list[str], tmp_path: Path) -> None:
    whole = Disk(fails_at=10**9)
    assert run([*arguments, "-o", str(tmp_path / "whole")], whole).exception is None
    assert whole.writes > 40
    expected = results(tmp_path / "whole")
    # The very last one is the folder itself, which not every file system can sync.
    for number in sorted({1, 2, 3, 5, *range(8, whole.writes, 1 + whole.writes // share), whole.writes - 1}):
        again = [*arguments, "-o", str(tmp_path / f"out{number}")]
        failed = run(again, Disk(number, code))
        assert isinstance(failed.exception, NeardupError), failed.exception
        assert os.strerror(code) in str(failed.exception)
        assert not results(tmp_path / f"out{number}"), "nothing half-written has a name"
        assert run(again).exception is None
        assert results(tmp_path / f"out{number}") == expected


ON_SMALL_DISK = """
mount -t tmpfs -o size=$1k tmpfs "$2" && shift || exit 99
disk=$1; shift
"$@" -o "$disk/out"; echo "ended with $?"
mount -o remount,size=1g tmpfs "$disk"
"$@" -o "$disk/out" && cp -r "$disk/out" "$disk-results"
"""


def fails_for_want_of_room(kilobytes: int, run: list[str], folder: Path) -> bool:
    """Whether a run on a disk of that size ends with a clear sentence; resumed on a larger one, it must end well."""
    disk = folder / f"disk{kilobytes}"
    disk.mkdir()
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ON_SMALL_DISK, "sh"]
    done = subprocess.run([*alone, str(kilobytes), str(disk), *run], capture_output=True, text=True)
    if done.returncode in (1, 99) and "ended with" not in done.stdout:
        pytest.skip(f"no disk of a given size can be made here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    failed = "ended with 0" not in done.stdout
    assert not failed or os.strerror(errno.ENOSPC) in done.stderr, done.stderr
    assert results(Path(f"{disk}-results")) == results(folder / "whole")
    return failed


@pytest.mark.slow
def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """Of any size: while texts are put aside, while rows are, while results are written."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare, to make a small disk")
    pq.write_table(corpus(families=400), tmp_path / "corpus.parquet", row_group_size=100)
    run = [sys.executable, "-c", MAIN, *command(tmp_path / "corpus.parquet", "--resume")]
    subprocess.run([*run, "-o", tmp_path / "whole"], check=True, capture_output=True)
    sizes = [16, 64, 128, 256, 384, 512, 640, 768, 896, 1024, 1280, 1536, 2048, 4096]
    failed = [size for size in sizes if fails_for_want_of_room(size, run, tmp_path)]
    assert len(failed) > 3 and failed[-1] < sizes[-1]
