"""The folder of segments: its manifest, readers beside a writer, damage, durability."""

from __future__ import annotations

import errno
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from segment_files import (
    PLAN,
    add,
    all_alive,
    columns,
    loaded,
    looked_up,
    make,
    names,
    ranges,
    some_postings,
)

from naive import postings as naive
from neardup.index.segments.folder import SegmentFolder
from neardup.index.segments.segment import (
    Segment,
    SegmentDamaged,
)
from neardup.index.segments.writer import SegmentWriter


def test_segments_are_found_again_in_order(tmp_path: Path) -> None:
    folder = loaded(tmp_path / "segments")
    assert folder.segments == () and not folder.damaged and not folder.changed()
    assert folder.gaps(0) == [] and folder.gaps(5) == [(1, 6)]
    for low, high in ((10, 20), (1, 4), (30, 31)):
        add(folder, low, high)
    again = loaded(tmp_path / "segments")
    assert ranges(again) == ranges(folder) == [(1, 4), (10, 20), (30, 31)]
    assert again.gaps(40) == [(4, 10), (20, 30), (31, 41)]
    assert again.gaps(30) == [(4, 10), (20, 30)] and again.gaps(12) == [(4, 10)] and again.gaps(2) == []
    assert [len(group) for group in again.neighbours()] == [1, 1, 1]
    for low, high in ((3, 5), (11, 12), (1, 40), (5, 5)):
        with pytest.raises(ValueError, match=r"are in part in|at least one sequence number"):
            add(folder, low, high)
    assert len(names(tmp_path / "segments")) == 4


def test_readers_follow_the_writer(tmp_path: Path) -> None:
    writer, reader = loaded(tmp_path), loaded(tmp_path)
    first = add(writer, 1, 5)
    assert reader.changed() and not writer.changed()
    reader.load()
    kept = reader.segments[0]
    second = add(writer, 5, 9)
    reader.load()
    assert reader.segments[0] is kept and not reader.changed()  # with the blocks that it has checked
    merged = writer.merge([first, second], all_alive, 1 << 20)
    assert ranges(writer) == [(1, 9)] and names(tmp_path) == sorted(["manifest.json", merged.path.name])
    wanted = [key for key, _ in some_postings(1, 1, 5, 2)]
    assert looked_up(kept, wanted) == naive.look_up(
        some_postings(1, 1, 5, 2), wanted
    )  # mapped, though unlinked
    assert reader.changed()
    reader.load()
    assert ranges(reader) == [(1, 9)] and not reader.damaged and not reader.changed()
    (tmp_path / "manifest.json").unlink()
    assert reader.changed()


def test_a_reader_that_comes_during_a_merge_reads_the_manifest_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = loaded(tmp_path)
    parts = [add(writer, 1, 5), add(writer, 5, 9)]
    original, reader = Segment.open, SegmentFolder(tmp_path, PLAN)

    def merge_first(path: Path, plan: str) -> Segment:
        monkeypatch.setattr(Segment, "open", original)
        writer.merge(parts, all_alive, 1 << 20)
        return original(path, plan)

    monkeypatch.setattr(Segment, "open", merge_first)
    reader.load()
    assert ranges(reader) == [(1, 9)] and not reader.damaged


def test_manifests_written_in_one_tick_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_700_000_000_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: now)
    writer, times = loaded(tmp_path), []
    for seq in range(1, 10):
        add(writer, seq, seq + 1)
        times.append((tmp_path / "manifest.json").stat().st_mtime_ns)
    assert times == list(range(now, now + 9))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        "[" * 100_000,
        "\xff",
        '{"format": 1}',
        '{"format": 2, "plan": "PLAN", "segments": []}',
        '{"format": 1, "plan": "other", "segments": []}',
        '{"format": 1, "plan": "PLAN", "segments": 3}',
        '{"format": 1, "plan": "PLAN", "segments": [3]}',
        '{"format": 1, "plan": "PLAN", "segments": [{"file": "../x.segment", "low": 1, "high": 2, "documents": 1}]}',
        '{"format": 1, "plan": "PLAN", "segments": [{"file": 7, "low": 1, "high": 2, "documents": 1}]}',
        '{"format": 1, "plan": "PLAN", "segments": [{"file": "1-2-3.segment", "low": "x", "high": 2, "documents": 1}]}',
        '{"format": 1, "plan": "PLAN", "segments": [{"file": "1-2-3.segment", "low": 1e999, "high": 2}]}',
    ],
)
def test_a_manifest_that_cannot_be_used_is_no_manifest(tmp_path: Path, text: str) -> None:
    add(loaded(tmp_path), 1, 5)
    (tmp_path / "manifest.json").write_bytes(text.replace("PLAN", PLAN).encode("latin-1"))
    folder = loaded(tmp_path)
    assert (
        folder.segments == () and len(folder.damaged) == 1 and folder.damaged[0].startswith("manifest.json: ")
    )
    assert folder.gaps(4) == [(1, 5)]
    folder.remove_strays()
    assert names(tmp_path) == ["manifest.json"] and not loaded(tmp_path).damaged
    add(folder, 1, 5)
    assert ranges(loaded(tmp_path)) == [(1, 5)]


def test_every_flipped_byte_of_a_manifest_leaves_segments_out_or_changes_nothing(tmp_path: Path) -> None:
    writer = loaded(tmp_path)
    add(writer, 1, 5)
    add(writer, 7, 9)
    data = (tmp_path / "manifest.json").read_bytes()
    for place in range(len(data)):
        for mask in (1 << place % 8, 0xFF):
            changed = data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]
            (tmp_path / "manifest.json").write_bytes(changed)
            folder = loaded(tmp_path)
            assert set(ranges(folder)) <= {(1, 5), (7, 9)}
            assert len(folder.segments) == 2 or folder.damaged


def test_damaged_missing_and_foreign_segments_are_left_out(tmp_path: Path) -> None:
    writer = loaded(tmp_path)
    parts = [add(writer, low, low + 5) for low in range(1, 26, 5)]
    parts[0].path.unlink()
    parts[1].path.write_bytes(b"")
    data = bytearray(parts[2].path.read_bytes())
    data[100] ^= 1
    parts[2].path.write_bytes(data)
    parts[3].path.write_bytes(parts[4].path.read_bytes())  # a sound segment of other documents
    folder = loaded(tmp_path)
    assert ranges(folder) == [(21, 26)] and folder.gaps(25) == [(1, 21)]
    assert [problem.split(":")[0] for problem in folder.damaged] == [part.path.name for part in parts[:4]]
    folder.load()
    assert len(folder.damaged) == 4  # each is reported once
    folder.remove_strays()
    assert names(tmp_path) == sorted(["manifest.json", parts[4].path.name])
    add(folder, 1, 21)
    assert ranges(loaded(tmp_path)) == [(1, 21), (21, 26)]


def test_segments_that_overlap_are_left_out(tmp_path: Path) -> None:
    writer = loaded(tmp_path)
    add(writer, 1, 5)
    make(tmp_path / "3-9-7.segment", [(1, 4)], 3, 9)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["segments"].append({"file": "3-9-7.segment", "low": 3, "high": 9, "documents": 6})
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    folder = loaded(tmp_path)
    assert ranges(folder) == [(1, 5)] and "overlaps" in folder.damaged[0]


@pytest.mark.parametrize("may_write", [False, True])
def test_a_discarded_segment_stays_away(tmp_path: Path, may_write: bool) -> None:
    writer = loaded(tmp_path)
    add(writer, 1, 5)
    add(writer, 5, 9)
    folder = SegmentFolder(tmp_path, PLAN, may_write=may_write)
    folder.load()
    bad = folder.segments[0]
    folder.discard(bad, str(SegmentDamaged(bad.path, "block 0 does not agree")))
    folder.discard(bad, "again")
    assert folder.damaged == [f"{bad.path.name}: block 0 does not agree"]
    assert ranges(folder) == [(5, 9)] and bad.path.exists() != may_write
    folder.load()  # the manifest may still name it
    assert ranges(folder) == [(5, 9)] and len(folder.damaged) == 1
    assert ranges(loaded(tmp_path)) == ([(5, 9)] if may_write else [(1, 5), (5, 9)])
    add(folder, 1, 5)
    assert (
        ranges(loaded(tmp_path)) == [(1, 5), (5, 9)]
        and bad.path.name not in (tmp_path / "manifest.json").read_text()
    )


def test_strays_are_removed_and_nothing_else(tmp_path: Path) -> None:
    writer = loaded(tmp_path)
    kept = add(writer, 1, 5)
    for name in (
        "1-5-9.segment",
        "1-5-10.segment.tmp",
        "manifest.json.tmp",
        "notes.txt",
        "my.segment",
        "a.lock",
    ):
        (tmp_path / name).write_bytes(b"x")
    SegmentFolder(tmp_path, PLAN).remove_strays()  # loads first
    assert names(tmp_path) == sorted(["manifest.json", kept.path.name, "notes.txt", "my.segment", "a.lock"])
    SegmentFolder(tmp_path / "none", PLAN).remove_strays()
    (tmp_path / "5-9-50.segment").write_bytes(b"x")
    assert add(writer, 5, 9).path.name == "5-9-51.segment"  # a name that was not used


@pytest.mark.parametrize("seed", range(6))
def test_any_history_gives_the_answers_of_its_postings(tmp_path: Path, seed: int) -> None:
    rng, writer, reader = random.Random(seed), loaded(tmp_path), loaded(tmp_path)
    last, found, deleted = 0, list[tuple[int, int]](), set[int]()

    def alive(low: int, high: int) -> np.ndarray:
        return np.array([seq for seq in range(low, high) if seq not in deleted], np.int64)

    def add_some(low: int, high: int) -> None:
        some = [posting for posting in found if low <= posting[1] < high and posting[1] not in deleted]
        writer.add(low, high, len(alive(low, high)), *columns(some).values())

    for _ in range(60):
        step = rng.random()
        if step < 0.5:
            size = rng.randrange(1, 20)
            found += some_postings(rng.random(), last + 1, last + size + 1, 3, hot=0.5)
            add_some(last + 1, last + size + 1)
            last += size
        elif step < 0.6 and last:
            deleted |= {rng.randrange(1, last + 1) for _ in range(5)}
        elif step < 0.7 and writer.segments:
            writer.discard(rng.choice(writer.segments), "damaged")
        elif step < 0.8:
            for low, high in writer.gaps(last):
                add_some(low, high)
        elif step < 0.9 and writer.segments:
            group = rng.choice(writer.neighbours())
            writer.merge(writer.merge_due() or group[rng.randrange(len(group)) :], alive, 1 << 16)
        elif step < 0.95:
            writer.remove_strays()
        else:
            writer = loaded(tmp_path)
        if reader.changed():
            reader.load()
        for folder in (writer, reader):
            missing = {seq for low, high in folder.gaps(last) for seq in range(low, high)}
            wanted = [key for key, _ in found[::7]]
            seen = {
                pair for one in folder.segments for pair in looked_up(one, wanted) if pair[1] not in deleted
            }
            expected = {pair for pair in naive.look_up(found, wanted) if pair[1] not in deleted | missing}
            assert seen == expected
    assert not reader.damaged


# durability --------------------------------------------------------------------------------------------------


def step_names(monkeypatch: pytest.MonkeyPatch, fail_at: int, run: Callable[[], object]) -> list[str]:
    """The fsyncs and renames of a run, the one numbered `fail_at` failing with a full disk."""
    steps: list[str] = []

    def note(name: str) -> None:
        steps.append(name)
        if len(steps) - 1 == fail_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    fsync, replace = os.fsync, Path.replace

    def noted_fsync(handle: int) -> None:
        note("fsync " + Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def noted_replace(self: Path, target: Path) -> Path:
        note(f"rename {self.name}")
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", noted_fsync)
        patch.setattr(Path, "replace", noted_replace)
        run()
    return steps


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the names of open files are in /proc on Linux only"
)
def test_files_are_synced_before_and_folders_after_they_are_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "segments"
    folder = loaded(place)
    steps = step_names(monkeypatch, -1, lambda: add(folder, 1, 5))
    name = folder.segments[0].path.name
    assert steps == [
        f"fsync {name}.tmp",
        f"rename {name}.tmp",
        "fsync segments",
        "fsync manifest.json.tmp",
        "rename manifest.json.tmp",
        "fsync segments",
    ]


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the names of open files are in /proc on Linux only"
)
@pytest.mark.parametrize("fail_at", range(6))
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail_at: int
) -> None:
    folder = loaded(tmp_path)
    parts = [add(folder, 1, 5), add(folder, 5, 9)]
    for run in (lambda: add(folder, 9, 12), lambda: folder.merge(parts, all_alive, 1 << 20)):
        with pytest.raises(OSError, match="No space left"):
            step_names(monkeypatch, fail_at, run)
        again = loaded(tmp_path)
        assert not again.damaged and ranges(again) == ranges(folder) and again.gaps(8) == []
    folder.remove_strays()
    assert len(names(tmp_path)) == 1 + len(folder.segments)
    assert ranges(loaded(tmp_path)) == ranges(folder)


def test_a_write_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, count: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(SegmentWriter, "_pack", fail)
    with pytest.raises(OSError, match="Input/output"):
        make(tmp_path / "a.segment", [(1, 1)], 1, 2)
    assert names(tmp_path) == []
