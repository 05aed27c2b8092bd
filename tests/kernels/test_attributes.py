"""The attributes of a tag are counted as the twin counts them, wherever a tag may begin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import attributes as naive
from neardup.kernels.attributes import most_attributes

pieces = st.sampled_from(
    [
        "<p",
        "<",
        "</",
        "</b",
        ">",
        " ",
        "/",
        "=",
        '"',
        "'",
        "a",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        "\n",
        "x=1 ",
        'b="',
        "é",
    ]
)


def most(data: bytes, enough: int = 1 << 40) -> int:
    return most_attributes(np.frombuffer(data, np.uint8), enough)


@given(st.lists(pieces, max_size=40).map("".join))
def test_the_twin_counts_the_same(page):
    assert most(page.encode()) == naive.most_attributes(page.encode())


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b"", 0),
        (b"<p>", 0),
        (b"<p a b=1 c='x>' d=\">\" e>", 5),
        (b"<p a/b/c>", 3),
        (b"<<p a b>", 2),
        (b"<!-- <p x=' --><p a b c>'>", 3),
        (b'<script><p x="</script><p a b c d>', 4),
    ],
)
def test_counts(page, expected):
    assert most(page) == expected


def test_counting_stops_at_enough():
    assert most(b"<p " + b"a " * 1000 + b">", 10) == 11
