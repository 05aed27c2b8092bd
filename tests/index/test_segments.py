"""Segments: look-ups, merges, damage; and the folder that names them."""

from __future__ import annotations

import errno
import json
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import postings as naive
from neardup.index.segments.folder import SegmentFolder
from neardup.index.segments.memory import MemorySegment
from neardup.index.segments.merge import merge_segments
from neardup.index.segments.segment import (
    HEADER,
    Segment,
    SegmentDamaged,
)
from neardup.index.segments.writer import SegmentWriter, write_segment

PLAN = "0123456789abcdef" * 4
FULL = 2**64 - 1
Postings = list[tuple[int, int]]  # key, seq


def columns(found: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
    return {
        "seqs": np.array([seq for _, seq in found], np.int64),
        "keys": np.array([key for key, _ in found], np.uint64),
    }


def make(path: Path, found: Postings, low: int, high: int, documents: int | None = None) -> Segment:
    documents = high - low if documents is None else documents
    write_segment(path, plan_digest=PLAN, low=low, high=high, documents=documents, **columns(found))
    return Segment.open(path, PLAN)


def looked_up(segment: Segment | MemorySegment, keys: Sequence[int]) -> list[tuple[int, int]]:
    places, seqs = segment.look_up(np.array(keys, np.uint64))
    assert places.dtype == seqs.dtype == np.int64
    return list(zip(places.tolist(), seqs.tolist(), strict=True))


def some_postings(seed: int, low: int, high: int, each: int = 17, hot: float = 0.1) -> Postings:
    """Postings as a method makes them: even keys, and a few that many documents have."""
    rng = random.Random(seed)
    common = [1, FULL, *(rng.getrandbits(64) for _ in range(3))]
    return [
        (rng.choice(common) if rng.random() < hot else rng.getrandbits(64), seq)
        for seq in range(low, high)
        for _ in range(each)
    ]


keys = st.one_of(st.integers(0, FULL), st.sampled_from([0, 1, 2**63, FULL]), st.integers(2**50, 2**50 + 300))


@st.composite
def posting_lists(draw: st.DrawFn, low: int = 10, high: int = 60) -> Postings:
    """Postings in any order, with keys that fill several blocks."""
    seqs = st.integers(low, high - 1)
    found = draw(st.lists(st.tuples(keys, seqs), max_size=30))
    for key, size in draw(st.lists(st.tuples(keys, st.integers(1, 700)), max_size=2)):
        found += [(key, low + place % (high - low)) for place in range(size)]
    draw(st.randoms(use_true_random=False)).shuffle(found)
    return found


# one segment -------------------------------------------------------------------------------------------------


@given(posting_lists(), st.lists(keys, max_size=8))
def test_look_ups_in_a_file_and_in_memory_are_those_of_the_twin(found: Postings, others: list[int]) -> None:
    wanted = [*others, *[key for key, _ in found[:10]], 0, FULL]
    memory = MemorySegment()
    for at in range(0, len(found), 100):
        some = columns(found[at : at + 100])
        memory.add(some["seqs"], some["keys"])
    with TemporaryDirectory() as folder:
        segment = make(Path(folder) / "a.segment", found, 10, 60)
        expected = naive.look_up(found, wanted)
        assert looked_up(segment, wanted) == looked_up(memory, wanted) == expected
        counts = [sum(place == k for place, _ in expected) for k in range(len(wanted))]
        for one in (segment, memory):
            assert one.count(np.array(wanted, np.uint64)).tolist() == counts
        segment.verify()
        assert (segment.low, segment.high, segment.documents) == (10, 60, 50)
        assert segment.postings == len(found) and segment.plan_digest == PLAN
        assert segment.bytes == segment.path.stat().st_size
        segment.close()
    assert len(memory) == len({seq for _, seq in found})
    seqs, made = memory.postings()
    assert list(zip(made.tolist(), seqs.tolist(), strict=True)) == found


@pytest.mark.parametrize(
    ("found", "low", "high"),
    [
        ([], 1, 1),
        ([], 5, 100),
        ([(7, 5)], 5, 6),
        ([(7, 5)] * 1000, 5, 6),
        ([(FULL, 2**62)], 1, 2**63 - 1),
        ([(0, 1), (FULL, 2**62)], 1, 2**63 - 1),
        ([(key, 3) for key in range(256)], 1, 9),
        ([(key << 56, 3) for key in range(256)] + [(FULL, 4)], 1, 9),
    ],
)
def test_the_smallest_and_the_widest_segments(tmp_path: Path, found: Postings, low: int, high: int) -> None:
    segment = make(tmp_path / "a.segment", found, low, high)
    wanted = sorted({0, FULL, 1, *(key for key, _ in found[:300])})
    assert looked_up(segment, wanted) == naive.look_up(found, wanted)
    assert looked_up(segment, []) == []
    assert segment.count(np.zeros(0, np.uint64)).tolist() == []
    segment.verify()


def test_the_order_of_postings_makes_no_difference_to_the_file(tmp_path: Path) -> None:
    found = some_postings(1, 1, 200)
    make(tmp_path / "a.segment", found, 1, 200)
    random.Random(2).shuffle(found)
    make(tmp_path / "b.segment", found, 1, 200)
    assert (tmp_path / "a.segment").read_bytes() == (tmp_path / "b.segment").read_bytes()
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize(("documents", "each"), [(600, 17), (10_000, 1), (5_000, 20)])
def test_a_posting_takes_less_than_12_bytes(tmp_path: Path, documents: int, each: int) -> None:
    found = some_postings(3, 1, documents + 1, each, hot=0)
    segment = make(tmp_path / "a.segment", found, 1, documents + 1)
    assert segment.bytes < 10 * len(found)
    sparse = [(key, seq * 100_000) for key, seq in found]  # most documents were deleted
    assert make(tmp_path / "b.segment", sparse, 1, 10**5 * (documents + 1)).bytes < 12 * len(found)


def test_keys_may_come_as_any_array(tmp_path: Path) -> None:
    found = some_postings(4, 1, 50)
    segment, memory = make(tmp_path / "a.segment", found, 1, 50), MemorySegment()
    flat = columns(found)
    memory.add(flat["seqs"][::-1], flat["keys"][::-1])
    flat["keys"].flags.writeable = False
    for some in (flat["keys"][:20], flat["keys"][::-3], flat["keys"].astype(object)[:5]):
        expected = naive.look_up(found, [int(key) for key in some])
        assert looked_up(segment, some) == looked_up(memory, some) == expected


def test_wrong_postings_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    for low, high in ((2, 9), (1, 8)):
        with pytest.raises(ValueError, match="cannot have other documents' postings"):
            make(tmp_path / "a.segment", [(1, 1), (2, 8)], low, high)
    with pytest.raises(ValueError, match="a posting is a seq and a key"):
        write_segment(
            tmp_path / "a.segment",
            plan_digest=PLAN,
            low=1,
            high=9,
            documents=8,
            seqs=np.ones(2, np.int64),
            keys=np.ones(3, np.uint64),
        )
    with pytest.raises(ValueError, match="too many for a segment's header"):
        write_segment(
            tmp_path / "a.segment", plan_digest="x" * 500, low=1, high=9, documents=8, **columns([(1, 1)])
        )
    assert not list(tmp_path.iterdir())


def test_a_closed_segment_says_so(tmp_path: Path) -> None:
    segment = make(tmp_path / "a.segment", [(1, 1)], 1, 2)
    segment.close()
    segment.close()
    with pytest.raises(ValueError, match=r"the segment a\.segment is closed"):
        segment.look_up(np.ones(1, np.uint64))


def test_threads_share_segments(tmp_path: Path) -> None:
    found = some_postings(5, 1, 400)
    segment, memory, flat = make(tmp_path / "a.segment", found, 1, 400), MemorySegment(), columns(found)
    expected, failures = naive.look_up(found, [1, FULL]), []

    def read() -> None:
        for _ in range(200):
            if looked_up(segment, [1, FULL]) != expected:
                failures.append("segment")
            seqs = [seq for _, seq in looked_up(memory, [1])]
            if seqs != [seq for place, seq in expected if place == 0][: len(seqs)]:
                failures.append("memory")

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for at in range(0, len(found), 17):  # whole documents, in order
        memory.add(flat["seqs"][at : at + 17], flat["keys"][at : at + 17])
    for thread in threads:
        thread.join()
    assert not failures and looked_up(memory, [1, FULL]) == expected


# damage ------------------------------------------------------------------------------------------------------


def unchanged_or_damaged(path: Path, wanted: list[int], expected: list[tuple[int, int]]) -> bool:
    """Whether damage is noticed; if it is not, every answer must be what it was."""
    try:
        segment = Segment.open(path, PLAN)
        counts = segment.count(np.array(wanted, np.uint64))
        assert looked_up(segment, wanted) == expected
        assert counts.tolist() == [sum(place == k for place, _ in expected) for k in range(len(wanted))]
    except SegmentDamaged as error:
        assert error.path == path and str(error).startswith(path.name)
        return True
    return False


def test_every_flipped_byte_is_noticed_or_changes_no_answer(tmp_path: Path) -> None:
    found = [*some_postings(6, 1, 12, 2), *((1, 1 + place % 11) for place in range(270))]
    whole = make(tmp_path / "a.segment", found, 1, 12)
    data = whole.path.read_bytes()
    wanted = sorted({0, *(key for key, _ in found)})
    expected = naive.look_up(found, wanted)
    path = tmp_path / "b.segment"
    for place in range(len(data)):
        for mask in (1 << place % 8, 0xFF):
            path.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
            assert unchanged_or_damaged(path, wanted, expected), (
                place
            )  # every key is asked for, so all is read


def test_every_key_by_itself_is_answered_well_or_not_at_all(tmp_path: Path) -> None:
    singles = [(place << 54, 1 + place % 11) for place in range(254)]
    crossing = [
        (255 << 54, seq) for seq in (1, 2, 3, 4)
    ]  # two postings before the end of a block, two behind
    found = [*singles, *crossing, (256 << 54, 5), (FULL, 6)]
    data = make(tmp_path / "a.segment", found, 1, 12).path.read_bytes()
    path = tmp_path / "b.segment"
    wanted = [0, 5, 1 << 54, 253 << 54, 254 << 54, 255 << 54, (255 << 54) + 1, 256 << 54, FULL - 1, FULL]
    expected = [naive.look_up(found, [key]) for key in wanted]
    for place in range(HEADER, len(data), 3):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        for key, answer in zip(wanted, expected, strict=True):
            unchanged_or_damaged(path, [key], answer)


def test_a_flipped_byte_matters_only_to_those_who_read_its_block(tmp_path: Path) -> None:
    found = some_postings(7, 1, 400, hot=0)
    path = make(tmp_path / "a.segment", found, 1, 400).path
    data = bytearray(path.read_bytes())
    data[HEADER + 5] ^= 4
    path.write_bytes(data)
    segment, noticed = Segment.open(path, PLAN), 0
    for key, seq in found:
        try:
            assert looked_up(segment, [key]) == [(0, seq)]
        except SegmentDamaged as error:
            noticed += 1
            assert "block 0 does not agree" in error.reason
    assert 0 < noticed <= 257
    with pytest.raises(SegmentDamaged):
        segment.verify()
    with pytest.raises(SegmentDamaged):
        merge_segments([segment], tmp_path / "b.segment", lambda low, high: np.arange(low, high), 1 << 20)
    assert names(tmp_path) == ["a.segment"]


def test_a_file_that_is_cut_or_extended_is_noticed(tmp_path: Path) -> None:
    data = make(tmp_path / "a.segment", some_postings(8, 1, 9, 3), 1, 9).path.read_bytes()
    path = tmp_path / "b.segment"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(SegmentDamaged):
            Segment.open(path, PLAN)
    for more in (b"\0", b"\0" * 8, data):
        path.write_bytes(data + more)
        with pytest.raises(SegmentDamaged):
            Segment.open(path, PLAN)


def test_files_that_are_no_segment_of_this_plan(tmp_path: Path) -> None:
    path = make(tmp_path / "a.segment", [(1, 1)], 1, 2).path
    with pytest.raises(SegmentDamaged, match="belongs to another plan"):
        Segment.open(path, "other")
    with pytest.raises(SegmentDamaged, match="cannot be read: No such file"):
        Segment.open(tmp_path / "none.segment", PLAN)
    with pytest.raises(SegmentDamaged, match="cannot be read"):
        Segment.open(tmp_path, PLAN)
    path.write_bytes(path.read_bytes().replace(b"neardup segment 1", b"neardup segment 2"))
    with pytest.raises(SegmentDamaged, match="no segment of this version"):
        Segment.open(path, PLAN)
    path.write_bytes(np.random.default_rng(1).bytes(5000))
    with pytest.raises(SegmentDamaged):
        Segment.open(path, PLAN)


def test_verify_notices_what_changed_after_a_block_was_checked(tmp_path: Path) -> None:
    segment = make(tmp_path / "a.segment", some_postings(9, 1, 30), 1, 30)
    segment.verify()
    with segment.path.open("r+b") as file:  # in place: the file that is mapped
        file.seek(HEADER + 40)
        byte = file.read(1)
        file.seek(HEADER + 40)
        file.write(bytes([byte[0] ^ 1]))
    for ask in (segment.verify, lambda: segment.look_up(np.ones(1, np.uint64))):
        with pytest.raises(SegmentDamaged, match="block 0"):
            ask()


# merging -----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=6),
    st.sets(st.integers(1, 240)),
    st.sampled_from([0, 20_000, 1 << 24]),
    st.data(),
)
@settings(max_examples=30)
def test_a_merge_is_the_segment_written_at_once(
    sizes: list[tuple[int, bool]], deleted: set[int], room: int, data: st.DataObject
) -> None:
    low, parts = 1, list[Segment]()
    everything: Postings = []
    with TemporaryDirectory() as folder:
        for size, filled in sizes:
            found = data.draw(posting_lists(low, low + size)) if filled else []
            everything += found
            parts.append(make(Path(folder) / f"{low}.segment", found, low, low + size))
            low += size
        living = np.array([seq for seq in range(1, low) if seq not in deleted], np.int64)
        merge_segments(
            parts, Path(folder) / "merged", lambda a, b: living[(living >= a) & (living < b)], room
        )
        left = [posting for posting in everything if posting[1] not in deleted]
        at_once = make(Path(folder) / "at once", left, 1, low, len(living))
        assert (Path(folder) / "merged").read_bytes() == at_once.path.read_bytes()


def test_a_merge_of_many_postings_needs_little_room(tmp_path: Path) -> None:
    found = some_postings(11, 1, 3001, hot=0.3)
    edges = [1, 100, 101, 1500, 1900, 3001]
    parts = [
        make(tmp_path / f"{a}.segment", [p for p in found if a <= p[1] < b], a, b) for a, b in pairwise(edges)
    ]
    asked: list[tuple[int, int]] = []

    def alive(low: int, high: int) -> np.ndarray:
        asked.append((low, high))
        return np.array([seq for seq in range(low, high) if seq % 3], np.int64)

    at_once = make(tmp_path / "at once", [p for p in found if p[1] % 3], 1, 3001, 2000)
    for room in (1, 100_000, 1 << 26):
        asked.clear()
        merge_segments(parts, tmp_path / "merged", alive, room)
        assert (tmp_path / "merged").read_bytes() == at_once.path.read_bytes()
        assert asked[0][0] == 1 and asked[-1][1] == 3001
        assert all(one[1] == other[0] for one, other in pairwise(asked))
        assert max(high - low for low, high in asked) <= max(room // 16, 1024)


def test_segments_with_a_gap_are_not_merged(tmp_path: Path) -> None:
    one, other = make(tmp_path / "a", [(1, 1)], 1, 3), make(tmp_path / "b", [(1, 5)], 4, 6)
    for wrong in ([one, other], [other, one], [one, one], []):
        with pytest.raises(ValueError, match="without a gap"):
            merge_segments(wrong, tmp_path / "c", lambda low, high: np.arange(low, high), 1000)
    assert names(tmp_path) == ["a", "b"]


# the folder --------------------------------------------------------------------------------------------------


def all_alive(low: int, high: int) -> np.ndarray:
    return np.arange(low, high)


def add(folder: SegmentFolder, low: int, high: int, documents: int | None = None) -> Segment:
    flat = columns(some_postings(low, low, high, 2))
    documents = high - low if documents is None else documents
    return folder.add(low, high, documents, flat["seqs"], flat["keys"])


def ranges(folder: SegmentFolder) -> list[tuple[int, int]]:
    return [(segment.low, segment.high) for segment in folder.segments]


def loaded(path: Path, plan: str = PLAN) -> SegmentFolder:
    folder = SegmentFolder(path, plan)
    folder.load()
    return folder


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


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


# merging in tiers --------------------------------------------------------------------------------------------


def test_eight_of_a_tier_are_due(tmp_path: Path) -> None:
    folder, rewritten = loaded(tmp_path), 0
    for number in range(200):
        add(folder, 10 * number + 1, 10 * number + 11)
        while due := folder.merge_due():
            rewritten += sum(segment.documents for segment in due)
            folder.merge(due, all_alive, 1 << 20)
    assert len(folder.segments) <= 3 * 7 and folder.gaps(2000) == []
    assert rewritten <= 2 * 2000  # each document once for each tier
    flat = sorted(
        posting
        for number in range(200)
        for posting in some_postings(10 * number + 1, 10 * number + 1, 10 * number + 11, 2)
    )
    wanted = [key for key, _ in flat[::50]]
    found = sorted((place, seq) for segment in folder.segments for place, seq in looked_up(segment, wanted))
    assert found == naive.look_up(flat, wanted)
    assert loaded(tmp_path).gaps(2000) == [] and len(names(tmp_path)) == len(folder.segments) + 1


def test_a_gap_is_never_merged_over(tmp_path: Path) -> None:
    folder = loaded(tmp_path)
    for number in range(15):
        add(folder, 10 * number + (number == 7) + 1, 10 * number + 11)  # one is missing before the eighth
    due = folder.merge_due()
    assert due is not None and [segment.low for segment in due] == [72, *range(81, 150, 10)]


def test_small_ones_between_large_ones_do_not_pile_up(tmp_path: Path) -> None:
    folder = loaded(tmp_path)
    for number in range(65):
        add(folder, number + 1, number + 2, documents=1 if number % 2 else 8 ** (2 + number % 7))
    due = folder.merge_due()
    assert due is not None and len(due) >= 8
    assert loaded(tmp_path).merge_due() is not None


def test_a_segment_discarded_during_its_merge_stays_away(tmp_path: Path) -> None:
    folder = loaded(tmp_path)
    one, other = add(folder, 1, 5), add(folder, 5, 9)

    def alive(low: int, high: int) -> np.ndarray:
        folder.discard(one, "damaged")
        return np.arange(low, high)

    with pytest.raises(SegmentDamaged, match="discarded while"):
        folder.merge([one, other], alive, 1 << 20)
    assert ranges(folder) == [(5, 9)] and len(names(tmp_path)) == 3


def test_a_segment_added_during_a_merge_is_kept(tmp_path: Path) -> None:
    folder = loaded(tmp_path)
    parts = [add(folder, 1, 5), add(folder, 5, 9)]

    def alive(low: int, high: int) -> np.ndarray:
        if folder.gaps(10):
            add(folder, 9, 11)
        return np.arange(low, high)

    folder.merge(parts, alive, 1 << 20)
    assert ranges(folder) == ranges(loaded(tmp_path)) == [(1, 9), (9, 11)]


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
