"""Documents out: parquet, jsonl, csv or tsv.

The caller chooses the rows and the columns added to them: `write(batch, rows, extra)`.
A jsonl or csv record that is only copied keeps its bytes (`OutputLayout.verbatim`); everything else goes through
Arrow columns in the schema that all sources fit into.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents.source import Batch, Source
from neardup.documents.values import common_type
from neardup.errors import OutputError

FORMATS = ("parquet", "jsonl", "csv", "tsv", "mbox")
_SUFFIX = {"gzip": ".gz", "zstd": ".zst"}
_CODEC = {"gz": "gzip", "zst": "zstd"}


class Writer(Protocol):
    """One output file."""

    def write(self, batch: Batch, rows: Numbers | None = None, extra: pa.RecordBatch | None = None) -> None:
        """Append rows of a batch (None: all), with `extra` columns that are aligned with the rows."""

    def close(self) -> None:
        """Finish the file."""


@dataclass(frozen=True)
class OutputLayout:
    """Format, compression and schema of an output, and the columns to read for it."""

    format: str
    extension: str  # without the dot
    compression: str | None
    schema: pa.Schema
    verbatim: bool
    delimiter: str | None = None  # of csv records that are copied

    @property
    def columns(self) -> list[str] | None:
        """The columns to `read`: none if the raw records are copied."""
        return [] if self.verbatim else None

    def open(
        self,
        target: Path | IO[bytes],
        extra: pa.Schema | None = None,
        escape_formulas: bool = True,
        threads: int = 1,
    ) -> Writer:
        """A writer of documents in this layout."""
        return open_writer(
            target,
            self.format,
            self.schema,
            extra,
            self.compression,
            escape_formulas,
            self.delimiter,
            threads,
        )


def output_format(sources: Sequence[Source], requested: str | None) -> tuple[str, str, str | None]:
    """Format, file extension and compression: as requested, or those of the sources if they agree."""
    sources = [source for source in sources if source.format != "unreadable"]
    if requested is not None:
        return _requested_format(sources, requested)
    formats = {source.format for source in sources}
    if formats == {"memory"}:
        return "parquet", "parquet", "zstd"
    format = formats.pop() if len(formats) == 1 else "jsonl"
    if format not in FORMATS:
        return "jsonl", "jsonl", None
    return _with_codec(format, _codec(sources, format))


def _requested_format(sources: Sequence[Source], requested: str) -> tuple[str, str, str | None]:
    format, _, suffix = requested.lower().lstrip(".").partition(".")
    if format not in FORMATS or (suffix and (suffix not in _CODEC or format in ("parquet", "mbox"))):
        known = ", ".join(FORMATS)
        raise OutputError(f"{requested!r} is not an output format: choose {known}, jsonl.gz or jsonl.zst")
    if format == "mbox" and any(source.format != "mail" for source in sources):
        other = next(source.name for source in sources if source.format != "mail")
        raise OutputError(f"{other} is not mail, and mbox holds mail alone: choose another --output-format")
    return _with_codec(format, _CODEC[suffix] if suffix else _codec(sources, format))


def _codec(sources: Sequence[Source], format: str) -> str | None:
    """The compression that all sources of the format share; parquet always has one."""
    codecs = {source.compression for source in sources if source.format == format}
    codec = codecs.pop() if len(codecs) == 1 else None
    if format != "parquet":
        return codec
    # Snappy is chosen for speed: a fast level of zstd takes two thirds of its time for a tenth more bytes.
    return {None: "zstd", "snappy": "zstd-fast"}.get(codec, codec)


def _with_codec(format: str, codec: str | None) -> tuple[str, str, str | None]:
    suffix = "" if format == "parquet" or codec is None else _SUFFIX[codec]
    return format, format + suffix, codec


def unified_schema(sources: Sequence[Source]) -> pa.Schema:
    """All columns of all sources in order of appearance, each in a type that holds all of them."""
    schemas = [source.schema() for source in sources]
    if schemas and all(schema.equals(schemas[0]) for schema in schemas):
        return schemas[0]
    types: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            types[field.name] = common_type(types.get(field.name, pa.null()), field.type)
    return pa.schema(list(types.items()))


def output_layout(sources: Sequence[Source], requested: str | None = None) -> OutputLayout:
    """The layout of outputs for these sources; converting jsonl reads it once for its columns."""
    format, extension, compression = output_format(sources, requested)
    sources = [source for source in sources if source.names()] or sources[:1]  # those with columns
    same = all(source.format == format for source in sources)
    if format == "mbox":
        return OutputLayout(format, extension, None, pa.schema([]), True)
    if same and format == "jsonl":
        return OutputLayout(format, extension, compression, pa.schema([]), True)
    schema = unified_schema(sources)
    names = sources[0].names()
    delimiters = {getattr(source, "delimiter", None) for source in sources}
    alike = same and format in ("csv", "tsv") and all(source.names() == names for source in sources)
    alike = alike and len(delimiters) == 1
    return OutputLayout(format, extension, compression, schema, alike, delimiters.pop() if alike else None)


def open_writer(
    target: Path | IO[bytes],
    format: str,
    columns: pa.Schema | Sequence[str],
    extra: pa.Schema | None = None,
    compression: str | None = None,
    escape_formulas: bool = True,
    delimiter: str | None = None,
    threads: int = 1,
) -> Writer:
    """A writer of the format; a schema gives the types of the columns, otherwise the first batch does.

    `escape_formulas` concerns csv and tsv: a text cell that a spreadsheet would run as a formula gets a
    leading apostrophe when neardup makes the cell. Records copied verbatim stay as they are. `threads` encode the row
    groups of parquet.
    """
    if format == "parquet":
        from neardup.documents.parquet_writer import ParquetWriter

        return ParquetWriter(target, columns, extra, compression, threads)
    if format == "jsonl":
        from neardup.documents.jsonl_writer import JsonlWriter

        return JsonlWriter(target, columns, extra, compression)
    if format in ("csv", "tsv"):
        from neardup.documents.csv_writer import CsvWriter

        names = columns.names if isinstance(columns, pa.Schema) else columns
        return CsvWriter(target, format, names, extra, compression, escape_formulas, delimiter)
    if format == "mbox":
        from neardup.documents.mbox_writer import MboxWriter

        return MboxWriter(target)
    raise OutputError(f"{format!r} is not an output format: choose one of {', '.join(FORMATS)}")


def taken(array: Any, rows: Numbers | None) -> Any:
    """The rows of an array or batch, without a copy if these are all."""
    return array if rows is None or len(rows) == len(array) else array.take(pa.array(rows))


def requested_schema(
    columns: pa.Schema | Sequence[str], found: pa.Schema | None, absent: pa.DataType
) -> pa.Schema:
    """The schema that was given, or the types found for columns given by name; `absent` is that of the others."""
    if isinstance(columns, pa.Schema):
        return columns
    known = {} if found is None else {field.name: field for field in found}
    return pa.schema([known.get(name, pa.field(name, absent)) for name in columns])


def full_schema(columns: pa.Schema, extra: pa.Schema | None) -> pa.Schema:
    """The columns and then the added ones, which replace columns of the same name."""
    if extra is None:
        return columns
    kept = [field for field in columns if field.name not in extra.names]
    metadata: Any = columns.metadata
    return pa.schema([*kept, *extra], metadata=metadata)


def fitted(table: pa.RecordBatch, extra: pa.RecordBatch | None, schema: pa.Schema) -> pa.RecordBatch:
    """The rows in the schema of the file: missing columns are null, other types are cast."""
    arrays = []
    for place, field in enumerate(schema):
        if extra is not None and field.name in extra.schema.names:
            found: pa.Array[Any] | None = extra.column(field.name)
        else:
            found = _column(table, place, field.name)
        arrays.append(pa.nulls(table.num_rows, field.type) if found is None else cast(found, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(table: pa.RecordBatch, place: int, name: str) -> pa.Array[Any] | None:
    if place < table.num_columns and table.schema.names[place] == name:
        return table.column(place)  # by position first: two columns may have one name
    places = table.schema.get_all_field_indices(name)
    return table.column(places[0]) if places else None


def cast(array: pa.Array[Any], target: pa.DataType) -> pa.Array[Any]:
    """The array in another type; through text if Arrow has no cast."""
    if array.type == target:
        return array
    try:
        return array.cast(target)
    except pa.ArrowException:
        texts = [None if value is None else _json_or_string(value) for value in array.to_pylist()]
        return pa.array(texts, pa.string()).cast(target)


def _json_or_string(value: Any) -> str:
    """The value as JSON; a string without quotes."""
    from neardup.documents.jsonl_writer import json_text

    text = json_text(value)
    return json.loads(text) if text.startswith('"') else text
