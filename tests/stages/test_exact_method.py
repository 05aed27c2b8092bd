"""`--method exact` finds equal texts and no others, and a bucket of copies stays linear."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.errors import ParameterError

texts = st.lists(st.text(alphabet="aB. \n!é中", max_size=6), min_size=1, max_size=12)


def kept_texts(documents: list[str], **options: Any) -> list[str]:
    table = pa.table({"text": documents})
    return neardup.dedup(table, method="exact", keep="first", **options).kept["text"].to_pylist()


@given(texts)
def test_equal_bytes_are_found_and_nothing_else(documents: list[str]) -> None:
    kept = kept_texts(documents, equal="bytes")
    visible = {text for text in documents if any(ord(letter) > 32 for letter in text)}
    assert sorted(text for text in kept if text in visible) == sorted(visible)
    assert [text for text in kept if text not in visible] == [
        text for text in documents if text not in visible
    ]


@given(texts)
def test_equal_words_are_found_and_nothing_else(documents: list[str]) -> None:
    def words(text: str) -> tuple[str, ...]:
        spaced = "".join(f" {letter} " if letter == "中" else letter for letter in text.lower())
        return tuple("".join(letter if letter.isalnum() else " " for letter in spaced).split())

    kept = kept_texts(documents)
    found = [words(text) for text in kept if words(text)]
    assert sorted(found) == sorted({words(text) for text in documents} - {()})


@pytest.mark.parametrize("pairs", ["clusters", "all"])
def test_a_bucket_of_copies_has_a_pair_for_each_copy(pairs: Any) -> None:
    documents = [f"the same text{'!' * k}" for k in range(500)]
    table = neardup.pairs(documents, method="exact", pairs=pairs) if pairs == "all" else None
    result = neardup.dedup(documents, method="exact", pairs=pairs)
    assert len(result.kept) == 1
    assert len(result.pairs) <= 4 * len(documents)
    if table is not None:
        assert len(table) <= 4 * len(documents)


def test_an_unknown_kind_of_equality_is_refused() -> None:
    with pytest.raises(ParameterError, match="equal"):
        neardup.dedup(["a"], method="exact", equal="letters")
