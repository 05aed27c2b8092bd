"""Repeated passages are those of a suffix array, and what is cut out is what stands earlier."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import repeats as twin
from neardup import kernels
from neardup.columns import Texts
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.budget import MemoryBudget
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.passages import records, repeats, verify, windows
from neardup.engines.local.passages.run import Passages, find_passages
from neardup.engines.local.rewrite import Cuts
from neardup.text.words import Words

LETTERS = st.sampled_from(["ab", "abc", "abcdefgh"])
Documents = list[list[str]]


@st.composite
def corpora(draw: Any) -> Documents:
    """Documents of few different words: many repeats, which overlap and lie inside one document."""
    words = st.sampled_from(list(draw(LETTERS)))
    documents = draw(st.lists(st.lists(words, max_size=40), max_size=5))
    circle = draw(st.lists(words, max_size=4))
    documents.append(circle * draw(st.integers(0, 12)))
    return documents + [documents[0] + documents[-1]] * draw(st.integers(0, 2))


@contextmanager
def found(texts: list[str], width: int, threads: int = 1) -> Iterator[tuple[Passages, Workspace]]:
    with Workspace() as work:
        work.spool.append(Texts.from_strings(texts))
        yield find_passages(work, width, Words(), Progress(), threads), work


def check(documents: Documents, width: int, threads: int = 1) -> None:
    """Compares everything with the twins."""
    with found([" ".join(document) for document in documents], width, threads) as (passages, work):
        starts = {
            int(p): int(d) for p, d in zip(passages.pieces.position, passages.pieces.document, strict=True)
        }
        origins: dict[int, int] = {}
        for position, document in starts.items():
            origins[document] = min(position, origins.get(document, position))

        def place(position: int) -> tuple[int, int]:
            document = int(passages.pieces.documents_of(np.array([position]))[0])
            return document, position - origins[document]

        windows_found = {
            place(p + k): place(r + k % length)
            for p, r, length, count in passages.runs.tolist()
            for k in range(length * count)
        }
        assert windows_found == twin.repeated_windows(documents, width)
        assert set(windows_found) == twin.suffix_array_windows(documents, width)
        assert occurrences(passages, place, documents, width) == twin.passages(documents, width)
        later = zip(passages.later.begin.tolist(), passages.later.end.tolist(), strict=True)
        cut = {place(token) for begin, end in later for token in range(begin, end)}
        assert cut == twin.later_tokens(documents, width)
        tokens = passages.places.position
        for position, begin, end in zip(tokens.tolist(), *passages.bytes.find(tokens), strict=True):
            document, token = place(position)
            assert work.spool.read_bytes(begin, end).tobytes().decode() == documents[document][token]


def occurrences(passages: Passages, place: Any, documents: Documents, width: int) -> dict[Any, Any]:
    """Each passage as tokens, with its places."""
    result: dict[Any, Any] = {}
    p = passages.places
    for position, length, step, count in zip(p.position, p.windows, p.step, p.count, strict=True):
        for k in range(count):
            document, token = place(int(position + k * step))
            text = tuple(documents[document][token : token + length + width - 1])
            result.setdefault(text, []).append((document, token))
    return {text: sorted(places) for text, places in result.items()}


@given(corpora(), st.integers(2, 6))
def test_passages_are_those_of_a_suffix_array(documents: Documents, width: int) -> None:
    check(documents, width)


def weak_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has nearly all windows collide."""
    real = kernels.repeats.hash_windows

    def hash_windows(tokens: Any, offsets: Any, positions: Any, width: int, out: Any) -> int:
        total = int(real(tokens, offsets, positions, width, out))
        out[:total, 0] &= np.uint64(0xE000000000000000)
        return total

    monkeypatch.setattr(kernels.repeats, "hash_windows", hash_windows)
    monkeypatch.setattr(verify, "STRETCH", 7)


def test_hashes_that_collide_give_the_same_passages() -> None:
    with pytest.MonkeyPatch.context() as patch:
        weak_hashes(patch)

        @settings(max_examples=25)
        @given(corpora(), st.integers(2, 5))
        def collide(documents: Documents, width: int) -> None:
            check(documents, width)

        collide()


def test_small_steps_give_the_same_passages() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "CHUNK", 30)
        patch.setattr(windows, "PIECE", 40)
        patch.setattr(repeats, "LEAST", 16)
        patch.setattr(repeats, "SMALL", 3)
        patch.setattr(records, "READ", 4)

        @settings(max_examples=25)
        @given(corpora(), st.integers(2, 6), st.sampled_from([1, 2]))
        def in_steps(documents: Documents, width: int, threads: int) -> None:
            check(documents, width, threads)

        in_steps()


def test_a_table_that_is_too_small_is_gone_through_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    documents = [[f"w{k}" for k in draw.integers(0, 30, 400)] for _ in range(20)]
    monkeypatch.setattr(repeats, "ENTRY", MemoryBudget().budget)
    monkeypatch.setattr(repeats, "_table", small_table(repeats._table))
    check(documents, 2)


def small_table(real: Any) -> Any:
    """Tables of 16 entries."""
    return lambda some, part, selected, most: real(some, part, selected, 16)


def test_a_text_that_goes_round_in_a_circle_is_one_row_however_long() -> None:
    for words in (["more"], ["one", "two", "three"]):
        with found([" ".join(words * 20_000)], 50) as (passages, _):
            assert len(passages.runs) <= 4
            assert len(passages.places) <= 6
            kept = 20_000 * len(words) - int((passages.later.end - passages.later.begin).sum())
            assert kept == 50, "the first occurrence stays whole"


def test_case_punctuation_and_composition_make_no_difference() -> None:
    first = "Zoë said: the café opens at nine, and nobody knew why."
    second = unicodedata.normalize("NFD", "intro ZOË SAID the café — opens at nine and nobody knew why outro")
    with found([first, second], 5) as (passages, work):
        (begin, end), (start, stop) = [
            (int(b), int(e))
            for b, e in zip(
                passages.bytes.find(passages.repeated.begin)[0],
                passages.bytes.find(passages.repeated.end - 1)[1],
                strict=True,
            )
        ]
        assert work.spool.read_bytes(begin, end).tobytes().decode() == first[:-1]
        assert work.spool.read_bytes(start, stop).tobytes().decode() == second[6:-6]


def test_words_that_differ_in_a_letter_are_no_passage() -> None:
    with found(["aa bb cc dd", "aa bb cx dd"], 3) as (passages, _):
        assert len(passages.runs) == 0
        assert len(passages.places) == 0


def test_cuts_take_the_punctuation_behind_them_and_leave_lines() -> None:
    text = "One two. Three four, five. Six\nseven eight."
    begin, end = text.index("Three"), text.index("five") + 4
    cut = Cuts(np.array([0]), np.array([begin]), np.array([end]))
    assert cut.apply(text.encode(), 0, 1) == b"One two. Six\nseven eight."
    last = Cuts(np.array([0]), np.array([text.index("Six")]), np.array([text.index("Six") + 3]), "[…]")
    assert last.apply(text.encode(), 0, 1).decode() == "One two. Three four, five. […]\nseven eight."
