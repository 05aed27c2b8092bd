"""Containment: every pair of which one holds enough of the other, as brute force finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.candidates.contained import Contained
from neardup.columns import Features
from neardup.errors import ParameterError

documents = st.lists(
    st.dictionaries(st.integers(0, 14), st.sampled_from([0.5, 1.0, 2.0]), max_size=8), max_size=12
)
thresholds = st.sampled_from([0.3, 0.5, 2 / 3, 0.9, 1.0])


def features(rows: list[dict[int, float]]) -> Features:
    keys = [sorted(row) for row in rows]
    flat = np.array([key for row in keys for key in row], np.uint64)
    weights = np.array([row[key] for row in rows for key in sorted(row)], np.float32)
    return Features(np.cumsum([0, *map(len, keys)]), flat, weights, distinct=True)


def contained(a: dict[int, float], b: dict[int, float]) -> float:
    smaller = min(sum(a.values()), sum(b.values()))
    return sum(min(a[key], b[key]) for key in a.keys() & b.keys()) / smaller if smaller else 0.0


@given(documents, thresholds)
def test_all_pairs_and_no_other(rows: list[dict[int, float]], threshold: float) -> None:
    found = Contained().pairs(features(rows), threshold)
    expected = {
        (i, j): contained(rows[i], rows[j])
        for j in range(len(rows))
        for i in range(j)
        if contained(rows[i], rows[j]) >= threshold - 1e-9
    }
    pairs = zip(found.left.tolist(), found.right.tolist(), strict=True)
    assert dict(zip(pairs, found.similarity.tolist(), strict=True)) == pytest.approx(expected)


STORY = " ".join(f"word{k}" for k in range(80))
TEXTS = [
    STORY,
    STORY + " " + " ".join(f"more{k}" for k in range(300)),
    " ".join(f"else{k}" for k in range(90)),
]


@pytest.mark.parametrize("method", ["minhash", "rare_phrases", "spotsigs"])
def test_the_reason_says_which_contains_the_other(method: str) -> None:
    texts = ["the " + text.replace(" ", " the ") for text in TEXTS] if method == "spotsigs" else TEXTS
    found = neardup.pairs(texts, method=method, decide="containment", threshold=0.9).to_pylist()
    assert [(row["left"], row["right"], row["reason"]) for row in found] == [(0, 1, "right contains left")]
    assert found[0]["containment"] >= 0.9 == pytest.approx(0.9)
    assert neardup.pairs(texts, method=method, threshold=0.9).num_rows == 0


def test_the_longer_document_stays() -> None:
    result = neardup.dedup(TEXTS, decide="containment", threshold=0.9)
    assert result.kept == TEXTS[1:]


def test_methods_without_sets_to_compare_are_refused() -> None:
    with pytest.raises(ParameterError, match="does not compare sets of features"):
        neardup.dedup(TEXTS, method="imatch", decide="containment")
    with pytest.raises(ParameterError, match="'similarity' or 'containment'"):
        neardup.dedup(TEXTS, decide="inclusion")  # type: ignore[arg-type]
