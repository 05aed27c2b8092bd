"""Arrow columns from values of any type: plain strings, valid UTF-8, one type per column."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Report = Callable[[int, str, str], None]  # row, reason, action

MOST_MEMBERS = 2000  # of the objects in a column; with more it is kept as JSON
DEEPEST = 32  # levels of the values of a column, likewise: no reader of parquet takes a hundred
SURROGATE = re.compile("[\ud800-\udfff]")
_FLOAT = 1 << 53
_NAMES: dict[type, str] = {bool: "true or false", list: "a list", dict: "an object"}
_INT64 = 1 << 63
_UNFIT = (pa.ArrowException, ValueError, TypeError, OverflowError, RecursionError)
_BIG = 1 << 30  # bytes of a column from which 64-bit offsets are used


def clean(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD."""
    try:
        text.encode()  # ten times as fast as a search by the pattern
    except UnicodeEncodeError:
        return SURROGATE.sub("\ufffd", text)
    return text


def as_string(value: Any) -> str | None:
    """A JSON value as text: strings unchanged, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def json_type(value: Any) -> str:
    """The type of a JSON value; an integer is int if a float holds it exactly, long if int64 does, else huge."""
    if type(value) is int:
        return "int" if -_FLOAT <= value <= _FLOAT else "long" if -_INT64 <= value < _INT64 else "huge"
    return type(value).__name__


def schema_of(parts: Iterable[Sequence[dict[str, Any]]]) -> pa.Schema:
    """The members of JSON objects, in order of appearance, each with a type that holds all its values."""
    json_types: dict[str, set[str]] = {}
    nested: dict[str, pa.DataType] = {}
    for rows in parts:
        columns: dict[str, list[Any]] = {}
        for row in rows:
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
        for name, values in columns.items():
            json_types.setdefault(name, set()).update(map(json_type, values))
            if json_types[name] & {"dict", "list"}:
                nested[name] = common_type(nested.get(name, pa.null()), nested_type(values))
    types = {name: column_type(found, nested.get(name, pa.null())) for name, found in json_types.items()}
    return pa.schema([(name, pa.string() if pa.types.is_null(t) else t) for name, t in types.items()])


def column_type(types: set[str], nested: pa.DataType) -> pa.DataType:
    """The Arrow type of a column with values of these JSON types: string if they do not agree."""
    types = types - {"NoneType"}
    if not types:
        return pa.null()
    if types == {"bool"}:
        return pa.bool_()
    if types <= {"int", "long"}:
        return pa.int64()
    # No long: a large integer must not be rounded because another value has a point.
    if types <= {"int", "float"}:
        return pa.float64()
    if types in ({"dict"}, {"list"}):
        return nested if _storable(nested) else pa.string()
    return pa.string()


def nested_type(values: Sequence[Any]) -> pa.DataType:
    """The type of the lists or objects among the values, or string if they do not agree."""
    found: Any = [value for value in values if isinstance(value, (dict, list))]
    if _is_unwieldy(found):
        return pa.string()
    try:
        together: pa.DataType = pa.array(found).type
        return together
    except _UNFIT:
        return pa.string()


def known_times(array: Any) -> Any:
    """The column, without the times that Python has no value for: years beyond 9999, zones that nobody knows."""
    kind = array.type
    if not pa.types.is_temporal(kind):
        return array
    if getattr(kind, "unit", "") == "ns":  # to microseconds, as finer ones are no Python values either
        finer = {
            pa.types.is_timestamp: pa.timestamp,
            pa.types.is_duration: pa.duration,
            pa.types.is_time: pa.time64,
        }
        zone = (kind.tz,) if pa.types.is_timestamp(kind) else ()
        array = array.cast(next(make for test, make in finer.items() if test(kind))("us", *zone), safe=False)
    try:
        array.to_pylist()
    except (OverflowError, ValueError, KeyError):
        import pyarrow.compute as pc

        return pc.if_else(pa.array(list(map(_is_known, array))), array, None)
    return array


def _is_known(value: Any) -> bool:
    try:
        value.as_py()
    except (OverflowError, ValueError, KeyError):
        return False
    return True


def _is_unwieldy(values: list[Any]) -> bool:
    """Whether values are nested too deeply, or objects have too many different members: keys that are data would
    take room in every row."""
    known: dict[str, Any] = {}
    left, count = [(known, value, 1) for value in values], 0
    while left and count <= MOST_MEMBERS:
        place, value, depth = left.pop()
        if depth > DEEPEST:
            return True
        for name, member in value.items() if isinstance(value, dict) else (("", each) for each in value):
            count += name not in place
            if isinstance(member, (dict, list)):
                left.append((place.setdefault(name, {}), member, depth + 1))
            else:
                place.setdefault(name, {})
    return count > MOST_MEMBERS


def _members(found: pa.DataType) -> int:
    """The members of a type, at every depth."""
    parts = [found.field(i).type for i in range(found.num_fields)] if pa.types.is_nested(found) else []
    return len(parts) + sum(map(_members, parts))


def _storable(found: pa.DataType) -> bool:
    """Whether parquet can hold the type: an object without members, or with a member of unknown type, stays JSON."""
    if pa.types.is_struct(found):
        return found.num_fields > 0 and all(_storable(found.field(i).type) for i in range(found.num_fields))
    if pa.types.is_list(found):
        return _storable(found.value_type)
    return not pa.types.is_null(found)


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type that holds both, or string if there is none."""
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if _textual(left) and _textual(right):
        return pa.large_string() if pa.large_string() in (left, right) else pa.string()
    both = [pa.schema([pa.field("x", each)]) for each in (left, right)]
    try:
        together: pa.DataType = pa.unify_schemas(both, promote_options="permissive").field(0).type
        return together if _members(together) <= MOST_MEMBERS else pa.string()
    except pa.ArrowException:
        return pa.string()


def _textual(found: pa.DataType) -> bool:
    if pa.types.is_dictionary(found):
        return _textual(found.value_type)
    return pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)


def to_array_or_strings(values: Sequence[Any], target: pa.DataType, report: Report) -> pa.Array[Any]:
    """The JSON values in the type, or all of them as strings if one does not fit: no id is lost because of its type."""
    if pa.types.is_string(target):
        for row, value in enumerate(values):
            if value is not None and not isinstance(value, str):
                report(row, f"not text: {_NAMES.get(type(value), 'a number')}", "taken as its JSON text")
    else:
        try:
            return pa.array(values, target)
        except _UNFIT:
            pass
    texts = [as_string(value) for value in values]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return pa.array(
            [_without_surrogates(row, text, report) for row, text in enumerate(texts)], pa.string()
        )


def _without_surrogates(row: int, text: str | None, report: Report) -> str | None:
    if text is None or not SURROGATE.search(text):
        return text
    report(row, "lone surrogate", "replaced")
    return clean(text)


def plain_type(stored: pa.DataType) -> pa.DataType:
    """The type in which `plain` gives a column of this stored type."""
    if pa.types.is_dictionary(stored) or pa.types.is_run_end_encoded(stored):
        return plain_type(stored.value_type)
    if isinstance(stored, pa.BaseExtensionType):
        return plain_type(stored.storage_type)
    if pa.types.is_large_binary(stored) or pa.types.is_large_string(stored):
        return pa.large_string()
    if _textual(stored) or _binary(stored) or pa.types.is_nested(stored):
        return pa.string()
    return stored


def _binary(stored: pa.DataType) -> bool:
    return (
        pa.types.is_binary(stored)
        or pa.types.is_large_binary(stored)
        or pa.types.is_binary_view(stored)
        or pa.types.is_fixed_size_binary(stored)
    )


def read_value(array: pa.Array[Any], report: Report) -> pa.Array[Any]:
    """The column in a plain type; bytes stay bytes until the caller knows whether they are text or an id."""
    stored: Any = array.type
    variable = pa.types.is_binary(stored) or pa.types.is_large_binary(stored)
    return array if variable else plain(array, report)


def plain(array: pa.Array[Any], report: Report) -> pa.Array[Any]:
    """The column in a plain type: strings for text, bytes and nested values."""
    stored: Any = array.type
    if isinstance(stored, pa.BaseExtensionType):
        return plain(array.storage, report)
    if pa.types.is_run_end_encoded(stored):
        import pyarrow.compute as pc

        return plain(pc.call_function("run_end_decode", [array]), report)
    if pa.types.is_dictionary(stored):
        return plain(array.dictionary_decode(), report)
    if pa.types.is_nested(stored):
        values = array.to_pylist()
        texts = [
            None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values
        ]
        return pa.array(texts, pa.string())
    # A key, not text: replaced characters could make two keys equal.
    if pa.types.is_fixed_size_binary(stored):
        keys = [None if value is None else value.hex() for value in array.to_pylist()]
        return pa.array(keys, pa.string())
    if pa.types.is_string_view(stored):
        return array.cast(pa.large_string() if array.get_total_buffer_size() > _BIG else pa.string())
    if _binary(stored):
        return _decoded(array, report)
    return checked(array, report) if _textual(stored) else array


def checked(array: pa.Array[Any], report: Report) -> pa.Array[Any]:
    """The string array itself if it is valid UTF-8; otherwise with replacements."""
    try:
        array.validate(full=True)
        return array
    except pa.ArrowInvalid:
        large = pa.types.is_large_string(array.type)
        return _decoded(array.view(pa.large_binary() if large else pa.binary()), report)


def utf8_strings(values: Sequence[bytes], repaired: Callable[[bytes], bytes]) -> pa.Array[Any]:
    """A string column of bytes that are nearly always valid UTF-8; `repaired` gives what stands for one that is not.

    All are validated together, and none becomes a Python string.
    """
    ends = np.cumsum([0, *map(len, values)])
    if ends[-1] < _BIG:
        buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(values))]
        array: pa.Array[Any] = pa.Array.from_buffers(pa.string(), len(values), buffers)
        try:
            array.validate(full=True)
            return array
        except pa.ArrowInvalid:
            pass
    return pa.array([_valid(value, repaired) for value in values], pa.string())


def _valid(value: bytes, repaired: Callable[[bytes], bytes]) -> bytes:
    try:
        value.decode()
    except UnicodeDecodeError:
        return repaired(value)
    return value


def _decoded(array: pa.Array[Any], report: Report) -> pa.Array[Any]:
    large = pa.types.is_large_binary(array.type) or array.nbytes > _BIG
    target: Any = pa.large_string() if large else pa.string()
    try:
        if pa.types.is_binary_view(array.type):
            array = array.cast(pa.large_binary() if large else pa.binary())
        decoded: pa.Array[Any] = array.cast(target)
        return decoded
    except pa.ArrowInvalid:
        texts = [_text(row, value, report) for row, value in enumerate(array.to_pylist())]
        replaced: pa.Array[Any] = pa.array(texts, target)
        return replaced


def _text(row: int, value: bytes | None, report: Report) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        report(row, "invalid UTF-8", "replaced")
        return value.decode("utf-8", "replace")


def row_report(add: Callable[..., None], source: str, numbers: Any) -> Report:
    """A function that reports a problem of a row under its record number in the source."""

    def report(row: int, reason: str, action: str) -> None:
        add(source, reason, record=int(np.asarray(numbers)[row]), action=action)

    return report
