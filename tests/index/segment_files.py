"""Segments and folders of segments for tests: postings of a seed, and what a look-up finds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from neardup.index.segments.folder import SegmentFolder
from neardup.index.segments.memory import MemorySegment
from neardup.index.segments.segment import Segment
from neardup.index.segments.writer import write_segment

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
