"""JSON lines out: records as they came, or objects made of columns."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.documents.source import Batch
from neardup.documents.writers import fitted, full_schema, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["JsonlWriter", "json_text"]

_ESCAPED = r'["\\\x00-\x1f]'  # the characters that a JSON string holds only escaped


class JsonlWriter:
    """Rows to one JSON lines file."""

    def __init__(
        self,
        path: Path,
        columns: pa.Schema | Sequence[str],
        extra: pa.Schema | None,
        compression: str | None,
    ) -> None:
        self._columns, self._extra = columns, extra
        self._file = output_stream(path, compression)

    def write(
        self, batch: Batch, rows: NDArray[np.int64] | None = None, extra: pa.RecordBatch | None = None
    ) -> None:
        """Append rows: a record that came as JSON keeps its bytes, with the added members at its end."""
        if rows is not None and not len(rows):
            return
        if batch.raw is not None and batch.format == "jsonl":
            records = taken(batch.raw, rows)
            self._file.write(joined(records if extra is None else spliced(records, extra)))
            return
        table = taken(batch.columns, rows)
        table = fitted(table, extra, full_schema(self._schema(table.schema), self._extra))
        lines = [json_text(without_nan(row)) for row in table.to_pylist()]
        self._file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))

    def _schema(self, found: pa.Schema) -> pa.Schema:
        if isinstance(self._columns, pa.Schema):
            return self._columns
        known = {field.name: field for field in found}
        return pa.schema([known.get(name, pa.field(name, pa.null())) for name in self._columns])

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def output_stream(path: Path, compression: str | None) -> Any:
    """A stream to the file, compressed on the way."""
    if compression == "gzip":
        return _Gzip(path)
    stream: Any = pa.OSFile(str(path), "wb")
    return pa.CompressedOutputStream(stream, "zstd") if compression == "zstd" else stream


class _Gzip:
    """A gzip file whose bytes depend on nothing but its content: no name, no time in its header.

    Arrow writes level 9 only: 4.9 s for 51 MB of text, where level 3 takes 1.4 s for 7 % more bytes.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._codec = path.open("wb"), zlib.compressobj(3, wbits=31)

    def write(self, data: Any) -> None:
        self._file.write(self._codec.compress(data))

    def close(self) -> None:
        self._file.write(self._codec.flush())
        self._file.close()


def joined(records: Any) -> pa.Buffer:
    """The records as lines: one buffer, made without a Python object per record."""
    return content(glued(records.view(pa.large_string()), "\n"))


def glued(*parts: Any) -> Any:
    """Columns of text and fixed strings put together row by row; a null counts as nothing."""
    wide = pa.large_string()
    typed = [pa.scalar(part, wide) if isinstance(part, str) else part.cast(wide) for part in parts]
    return pc.binary_join_element_wise(*typed, pa.scalar("", wide), null_handling="replace")


def content(array: Any) -> pa.Buffer:
    """The bytes of all values of a large array, one after the other."""
    _, offsets, data = array.buffers()
    first, last = np.frombuffer(offsets, dtype=np.int64)[[array.offset, array.offset + len(array)]]
    inside: pa.Buffer = data.slice(int(first), int(last - first))
    return inside


def json_text(value: Any) -> str:
    """The value as JSON: dates in ISO form, decimals as text, bytes in base64."""
    return json.dumps(value, ensure_ascii=False, default=_other)


def _other(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def without_nan(row: dict[str, Any]) -> dict[str, Any]:
    """The row with null for the numbers that JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def spliced(records: Any, extra: pa.RecordBatch) -> Any:
    """The objects with the added members before their closing brace; members of the same names give way."""
    texts = records.view(pa.large_string())
    if not pc.all(pc.ends_with(texts, "}")).as_py():
        texts = pc.ascii_rtrim_whitespace(texts)
    # Cut as bytes: Arrow counts characters in a string, and these need not be UTF-8.
    heads = pc.binary_slice(texts.view(pa.large_binary()), 0, -1).view(pa.large_string())
    empty = pc.match_substring_regex(texts, r"^\s*\{\s*\}")
    parts: list[Any] = [heads, pc.if_else(empty, "", ", ")]
    for place, name in enumerate(extra.schema.names):
        key = ", " * (place > 0) + json.dumps(name, ensure_ascii=False) + ": "
        parts += [key, _literals(extra.column(place))]
    return _replaced(texts, glued(*parts, "}"), extra)


def _literals(values: Any) -> Any:
    """Each value as JSON text."""
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        finite = pc.is_finite(values) if pa.types.is_floating(kind) else values.is_valid()
        return pc.if_else(pc.fill_null(finite, False), values.cast(pa.string()), "null")
    if pa.types.is_string(kind) and not pc.any(pc.match_substring_regex(values, _ESCAPED)).as_py():
        return pc.if_else(values.is_valid(), glued('"', values, '"'), pa.scalar("null", pa.large_string()))
    return pa.array([json_text(value) for value in values.to_pylist()], pa.large_string())


def _replaced(texts: Any, done: Any, extra: pa.RecordBatch) -> Any:
    """The spliced records, those that had one of the members before written anew."""
    keys = "|".join(re.escape(json.dumps(name, ensure_ascii=False)) for name in extra.schema.names)
    suspect = pc.match_substring_regex(texts, keys)
    places = pc.indices_nonzero(suspect).to_pylist()
    anew = {place: _rewritten(texts[place].as_buffer().to_pybytes(), extra, place) for place in places}
    anew = {place: record for place, record in anew.items() if record is not None}
    if not anew:
        return done
    records = [anew.get(place, record.as_buffer().to_pybytes()) for place, record in enumerate(done)]
    return pa.array(records, pa.large_binary()).view(pa.large_string())


def _rewritten(record: bytes, extra: pa.RecordBatch, place: int) -> bytes | None:
    """The record with its members replaced, or None when it has none of them after all."""
    row = json.loads(record.decode("utf-8", "replace"), strict=False)
    added = without_nan({name: extra.column(name)[place].as_py() for name in extra.schema.names})
    if not row.keys() & added.keys():
        return None
    return json_text({name: value for name, value in row.items() if name not in added} | added).encode(
        "utf-8", "replace"
    )
