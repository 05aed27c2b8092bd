"""Merges of segments: what they write, and when they are due."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from segment_files import (
    Postings,
    add,
    all_alive,
    loaded,
    looked_up,
    make,
    names,
    posting_lists,
    ranges,
    some_postings,
)

from naive import postings as naive
from neardup.index.segments.merge import merge_segments
from neardup.index.segments.segment import (
    Segment,
    SegmentDamaged,
)


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
