"""Metadata of the column chunks of a parquet file, from its footer.

pyarrow aborts the process on some damaged footers: `RowGroupMetaData.column` lets a C++ exception pass where sizes
contradict each other. So the footer, a Thrift structure in the compact protocol, is read here field by field.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

LARGEST = 4 << 20  # bytes of a footer: reading it takes a second
BYTE_ARRAY = 6

# Types of the compact protocol, and field numbers of parquet.thrift.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
ROW_GROUPS, COLUMNS, META = 4, 1, 3  # of FileMetaData, RowGroup and ColumnChunk
_TYPE, _PATH, _CODEC, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DICTIONARY = 1, 3, 4, 5, 6, 7, 11
_CODECS = ("uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
Fields = dict[int, tuple[int, Any]]
_DAMAGED = (IndexError, KeyError, TypeError, ValueError, AttributeError, RecursionError, struct.error)


@dataclass(frozen=True)
class ColumnChunk:
    """One column of a row group."""

    path: str
    text: bool  # strings or bytes
    codec: str | None
    values: int
    uncompressed: int
    compressed: int
    dictionary: bool


def column_chunks(file: pa.NativeFile) -> list[list[ColumnChunk]]:
    """The column chunks of each row group; none if the footer is damaged or larger than LARGEST."""
    try:
        size = file.size()
        file.seek(size - 8)
        length = struct.unpack("<I", file.read(4))[0]
        if length > min(LARGEST, size - 8):
            return []
        file.seek(size - 8 - length)
        footer, _ = read_struct(file.read(length), 0)
        return [[_chunk(one[META][1]) for one in group[COLUMNS][1][1]] for group in footer[ROW_GROUPS][1][1]]
    except (OSError, *_DAMAGED):
        return []


def _chunk(meta: Fields) -> ColumnChunk:
    codec = meta[_CODEC][1]
    return ColumnChunk(
        b".".join(meta[_PATH][1][1]).decode("utf-8", "replace"),
        meta[_TYPE][1] == BYTE_ARRAY,
        _CODECS[codec] if 0 <= codec < len(_CODECS) else None,
        meta[_VALUES][1],
        meta[_UNCOMPRESSED][1],
        meta[_COMPRESSED][1],
        _DICTIONARY in meta,
    )


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned integer of 7 bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def read_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of a Thrift type, and where it ends."""
    if kind in (TRUE, FALSE):
        return kind == TRUE, at
    if kind == BYTE:
        return data[at], at + 1
    if kind in (I16, I32, I64):
        raw, at = read_varint(data, at)
        return raw >> 1 ^ -(raw & 1), at
    if kind == DOUBLE:
        return data[at : at + 8], at + 8
    if kind == BINARY:
        size, at = read_varint(data, at)
        return data[at : at + size], at + size
    if kind in (LIST, SET):
        return read_list(data, at)
    if kind == STRUCT:
        return read_struct(data, at)
    raise ValueError(f"a parquet footer has a value of the unknown type {kind}")


def read_list(data: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    """The type of the elements, the elements, and where the list ends."""
    head, at = data[at], at + 1
    kind, size = head & 0x0F, head >> 4
    if size == 15:
        size, at = read_varint(data, at)
    values = []
    for _ in range(size):
        if kind in (TRUE, FALSE):  # in a list, each takes one byte
            value, at = data[at] == TRUE, at + 1
        else:
            value, at = read_value(data, at, kind)
        values.append(value)
    return (kind, values), at


def read_struct(data: bytes, at: int) -> tuple[Fields, int]:
    """The fields of a structure by number, each with its type, and where the structure ends."""
    fields: Fields = {}
    name = 0
    while data[at]:
        head, at = data[at], at + 1
        if head >> 4:
            name += head >> 4
        else:
            raw, at = read_varint(data, at)
            name = raw >> 1 ^ -(raw & 1)
        value, at = read_value(data, at, head & 0x0F)
        fields[name] = (head & 0x0F, value)
    return fields, at + 1


def write_varint(value: int) -> bytes:
    """The inverse of `read_varint`."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def write_value(kind: int, value: Any) -> bytes:
    """The inverse of `read_value`."""
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value])
    if kind in (I16, I32, I64):
        return write_varint(value << 1 ^ (value >> 63))
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return write_varint(len(value)) + value
    if kind in (LIST, SET):
        return write_list(*value)
    return write_struct(value)


def write_list(kind: int, values: list[Any]) -> bytes:
    """The inverse of `read_list`."""
    size = len(values)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + write_varint(size)
    if kind in (TRUE, FALSE):
        return head + bytes(TRUE if one else FALSE for one in values)
    return head + b"".join(write_value(kind, one) for one in values)


def write_struct(fields: Fields) -> bytes:
    """The inverse of `read_struct`."""
    parts, before = [], 0
    for name, (kind, value) in sorted(fields.items()):
        if 0 < name - before < 16:
            parts.append(bytes([(name - before) << 4 | kind]))
        else:
            parts.append(bytes([kind]) + write_varint(name << 1))
        parts.append(write_value(kind, value))
        before = name
    return b"".join(parts) + b"\0"
