"""Digests tell texts apart: equal only for equal bytes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import batches, offset_types, pack, pack_texts

import naive
from neardup.kernels import digest

byte_strings = st.binary(max_size=70)
seeds = st.integers(0, 2**63 - 1)


def kernel_digests(
    documents: list[bytes], seed: int = 0, offset_type: type = np.int64
) -> list[tuple[int, int]]:
    data, offsets = pack(documents, np.uint8, offset_type)
    found = np.empty((len(documents), 2), np.uint64)
    digest.digest(data, offsets, seed, found)
    return [tuple(row) for row in found.tolist()]


@given(st.lists(byte_strings, max_size=5), seeds, offset_types)
def test_digests_are_those_of_the_twin(documents: list[bytes], seed: int, offset_type: type) -> None:
    documents = [b"", *documents, b""]
    expected = [naive.digest(document, seed) for document in documents]
    assert kernel_digests(documents, seed, offset_type) == expected


@given(st.sets(byte_strings, min_size=2, max_size=20))
def test_different_texts_have_different_digests_in_both_halves(documents: set[bytes]) -> None:
    found = kernel_digests(sorted(documents))
    assert len({a for a, _ in found}) == len({b for _, b in found}) == len(documents)


@pytest.mark.parametrize("size", [*range(18), 63, 64, 65])
def test_zeros_are_told_apart_by_their_number_and_every_byte_counts(size: int) -> None:
    changed = [bytes(place) + b"\1" + bytes(size - place - 1) for place in range(size)]
    assert len({*kernel_digests([bytes(size), bytes(size + 1), *changed])}) == size + 2


def left_behind(bit: int) -> int:
    """What flipping a bit of a word does to the first state, at the least: itself, and itself shifted."""
    return 1 << bit | 1 << bit >> 31


def swapped(word: int) -> int:
    """The halves of a word in the other order."""
    return word >> 32 | word << 32 & (1 << 64) - 1


@pytest.mark.parametrize("bit", range(60, 64))
@pytest.mark.parametrize("other", [1, 2, 3])
@pytest.mark.parametrize("size", [16, 24, 31, 40, 48, 71])
def test_no_difference_in_one_word_is_undone_by_another_later(bit: int, other: int, size: int) -> None:
    """A high bit hardly spreads in a product, so what it leaves in one state is easy to take back."""
    texts = np.random.default_rng(bit).integers(0, 256, (50, size), dtype=np.uint8)
    same = kernel_digests([text.tobytes() for text in texts])
    for undoing in (1 << bit, left_behind(bit), swapped(1 << bit), swapped(left_behind(bit))):
        words = texts[:, : size & ~7].copy().view(np.uint64)
        words[:, 0] ^= np.uint64(1 << bit)
        words[:, min(other, words.shape[1] - 1)] ^= np.uint64(undoing)
        changed = np.concatenate([words.view(np.uint8), texts[:, size & ~7 :]], axis=1)
        found = kernel_digests([text.tobytes() for text in changed])
        assert not any(a == b for a, b in zip(same, found, strict=True))


@given(batches)
def test_characters_are_counted_not_bytes(documents: list[str]) -> None:
    data, offsets = pack_texts(documents)
    found = np.empty(len(documents), np.int64)
    digest.count_characters(data, offsets, found)
    assert found.tolist() == [naive.count_characters(document.encode()) for document in documents]


@given(
    st.binary(min_size=1, max_size=200),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=8),
)
def test_pieces_are_gathered_as_by_the_twin(block: bytes, cuts: list[tuple[int, int]]) -> None:
    begins = np.array([min(a, b, len(block)) for a, b in cuts], np.int64)
    ends = np.array([min(max(a, b), len(block)) for a, b in cuts], np.int64)
    offsets = np.concatenate(([0], np.cumsum(ends - begins))).astype(np.int64)
    data = np.empty(offsets[-1], np.uint8)
    digest.gather(np.frombuffer(block, np.uint8), begins, ends, data, offsets)
    assert data.tobytes() == naive.gather(block, begins.tolist(), ends.tolist())


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_checksums_of_pieces_add_up_to_that_of_the_file(file: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(file), *(cut for cut in cuts if cut < len(file))})
    pieces = [digest.checksum(np.frombuffer(file[a:b], np.uint8), a) for a, b in pairwise(edges)]
    assert sum(map(int, pieces)) % 2**64 == naive.checksum(file)


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_changed_byte_changes_the_checksum(file: bytes, draw: st.DataObject) -> None:
    place, flip = draw.draw(st.integers(0, len(file) - 1)), draw.draw(st.integers(1, 255))
    changed = file[:place] + bytes([file[place] ^ flip]) + file[place + 1 :]
    found = [digest.checksum(np.frombuffer(each, np.uint8), 0) for each in (file, changed)]
    assert found[0] != found[1]


def test_two_flips_of_the_highest_bit_change_the_checksum() -> None:
    file = np.zeros(4096, np.uint8)
    file[[7, 1031]] = 128
    assert digest.checksum(file, 0) != 0
