"""One segment: look-ups, its file, and damage of it."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from segment_files import (
    FULL,
    PLAN,
    Postings,
    columns,
    keys,
    looked_up,
    make,
    names,
    posting_lists,
    some_postings,
)

from naive import postings as naive
from neardup.index.segments.memory import MemorySegment
from neardup.index.segments.merge import merge_segments
from neardup.index.segments.segment import (
    HEADER,
    Segment,
    SegmentDamaged,
)
from neardup.index.segments.writer import write_segment


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
