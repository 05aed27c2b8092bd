"""Texts are views of Arrow's memory, whatever kind of string array they come from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from neardup.columns import Texts

STRINGS = ["first", "", None, "Zoë", "中文\0😀", ""]
EXPECTED = [(string or "").encode() for string in STRINGS]
KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()]


def documents(texts: Texts) -> list[bytes]:
    return [texts.document(number) for number in range(len(texts))]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_string_array_gives_its_texts_and_a_null_is_empty(kind: pa.DataType) -> None:
    encoded = [None if string is None else string.encode() for string in STRINGS]
    array = pa.array(encoded, pa.binary()).cast(kind)
    assert documents(Texts.from_arrow(array)) == EXPECTED


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_a_slice_gives_its_own_texts_only(kind: pa.DataType) -> None:
    array = pa.array(STRINGS, kind)
    for start in range(len(STRINGS) + 1):
        for stop in range(start, len(STRINGS) + 1):
            texts = Texts.from_arrow(array[start:stop])
            assert documents(texts) == EXPECTED[start:stop]
            assert texts.size == sum(map(len, EXPECTED[start:stop]))


@pytest.mark.parametrize("array", [pa.array([], pa.string()), pa.array([], pa.large_string()), pa.nulls(0)])
def test_no_documents_are_no_texts(array: pa.Array) -> None:
    texts = Texts.from_arrow(array)
    assert (len(texts), texts.size) == (0, 0)


@pytest.mark.parametrize(
    "array",
    [
        pa.nulls(3),
        pa.nulls(3, pa.string()),
        pa.array(["", "", ""]),
        pa.array([None, "", None], pa.large_string()),
    ],
    ids=["untyped nulls", "nulls", "empty strings", "both"],
)
def test_documents_without_a_byte_are_empty_texts(array: pa.Array) -> None:
    assert documents(Texts.from_arrow(array)) == [b"", b"", b""]


def test_bytes_behind_a_null_are_no_text() -> None:
    """Arrow allows them: the validity bit alone says that there is no value."""
    offsets, validity = np.array([0, 3, 6, 9], np.int32), bytes([0b101])
    buffers = [pa.py_buffer(validity), pa.py_buffer(offsets), pa.py_buffer(b"onetwosix")]
    array = pa.Array.from_buffers(pa.string(), 3, buffers)
    assert array.to_pylist() == ["one", None, "six"]
    assert documents(Texts.from_arrow(array)) == [b"one", b"", b"six"]
    assert documents(Texts.from_arrow(array[1:])) == [b"", b"six"]


def test_values_of_other_kinds_are_texts_as_they_are_printed() -> None:
    assert documents(Texts.from_arrow(pa.array([7, None, -1]))) == [b"7", b"", b"-1"]
    assert documents(Texts.from_arrow(pa.array(["x", "y", "x"]).dictionary_encode())) == [b"x", b"y", b"x"]


def test_texts_are_not_copied_and_cannot_be_written() -> None:
    array = pa.array(["some", "text"])
    texts = Texts.from_arrow(array[1:])
    assert texts.data.ctypes.data == array.buffers()[2].address
    assert not texts.data.flags.writeable
    assert np.shares_memory(texts.slice(0, 1).data, texts.data)


def test_a_slice_of_texts_is_those_documents() -> None:
    texts = Texts.from_strings(["a", "bc", "", "def"])
    assert documents(texts.slice(1, 3)) == [b"bc", b""]
    assert documents(texts.slice(2, 2)) == []
    assert texts.slice(1, 4).size == 5


@pytest.mark.parametrize(
    ("string", "expected"),
    [
        ("\ud800", "\ufffd"),
        ("a\udfffb", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ufeff\ud800", "\ufeff\ufffd"),
        ("no surrogate 😀", "no surrogate 😀"),
    ],
    ids=ascii,
)
def test_a_lone_surrogate_becomes_a_replacement_character_and_a_pair_its_character(
    string: str, expected: str
) -> None:
    assert documents(Texts.from_strings([string, "next"])) == [expected.encode(), b"next"]


def test_strings_and_bytes_give_the_same_texts() -> None:
    strings = ["", "Zoë", "\0"]
    assert documents(Texts.from_strings(strings)) == documents(
        Texts.from_strings([s.encode() for s in strings])
    )
    assert len(Texts.from_strings([])) == 0


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_texts_go_back_to_arrow_over_the_same_bytes(kind: pa.DataType) -> None:
    texts = Texts.from_arrow(pa.array(["before", *STRINGS], kind)[1:])
    array = texts.to_arrow(kind)
    array.validate(full=True)
    assert array.type == kind
    assert array.to_pylist() == [string or "" for string in STRINGS]
    assert array.buffers()[2].address == texts.data.ctypes.data
    assert texts.slice(3, 5).to_arrow(kind).to_pylist() == STRINGS[3:5]
