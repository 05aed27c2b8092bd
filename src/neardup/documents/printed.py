"""Columns of any type as text, column by column: what a field of a document says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["printed_column"]

Printer = Callable[[Any], str]


def printed_column(array: pa.Array[Any], one: Printer, item: str) -> pa.Array[Any]:
    """For each row what `one` would print, as large strings without nulls; a list is its items with `item` between.

    Texts and lists are printed by Arrow; of other types each different value is printed once.
    """
    kind = array.type
    if pa.types.is_null(kind):
        return pa.array(np.full(len(array), ""), pa.large_string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _printed_texts(pc.fill_null(array.cast(pa.large_string()), ""), one, item)
    if pa.types.is_integer(kind):
        return pc.fill_null(array.cast(pa.large_string()), "")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _printed_lists(array, one, item)
    if pa.types.is_dictionary(kind):
        return printed_column(array.dictionary_decode(), one, item)
    return _printed_values(array, one)


def _printed_texts(array: pa.Array[Any], one: Printer, item: str) -> pa.Array[Any]:
    """Texts as they are, without `item`; those that may be lists in JSON one by one."""
    lists = pc.starts_with(array, "[")
    found = pc.replace_substring(array, item, " ")
    if not pc.any(lists, min_count=0).as_py():
        return found
    printed = pa.array([one(text) for text in array.filter(lists).to_pylist()], pa.large_string())
    return pc.replace_with_mask(found, lists, printed)


def _printed_lists(array: pa.Array[Any], one: Printer, item: str) -> pa.Array[Any]:
    """The items of each row, joined; a row without any is empty."""
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    items = printed_column(pc.list_flatten(array), one, item)
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, items), pa.scalar(item, pa.large_string()))


def _printed_values(array: pa.Array[Any], one: Printer) -> pa.Array[Any]:
    """Each different value printed once; what has no order that Arrow knows (structs, maps) row by row."""
    try:
        # Floats by their bits: 0.0 and −0.0 are equal, and are printed differently.
        keys = array.view(f"int{array.type.bit_width}") if pa.types.is_floating(array.type) else array
        coded = keys.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, ValueError, AttributeError):
        return pa.array([one(value) for value in array.to_pylist()], pa.large_string())
    values = (
        coded.dictionary.view(array.type) if pa.types.is_floating(array.type) else coded.dictionary
    ).to_pylist()
    words = pa.array([one(value) for value in values], pa.large_string())
    return pc.fill_null(words.take(coded.indices), "")
