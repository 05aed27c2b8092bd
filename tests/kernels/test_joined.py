"""The joined tokens of a text are those of the twin, wherever blocks and segments end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inputs import COMPILED, batches, kernel_risks, offset_types, pack_texts

import naive
from neardup import kernels
from neardup.kernels import joined, tokens
from neardup.text.words import unicode_table

MODES = ["words", "whitespace", "characters", "code"]
modes = st.sampled_from(MODES)


def join(documents: list[str], mode: str, offset_type: type = np.int64) -> tuple[list[bytes], list[bool]]:
    """The joined tokens of each document, and whether NFC might change it."""
    data, offsets = pack_texts(documents, offset_type)
    out = np.full(2 * len(data) + 8, 7, np.uint8)
    ends, risky = kernels.joined.join_tokens(data, offsets, *unicode_table(mode), out)
    return [bytes(out[a:b]) for a, b in pairwise(ends)], risky.tolist()


@given(batches, modes, offset_types)
@example(
    ["中 国", "中国", "a中", "a 中", "中 \u0301", "中\u0301", "a+b", "a + b", " . ", "a. "], "words", np.int64
)
def test_joined_tokens_are_those_of_the_twin(documents: list[str], mode: str, offset_type: type) -> None:
    found, risky = join(documents, mode, offset_type)
    assert found == [naive.join_tokens(document, mode) for document in documents]
    assert risky == kernel_risks(documents).tolist()


@given(st.lists(st.text("ab ,.+中é\u0301\u00ad", max_size=6), min_size=2, max_size=8), modes)
def test_they_are_equal_where_the_tokens_are(documents: list[str], mode: str) -> None:
    found, _ = join(documents, mode)
    words = [[token.hash for token in naive.tokenize(document, mode)] for document in documents]
    for k in range(1, len(documents)):
        assert (found[k] == found[0]) == (words[k] == words[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", ["", " ", "  ,", "x", "中"])
def test_a_long_document_is_joined_over_its_segments(
    monkeypatch: pytest.MonkeyPatch, mode: str, end: str
) -> None:
    if not COMPILED:
        monkeypatch.setattr(tokens, "SEGMENT", 64)
    line = "One word, then 中国 and 12 + 3;  more\n\n of it. "
    document = line * (4 * tokens.SEGMENT // len(line.encode())) + end
    found, _ = join([document, line, document], mode)
    assert found == [naive.join_tokens(each, mode) for each in (document, line, document)]


@given(st.lists(st.sampled_from([0, 0, 0, joined.DROP, joined.SEPARATE]), min_size=8, max_size=8))
def test_zero_bytes_below_the_first_other_are_counted(flags: list[int]) -> None:
    word = np.uint64(int.from_bytes(bytes(flags), "little"))
    assert joined.zero_bytes(word) == next((k for k, flag in enumerate(flags) if flag), 8)
