"""Columns of any Arrow type as text: the values of fields, such as title or tags, for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ToText = Callable[[Any], str]


def column_as_text(array: pa.Array[Any], one: ToText, item: str) -> pa.Array[Any]:
    """The text of each row as `one` gives it, without nulls; the items of a list are joined by `item`.

    Arrow converts texts and lists; of other types each distinct value is converted once.
    """
    kind = array.type
    if pa.types.is_null(kind):
        return pa.array(np.full(len(array), ""), pa.large_string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _plain_texts(pc.fill_null(array.cast(pa.large_string()), ""), one, item)
    if pa.types.is_integer(kind):
        return pc.fill_null(array.cast(pa.large_string()), "")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _list_texts(array, one, item)
    if pa.types.is_dictionary(kind):
        return column_as_text(array.dictionary_decode(), one, item)
    return _value_texts(array, one)


def _plain_texts(array: pa.Array[Any], one: ToText, item: str) -> pa.Array[Any]:
    """Texts unchanged but without `item`; those that may be lists in JSON one by one."""
    lists = pc.starts_with(array, "[")
    found = pc.replace_substring(array, item, " ")
    if not pc.any(lists, min_count=0).as_py():
        return found
    converted = pa.array([one(text) for text in array.filter(lists).to_pylist()], pa.large_string())
    return pc.replace_with_mask(found, lists, converted)


def _list_texts(array: pa.Array[Any], one: ToText, item: str) -> pa.Array[Any]:
    """The items of each row, joined; an empty text for a row without items."""
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    items = column_as_text(pc.list_flatten(array), one, item)
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, items), pa.scalar(item, pa.large_string()))


def _value_texts(array: pa.Array[Any], one: ToText) -> pa.Array[Any]:
    """Each distinct value converted once; types that Arrow cannot encode as a dictionary (structs, maps) row by row."""
    try:
        # Floats by their bits: 0.0 and −0.0 are equal but have different texts.
        keys = array.view(f"int{array.type.bit_width}") if pa.types.is_floating(array.type) else array
        encoded = keys.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, ValueError, AttributeError):
        return pa.array([one(value) for value in array.to_pylist()], pa.large_string())
    values = (
        encoded.dictionary.view(array.type) if pa.types.is_floating(array.type) else encoded.dictionary
    ).to_pylist()
    words = pa.array([one(value) for value in values], pa.large_string())
    return pc.fill_null(words.take(encoded.indices), "")
