"""Row groups of several small parquet files put into one, without encoding them again.

Compressing text is most of the work of writing it, and a parquet writer does it in one thread. So each row group
is written to memory as a file of its own, in any thread; here their bodies are put behind each other and their
footers merged: the offsets in a footer grow by where its body came to lie. A footer is a Thrift structure in the
compact protocol, read and written here field by field; fields that are not known are passed through.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, BinaryIO

MAGIC = b"PAR1"
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

# Field numbers of the parquet format (parquet.thrift).
ROWS, ROW_GROUPS = 3, 4  # FileMetaData
COLUMNS, GROUP_OFFSET, ORDINAL = 1, 5, 7  # RowGroup
CHUNK_OFFSET, META = 2, 3  # ColumnChunk
PAGE_OFFSETS = (9, 10, 11)  # ColumnMetaData: data, index and dictionary pages

Fields = dict[int, tuple[int, Any]]


@dataclass
class Splicer:
    """Writes one parquet file from the bytes of several, all of the same schema."""

    file: BinaryIO
    _footer: Fields = field(default_factory=dict)
    _position: int = 0
    _groups: int = 0

    def add(self, piece: bytes | memoryview) -> None:
        """Append the row groups of a whole parquet file."""
        piece = memoryview(piece)
        size = struct.unpack("<I", piece[-8:-4])[0]
        footer, _ = read_struct(bytes(piece[-8 - size : -8]), 0)
        if not self._position:
            self.file.write(MAGIC)
            self._position = len(MAGIC)
        body = piece[len(MAGIC) : -8 - size]
        self.file.write(body)
        self._merge(footer, self._position - len(MAGIC))
        self._position += len(body)

    def _merge(self, footer: Fields, shift: int) -> None:
        for group in footer[ROW_GROUPS][1][1]:
            _move(group, shift)
            if ORDINAL in group:
                group[ORDINAL] = (I16, self._groups)
            self._groups += 1
        if not self._footer:
            self._footer = footer
            return
        self._footer[ROWS] = (I64, self._footer[ROWS][1] + footer[ROWS][1])
        self._footer[ROW_GROUPS][1][1].extend(footer[ROW_GROUPS][1][1])

    def close(self) -> None:
        """Write the footer."""
        footer = write_struct(self._footer)
        self.file.write(footer + struct.pack("<I", len(footer)) + MAGIC)


def _move(group: Fields, shift: int) -> None:
    """Add the shift to every offset of a row group."""
    _shift(group, GROUP_OFFSET, shift)
    for chunk in group[COLUMNS][1][1]:
        _shift(chunk, CHUNK_OFFSET, shift)
        for name in PAGE_OFFSETS:
            _shift(chunk[META][1], name, shift)


def _shift(fields: Fields, name: int, shift: int) -> None:
    if name in fields and fields[name][1] > 0:  # 0 and -1 mean that there is none
        fields[name] = (I64, fields[name][1] + shift)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned integer of 7 bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def write_varint(value: int) -> bytes:
    """The inverse of `read_varint`."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def read_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of the kind, and where it ends."""
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
    raise ValueError(f"a parquet footer with a value of kind {kind}")


def read_list(data: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    """The kind of the elements and the elements."""
    head, at = data[at], at + 1
    kind, size = head & 0x0F, head >> 4
    if size == 15:
        size, at = read_varint(data, at)
    values = []
    for _ in range(size):
        if kind in (TRUE, FALSE):  # in a list, each has a byte of its own
            value, at = data[at] == TRUE, at + 1
        else:
            value, at = read_value(data, at, kind)
        values.append(value)
    return (kind, values), at


def read_struct(data: bytes, at: int) -> tuple[Fields, int]:
    """Fields by number, in the order they stand in."""
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
        inner, values = value
        head = (
            bytes([len(values) << 4 | inner])
            if len(values) < 15
            else bytes([0xF0 | inner]) + write_varint(len(values))
        )
        if inner in (TRUE, FALSE):
            return head + bytes(TRUE if one else FALSE for one in values)
        return head + b"".join(write_value(inner, one) for one in values)
    return write_struct(value)


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
