"""The tokeniser does to any text what its plain twin does, wherever blocks and segments happen to end."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import (
    COMPILED,
    TROUBLE,
    batches,
    characters,
    entry,
    kernel_risks,
    kernel_tokens,
    known,
    offset_types,
    pack_texts,
    texts,
    unpack,
)

import naive
from neardup.columns import Texts
from neardup.kernels import tokens
from neardup.text.words import Words

MODES = ["words", "whitespace", "characters", "code"]
modes = st.sampled_from(MODES)


@pytest.fixture
def segment(monkeypatch: pytest.MonkeyPatch) -> int:
    """The size at which documents are cut: small where the kernels are plain Python, which is slow."""
    if not COMPILED:
        monkeypatch.setattr(tokens, "SEGMENT", 64)
        monkeypatch.setattr(tokens, "RUN", 4)
    return tokens.SEGMENT


@given(batches, modes, offset_types)
def test_tokens_are_those_of_the_twin(documents: list[str], mode: str, offset_type: type) -> None:
    expected = [naive.tokenize(document, mode) for document in documents]
    assert kernel_tokens(documents, mode, offset_type) == expected


@given(batches, modes, st.sampled_from([pa.string(), pa.large_string()]))
def test_words_are_the_tokens_of_the_text_in_nfc(documents: list[str], mode: str, kind: pa.DataType) -> None:
    array = pa.array(["before", *documents, None], kind)[1:]
    found = Words(mode)(Texts.from_arrow(array))
    expected = [naive.tokenize(unicodedata.normalize("NFC", document), mode) for document in [*documents, ""]]
    assert unpack(found.hashes, found.offsets) == [[token.hash for token in row] for row in expected]
    assert unpack(found.positions, found.offsets) == [[token.position for token in row] for row in expected]
    assert unpack(found.marks, found.offsets) == [[token.marks for token in row] for row in expected]


@given(batches, modes)
def test_a_document_gives_the_same_tokens_alone_and_in_any_batch(documents: list[str], mode: str) -> None:
    alone = [kernel_tokens([document], mode)[0] for document in documents]
    assert kernel_tokens(documents, mode) == alone
    assert kernel_tokens(documents[::-1], mode) == alone[::-1]


def code_points(all_below: int, step: int) -> list[str]:
    """Every character below a limit, every selector and tag, and one in `step` of the rest."""
    points = [*range(all_below), *range(all_below, 0x110000, step), *range(0xE0000, 0xE0200)]
    points = [point for point in points if not 0xD800 <= point <= 0xDFFF]
    return [char for char in map(chr, points if COMPILED else points[::97]) if known(char)]


def test_the_table_has_the_kind_and_the_folding_of_every_code_point() -> None:
    kinds = ["outside", "word", "single", "mark", "ignored"]
    for char in code_points(all_below=0x20000, step=61):
        stored = entry(char)
        assert kinds[stored & tokens.KIND] == naive.kind(char), ascii(char)
        assert chr(stored >> 8 or ord(char)) == naive.fold(char), ascii(char)


@pytest.mark.parametrize("mode", MODES)
def test_a_character_of_any_kind_does_what_it_must_wherever_it_stands(mode: str) -> None:
    """In the middle of a word, after a symbol, and by itself."""
    documents = [f"a{char}b +{char} {char}" for char in code_points(all_below=0x3400, step=97)]
    for document, found in zip(documents, kernel_tokens(documents, mode), strict=True):
        assert found == naive.tokenize(document, mode), ascii(document)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("filler", ["Ab 3+, ", "é"])
def test_where_ascii_ends_makes_no_difference(mode: str, filler: str) -> None:
    """Around the blocks of 128 bytes that are searched for ASCII, and the vectors of 32 within them."""
    lengths = [0, 1, 31, 32, 33, 63, 64, 65, *range(124, 131), 255, 256, 257]
    samples = TROUBLE if COMPILED else TROUBLE[7:50:9]
    documents = [
        (filler * length)[:length] + sample + (filler * tail)[:tail]
        for length in (lengths if COMPILED else lengths[:3])
        for sample in samples
        for tail in (0, 129 if COMPILED else 9)
    ]
    expected = [naive.tokenize(document, mode) for document in documents]
    assert kernel_tokens(documents, mode) == expected


def long_documents(size: int) -> dict[str, str]:
    """Documents of more than `size` bytes, with what may go wrong where they are cut."""
    word = "Zoë 中文 has+3 cats, "
    prose = word * (size // len(word.encode()) + 1)
    half = size // 2
    return {
        "prose, two cuts": prose * 2 + prose[: size // 3],
        "no blank at all": "x" * (3 * size + 5),
        "no blank, two bytes a letter": "ж" * (3 * size // 2 + 1),
        "no blank, character tokens": "中" * size,
        "no blank, growing when folded": "Ⱥ" * size,
        "one blank, far too early": "a " + "b" * (size + 9),
        "one blank, far too late": "b" * (size + 9) + " a",
        "the blank is the last byte of a segment": "a" * (size - 1) + " " + "b" * 20,
        "the blank is the first byte after": "a" * size + " " + "b" * 20,
        "as long as a segment": "a" * half + " " + "b" * (size - half - 1),
        "one byte longer": "a" * half + " " + "b" * (size - half),
        "letters across the end, no blank near": "a " + "é" * size,
        "line ends only": "line\n" * (size // 4),
        "blanks only": " " * (2 * size + 3),
        "an accent behind the cut": "a" * (size - 1) + " " + "\u0301b c" * 9,
        "ignored characters only": "\u00ad" * size,
        "four bytes across the end": "a" * (size - 2) + "😀 b" * 9,
        "a cut in every kind of trouble": "\n".join(
            TROUBLE * (1 + 2 * size // len("".join(TROUBLE).encode()))
        ),
    }


@pytest.mark.cut("name")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", long_documents(1))
def test_cutting_a_long_document_does_not_change_its_tokens(name: str, mode: str, segment: int) -> None:
    document = long_documents(segment)[name]
    assert len(document.encode()) >= segment
    assert kernel_tokens(["", document, "end"], mode)[1] == naive.tokenize(document, mode)


@pytest.mark.parametrize("name", long_documents(1))
def test_segments_end_behind_blanks(name: str, segment: int) -> None:
    document = long_documents(segment)[name]
    expected = naive.longest_segment(document.encode(), segment)
    assert tokens.longest_segment(*pack_texts(["", document])) == expected


@pytest.mark.skipif(COMPILED, reason="compiled kernels cut at 64 kB only")
@given(texts.map(lambda text: text * 3), modes, st.integers(1, 70), st.integers(1, 40))
def test_any_cut_is_without_effect(document: str, mode: str, segment: int, run: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "SEGMENT", segment)
        patch.setattr(tokens, "RUN", run)
        assert kernel_tokens([document], mode) == [naive.tokenize(document, mode)]


@given(st.sets(st.binary(min_size=1, max_size=8), min_size=2, max_size=50))
def test_short_tokens_of_one_length_never_share_a_hash(words: set[bytes]) -> None:
    assert len({(len(word), naive.hash_token(word)) for word in words}) == len(words)


@given(batches)
def test_a_text_that_nfc_would_change_is_noticed(documents: list[str]) -> None:
    found = kernel_risks(documents)
    for document, noticed in zip(documents, found, strict=True):
        assert noticed or unicodedata.is_normalized("NFC", document)


@given(st.text(characters.filter(lambda c: unicodedata.is_normalized("NFC", c)), min_size=2, max_size=2))
def test_two_characters_that_compose_are_noticed(pair: str) -> None:
    found = kernel_risks([pair])
    assert found[0] or unicodedata.normalize("NFC", pair) == pair


def test_every_decomposed_character_is_noticed() -> None:
    parts = [unicodedata.normalize("NFD", char) for char in code_points(all_below=0x30000, step=61)]
    parts = [part for part in parts if not unicodedata.is_normalized("NFC", part)]
    assert np.all(kernel_risks(parts))


@pytest.mark.parametrize("text", ["plain", "Zoë", "中文", "Ελλάδα", "한국어", "😀", "ไทย"])
def test_everyday_text_is_not_taken_for_unnormalised(text: str) -> None:
    assert not kernel_risks([text * 50])[0]
