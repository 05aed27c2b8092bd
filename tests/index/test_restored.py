"""Segments are never trusted: an older copy of the truth, or that of another index, gets segments of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from neardup.errors import IndexDamaged
from neardup.index.index import Index


def add(index: Index, names: range) -> None:
    texts = [" ".join(f"w{name}x{k}" for k in range(30)) for name in names]
    index.add(pa.table({"id": [f"d{name}" for name in names], "text": texts}))


def found(index: Index, name: int) -> list:
    return [match.id for match in index.query(" ".join(f"w{name}x{k}" for k in range(30)))]


def copy_truth(folder: Path, to: Path) -> None:
    to.mkdir()
    for path in folder.glob("truth.db*"):
        shutil.copy(path, to / path.name)


@pytest.mark.parametrize("merged", [False, True])
def test_an_older_truth_with_newer_segments(merged: bool, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    with Index(folder, method="minhash") as index:
        add(index, range(20))
        index.compact()
    copy_truth(folder, tmp_path / "backup")
    with Index(folder) as index:
        index.delete(["d3"])
        add(index, range(20, 40))
        if merged:
            index.compact()
    for path in folder.glob("truth.db*"):
        path.unlink()
    for path in (tmp_path / "backup").iterdir():
        shutil.copy(path, folder / path.name)
    with Index(folder) as index:
        assert len(index) == 20
        assert found(index, 3) == ["d3"]  # which later segments do not have
        with pytest.raises(IndexDamaged, match="has lost its last 2 commits"):
            add(index, range(100, 130))
    (folder / "writer.lock").unlink()  # as the message says: the older copy is meant
    with Index(folder) as index:
        add(index, range(100, 130))  # under numbers that later segments have given to others
        assert [found(index, name) for name in (25, 100, 129, 0)] == [[], ["d100"], ["d129"], ["d0"]]
        index.compact()
        assert [found(index, name) for name in (25, 100, 129, 3)] == [[], ["d100"], ["d129"], ["d3"]]
        assert index.verify().sound


def test_the_truth_of_another_index(tmp_path: Path) -> None:
    for name, names in (("a", range(10)), ("b", range(50, 60))):
        with Index(tmp_path / name, method="minhash") as index:
            add(index, names)
            index.compact()
    shutil.rmtree(tmp_path / "a" / "segments")
    shutil.copytree(tmp_path / "b" / "segments", tmp_path / "a" / "segments")
    with Index(tmp_path / "a") as index:
        assert [found(index, name) for name in (4, 54)] == [["d4"], []]
