"""Column types that Spark reads from parquet unchanged, and the types in which it stores the others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from neardup.documents.writers import cast as printed

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_SAME = {
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(),
    pa.binary(), pa.date32(),
}  # fmt: skip


def is_native_type(found: pa.DataType) -> bool:
    """Whether Spark reads a column of this type from parquet without loss."""
    kinds = pa.types
    if kinds.is_dictionary(found):
        return is_native_type(found.value_type)
    if kinds.is_struct(found):
        return found.num_fields > 0 and all(is_native_type(each.type) for each in found)
    if kinds.is_list(found) or kinds.is_large_list(found):
        return is_native_type(found.value_type)
    if kinds.is_timestamp(found):
        return found.unit in ("ms", "us")
    known = _SAME | {pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.large_string(), pa.large_binary()}
    return found in known or kinds.is_decimal128(found)


def is_integer(found: pa.DataType) -> bool:
    """Whether a Spark long can hold all integers of the type."""
    return pa.types.is_integer(found) and not pa.types.is_uint64(found)


def storable(found: pa.DataType) -> pa.DataType:
    """The type in which Spark stores a column: its own, a wider one, microseconds for times, or else string."""
    kinds = pa.types
    if found in _SAME or kinds.is_decimal128(found):
        return found
    if kinds.is_dictionary(found):
        return storable(found.value_type)
    if kinds.is_timestamp(found):
        return pa.timestamp("us", None if found.tz is None else "UTC")
    if kinds.is_list(found) or kinds.is_large_list(found) or kinds.is_fixed_size_list(found):
        return pa.list_(storable(found.value_type))
    if kinds.is_struct(found) and found.num_fields:
        return pa.struct([pa.field(each.name, storable(each.type)) for each in found])
    if kinds.is_map(found):
        return pa.map_(storable(found.key_type), storable(found.item_type))
    if kinds.is_duration(found):
        return pa.duration("us")
    if kinds.is_fixed_size_binary(found):
        return pa.binary()
    return _WIDER.get(found, pa.string())


def stored(column: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """The column in the type in which Spark stores it."""
    if column.type == kind:
        return column
    try:
        return column.cast(kind, safe=False)  # loses only fractions of a microsecond
    except pa.ArrowException:
        return printed(column, kind)
