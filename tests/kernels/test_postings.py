"""The kernels of postings are those of their twins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import hashes

from naive import postings as naive
from neardup.kernels import postings

LOW, HIGH = 1000, 1200
SEQ_WIDTH = (HIGH - LOW - 1).bit_length()
FULL = 2**64 - 1
# Any key, keys that agree in their upper bits, a few keys that many postings have, and both ends.
few_keys = st.sampled_from([0, 1, 5, 2**40, 2**63, FULL - 1, FULL])
keys = st.one_of(hashes, few_keys, st.integers(2**50, 2**50 + 300))
seqs = st.integers(LOW, HIGH - 1)


@st.composite
def posting_lists(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Runs of one key, which may span blocks, among single postings."""
    found = draw(st.lists(st.tuples(keys, seqs), max_size=40))
    for key, size in draw(st.lists(st.tuples(keys, st.integers(1, 600)), max_size=3)):
        found += [(key, LOW + place * 7 % (HIGH - LOW)) for place in range(size)]
    return found


def columns(found: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([k for k, _ in found], np.uint64), np.array([s for _, s in found], np.int64)


def blocks_of(found: Sequence[tuple[int, int]], low: int = LOW, width: int = SEQ_WIDTH) -> postings.Blocks:
    """The kernel's blocks of sorted postings."""
    n = -(-len(found) // postings.BLOCK)
    words = np.full(2 * len(found) + n + postings.PADDING, 7, np.uint64)  # the kernel clears what it uses
    tables = np.zeros(n, np.uint64), np.zeros(n, np.uint64), np.zeros(n, np.uint8)
    words[: postings.PADDING] = 0
    used = postings.pack(*columns(found), low, width, words, tables)
    fences = np.append(tables[0], np.array([found[-1][0] if found else 0], np.uint64))
    starts = np.zeros(n + 1, np.int64)
    assert postings.find_starts(fences, tables[2], len(found), width, starts)
    assert starts[-1] == used
    words = words[: used + postings.PADDING]
    return postings.Blocks(
        words, fences, tables[1], tables[2], starts, np.zeros(n, np.uint8), len(found), low, width
    )


def wanted_of(found: Sequence[tuple[int, int]], others: list[int]) -> list[int]:
    """Keys that are there, their neighbours, and others."""
    there = sorted({key for key, _ in found})[:10]
    near = [key + step for key in there for step in (-1, 1) if 0 <= key + step <= FULL]
    return [*others, *there, *near, 0, FULL]


@given(st.lists(hashes, max_size=30))
def test_checksums_are_those_of_the_twin(words: list[int]) -> None:
    assert int(postings.checksum(np.array(words, np.uint64))) == naive.checksum(words)


@given(st.lists(hashes, min_size=1, max_size=12), st.data())
def test_a_checksum_notices_every_change_of_one_word(words: list[int], data: st.DataObject) -> None:
    changed = list(words)
    changed[data.draw(st.integers(0, len(words) - 1))] ^= data.draw(st.integers(1, FULL))
    before, after = (int(postings.checksum(np.array(some, np.uint64))) for some in (words, changed))
    assert before != after
    assert before != int(postings.checksum(np.array([*words, 0], np.uint64)))


@given(st.lists(hashes, min_size=2, max_size=5), st.integers(0, 64), st.data())
def test_bits_are_loaded_wherever_they_lie(words: list[int], width: int, data: st.DataObject) -> None:
    bit = data.draw(st.integers(0, 64 * (len(words) - 1) - 1))
    mask = naive.ones(width)
    assert int(postings.ones(width)) == mask
    loaded = postings.load_bits(np.array(words, np.uint64), bit, np.uint64(mask))
    assert int(loaded) == naive.load_bits(words, bit, mask)


@given(posting_lists(), st.integers(1, 6))
def test_sorting_is_that_of_the_twin(found: list[tuple[int, int]], bits: int) -> None:
    out = np.zeros(len(found), np.uint64), np.zeros(len(found), np.int64)
    postings.sort_postings(*columns(found), np.empty((1 << bits) + 1, np.int64), out)
    assert list(zip(out[0].tolist(), out[1].tolist(), strict=True)) == naive.sort_postings(found)


@given(posting_lists(), st.sampled_from([(LOW, SEQ_WIDTH), (0, 63), (LOW, 17)]))
def test_blocks_are_those_of_the_twin(found: list[tuple[int, int]], shape: tuple[int, int]) -> None:
    found.sort()
    blocks = blocks_of(found, *shape)
    words, fences, checksums, widths = naive.pack(found, *shape)
    assert blocks.words.tolist() == [*words, 0, 0]
    assert blocks.fences[:-1].tolist() == fences
    assert blocks.checksums.tolist() == checksums
    assert blocks.widths.tolist() == widths
    assert blocks.starts.tolist() == naive.find_starts(widths, len(found), shape[1])


def test_one_document_takes_no_bits() -> None:
    blocks = blocks_of([(5, 9)] * 600, 9, 0)
    assert len(blocks.words) == postings.PADDING
    _, places, found = postings.look_up(blocks, np.array([4, 5, 6], np.uint64))
    assert places.tolist() == [1] * 600 and found.tolist() == [9] * 600


@given(st.lists(keys, max_size=60).map(sorted), st.lists(keys, max_size=10))
def test_fences_are_found_however_they_are_spread(fences: list[int], others: list[int]) -> None:
    padded = np.array([*fences, FULL], np.uint64)
    for key in [*others, *fences, 0, 2**62, 2**63, FULL]:
        assert postings.first_fence(padded, len(fences), np.uint64(key)) == naive.first_fence(fences, key)


def test_tables_that_no_segment_has_are_refused() -> None:
    blocks = blocks_of([(place << 50, LOW + place % 200) for place in range(600)])
    fences, widths, starts = blocks.fences, blocks.widths, np.zeros(4, np.int64)
    descending, wide = fences[::-1].copy(), widths.copy()
    wide[1] = 65
    assert postings.find_starts(fences, widths, 600, SEQ_WIDTH, starts)
    assert not postings.find_starts(descending, widths, 600, SEQ_WIDTH, starts)
    assert not postings.find_starts(fences, wide, 600, SEQ_WIDTH, starts)
    for count in (0, 512, 769):
        assert not postings.find_starts(fences, widths, count, SEQ_WIDTH, starts)


@given(posting_lists(), st.lists(keys, max_size=10))
def test_searches_are_those_of_the_twin(found: list[tuple[int, int]], others: list[int]) -> None:
    found.sort()
    blocks = blocks_of(found)
    n = len(blocks.widths)
    for key in wanted_of(found, others):
        fences = blocks.fences[:n].tolist()
        assert postings.first_fence(blocks.fences, n, np.uint64(key)) == naive.first_fence(fences, key)
        assert postings.lower_bound(blocks, np.uint64(key)) == naive.lower_bound(found, key)
        assert postings.find_run(blocks, np.uint64(key)) == naive.find_run(found, key)


@given(posting_lists(), st.lists(keys, max_size=10))
def test_look_ups_are_those_of_the_twin(found: list[tuple[int, int]], others: list[int]) -> None:
    found.sort()
    blocks, wanted = blocks_of(found), wanted_of(found, others)
    damaged, places, seqs = postings.look_up(blocks, np.array(wanted, np.uint64))
    assert damaged == -1
    assert list(zip(places.tolist(), seqs.tolist(), strict=True)) == naive.look_up(found, wanted)
    begins, ends = np.zeros((2, len(wanted)), np.int64)
    assert postings.find_runs(blocks, np.array(wanted, np.uint64), begins, ends) == -1
    runs = list(zip(begins.tolist(), ends.tolist(), strict=True))
    assert runs == [naive.find_run(found, key) for key in wanted]


@given(posting_lists().filter(bool), st.data())
def test_damage_is_noticed_before_it_is_used(found: list[tuple[int, int]], data: st.DataObject) -> None:
    found.sort()
    blocks = blocks_of(found)
    used = len(blocks.words) - postings.PADDING
    if used == 0:
        return
    blocks.words[data.draw(st.integers(0, used - 1))] ^= np.uint64(data.draw(st.integers(1, FULL)))
    bad = [b for b in range(len(blocks.widths)) if not postings.intact(blocks, b)]
    assert len(bad) == 1
    wanted = sorted({key for key, _ in found})
    for key in wanted:
        damaged, _, seqs = postings.look_up(blocks, np.array([key], np.uint64))
        assert damaged == bad[0] or seqs.tolist() == [s for _, s in naive.look_up(found, [key])]
    assert postings.look_up(blocks, np.array(wanted, np.uint64))[0] == bad[0]
    assert postings.first_damaged(blocks) == bad[0]


@given(posting_lists(), st.sets(seqs), st.integers(0, 700), st.integers(1, 700))
def test_living_postings_are_those_of_the_twin(
    found: list[tuple[int, int]], alive: set[int], begin: int, room: int
) -> None:
    found.sort()
    bits = np.zeros(HIGH - LOW, np.bool_)
    bits[[seq - LOW for seq in alive]] = True
    packed = np.packbits(bits, bitorder="little")
    out = np.zeros(room, np.uint64), np.zeros(room, np.int64)
    damaged, stopped, count = postings.unpack_alive(blocks_of(found), begin, packed, LOW, *out)
    expected = naive.unpack_alive(found, begin, alive, room)
    assert damaged == -1
    assert list(zip(*(column[:count].tolist() for column in out), strict=True)) == expected[1]
    # The kernel stops as soon as it is full, or where it was told to begin.
    assert stopped == max(begin, expected[0]) or count == room


@given(
    st.lists(st.tuples(st.lists(keys, max_size=20), st.booleans()), min_size=1, max_size=5),
    st.integers(1, 60),
)
def test_merged_runs_are_those_of_the_twin(given_: list[tuple[list[int], bool]], room: int) -> None:
    runs = [[(key, r) for key in sorted(some)] for r, (some, _) in enumerate(given_)]
    more = [again for _, again in given_]
    ends = np.cumsum([len(run) for run in runs])
    begins = ends - [len(run) for run in runs]
    first = begins.copy()
    out = np.zeros(room, np.uint64), np.zeros(room, np.int64)
    flat = columns([posting for run in runs for posting in run])
    count = postings.merge_runs(*flat, (begins, ends), np.array(more), out)
    expected = naive.merge_runs(runs, more, room)
    assert list(zip(*(column[:count].tolist() for column in out), strict=True)) == expected
    used = [sum(r == seq for _, seq in expected) for r in range(len(runs))]
    assert (begins - first).tolist() == used


@given(posting_lists(), st.lists(keys, max_size=10), st.integers(0, 300))
def test_linked_postings_are_those_of_the_twin(
    found: list[tuple[int, int]], others: list[int], cut: int
) -> None:
    flat, numbers = columns(found)
    before = np.zeros(len(found), np.int64)
    slots = np.full(2 << len(found).bit_length(), -1, np.int64)
    postings.link(flat, before, slots, 0, min(cut, len(found)))
    postings.link(flat, before, slots, min(cut, len(found)), len(found))
    assert before.tolist() == naive.link(flat.tolist())
    wanted = wanted_of(found, others)
    places, seqs = postings.look_up_linked((flat, numbers, before, slots), np.array(wanted, np.uint64))
    assert list(zip(places.tolist(), seqs.tolist(), strict=True)) == naive.look_up(found, wanted)


@pytest.mark.parametrize("key", [0, 5, FULL])
def test_a_hot_key_is_counted_without_reading_its_blocks(key: int) -> None:
    blocks = blocks_of([(key, LOW + place % 200) for place in range(256 * 40)])
    assert postings.find_run(blocks, np.uint64(key)) == (0, 256 * 40)
    assert blocks.checked.sum() <= 2
