"""Fields beside texts: joined column by column, exactly as they would be joined row by row."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.engines.core.documents import with_fields
from neardup.text.fields import join_fields

TEXT = st.text(alphabet='ab[]" ,\x0b\x0c\0é1', max_size=6)
COLUMNS = {
    pa.string(): TEXT, pa.large_string(): TEXT, pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint8(): st.integers(0, 255), pa.float64(): st.floats(), pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(), pa.date32(): st.dates(), pa.timestamp("us"): st.datetimes(),
    pa.decimal128(9, 2): st.decimals(-9999, 9999, places=2), pa.binary(): st.binary(max_size=3),
    pa.list_(pa.string()): st.lists(st.none() | TEXT, max_size=3),
    pa.list_(pa.float64()): st.lists(st.none() | st.floats(), max_size=3),
    pa.list_(pa.list_(pa.string())): st.lists(st.none() | st.lists(TEXT, max_size=2), max_size=2),
    pa.list_(pa.int64(), 2): st.lists(st.integers(0, 9), min_size=2, max_size=2),
    pa.struct([("a", pa.int64())]): st.fixed_dictionaries({"a": st.integers(0, 3)}),
}  # fmt: skip


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[str], pa.Array]:
    kind = draw(st.sampled_from(list(COLUMNS)))
    values = draw(st.lists(st.none() | COLUMNS[kind], min_size=1, max_size=8))
    array = pa.array(values, kind)
    start = draw(st.integers(0, len(array) - 1))
    texts = draw(st.lists(TEXT, min_size=len(array), max_size=len(array)))
    return texts[start:], array.slice(start)


@given(columns(), columns())
def test_columns_are_joined_as_rows_would_be(
    first: tuple[list[str], pa.Array], second: tuple[list[str], pa.Array]
) -> None:
    size = min(len(first[1]), len(second[1]))
    texts, left, right = first[0][:size], first[1].slice(0, size), second[1].slice(0, size)
    expected = [
        join_fields(*row)
        for row in zip(texts, map(list, zip(left.to_pylist(), right.to_pylist(), strict=True)), strict=True)
    ]
    assert with_fields(pa.array(texts, pa.string()), [left, right]).to_pylist() == expected


@pytest.mark.parametrize(
    ("array", "printed"),
    [
        (pa.nulls(2), ["", ""]),
        (pa.array(["x", None]).dictionary_encode(), ["x", ""]),
        (pa.array([-0.0, 0.0]), ["-0.0", "0.0"]),
        (pa.array([True, None]), ["True", ""]),
        (pa.array([datetime.date(2020, 1, 2), None]), ["2020-01-02", ""]),
        (pa.array([decimal.Decimal("1.20"), None]), ["1.20", ""]),
        (pa.array(['["a b", null, "c"]', "[not json"]), ["a b\x0c\x0cc", "[not json"]),
    ],
)
def test_what_is_printed(array: pa.Array, printed: list[str]) -> None:
    texts = pa.array(["t\x0bu", ""])
    assert with_fields(texts, [array]).to_pylist() == [f"t u\x0b{printed[0]}", f"\x0b{printed[1]}"]


def test_without_fields_nothing_is_copied() -> None:
    texts = pa.array(["a", "b"])
    assert with_fields(texts, []) is texts
