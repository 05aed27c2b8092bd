"""What the footer of a parquet file says of its columns, read here because pyarrow aborts the process on some damage.

(`RowGroupMetaData.column` lets a C++ exception pass where the sizes in a damaged footer contradict each other.)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.documents.splice import COLUMNS, META, ROW_GROUPS, read_struct

__all__ = ["Chunk", "column_chunks"]

LARGEST = 4 << 20  # bytes of a footer that is worth reading: a second in Python
BYTE_ARRAY = 6
_TYPE, _PATH, _CODEC, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DICTIONARY = 1, 3, 4, 5, 6, 7, 11
_CODECS = ("uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
_DAMAGED = (IndexError, KeyError, TypeError, ValueError, AttributeError, RecursionError, struct.error)


@dataclass(frozen=True)
class Chunk:
    """One column of a row group."""

    path: str
    text: bool  # strings or bytes
    codec: str | None
    values: int
    uncompressed: int
    compressed: int
    dictionary: bool


def column_chunks(file: pa.NativeFile) -> list[list[Chunk]]:
    """The columns of each row group; nothing where the footer is large, or not as it should be."""
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


def _chunk(meta: dict[int, tuple[int, Any]]) -> Chunk:
    codec = meta[_CODEC][1]
    return Chunk(
        b".".join(meta[_PATH][1][1]).decode("utf-8", "replace"),
        meta[_TYPE][1] == BYTE_ARRAY,
        _CODECS[codec] if 0 <= codec < len(_CODECS) else None,
        meta[_VALUES][1],
        meta[_UNCOMPRESSED][1],
        meta[_COMPRESSED][1],
        _DICTIONARY in meta,
    )
