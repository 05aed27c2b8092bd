"""The file format of statistics: one parquet file with a JSON header.

Columns: table (a number, see the header), feature (a 64-bit hash), documents (its document frequency); sorted by
table and feature. The header is in the file's metadata under 'neardup': format, version, the features counted, the
number of documents, the unit of document frequency, and the digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.checked_json import Invalid, check_members, parse_json
from neardup.errors import OutputError, StatisticsError
from neardup.output import one_line
from neardup.remote import is_address, open_remote
from neardup.remote_output import output_file, output_folder, split_target
from neardup.statistics.frequencies import Frequencies, Statistics, digest_of

FORMAT = 1
ROWS = 1 << 20  # of a row group
HEADER = {"documents": int, "df_unit": str, "text": str, "tables": list[dict[str, Any]], "digest": str}
TABLE = {"counted": str, "features": int, "least": int, "slack": int, "digest": str}
SCHEMA = pa.schema([("table", pa.uint16()), ("feature", pa.uint64()), ("documents", pa.int64())])


def save_statistics(
    statistics: Statistics, path: str | os.PathLike[str], *, force: bool = False
) -> dict[str, Any]:
    """Write the file; returns its header."""
    parts = {name: [table] for name, table in statistics.tables.items()}
    slack = {name: (table.least, table.slack) for name, table in statistics.tables.items()}
    return write_statistics(
        path, statistics.documents, statistics.text, statistics.df_unit, parts, slack, force=force
    )


def write_statistics(
    path: str | os.PathLike[str],
    documents: int,
    text: str,
    df_unit: str,
    tables: Mapping[str, Iterable[Frequencies]],
    precision: Mapping[str, tuple[int, int]],
    *,
    force: bool = False,
) -> dict[str, Any]:
    """Write tables that come in parts of ascending features; returns the header.

    precision: the least count and the slack of each table.
    """
    listed: list[dict[str, Any]] = []
    with output_file(path, force=force) as target:
        options = {"compression": "zstd", "write_page_checksum": True, "write_statistics": False}
        encoding = {"table": "RLE_DICTIONARY", "feature": "PLAIN", "documents": "DELTA_BINARY_PACKED"}
        with pq.ParquetWriter(
            target, SCHEMA, use_dictionary=["table"],
            column_encoding={name: kind for name, kind in encoding.items() if name != "table"}, **options,
        ) as writer:  # fmt: skip
            for number, (name, parts) in enumerate(tables.items()):
                least, slack = precision[name]
                size, digest = _write_table(writer, number, parts, least, slack)
                listed.append(
                    {"counted": name, "features": size, "least": least, "slack": slack, "digest": digest}
                )
            header = _header(documents, text, df_unit, listed)
            writer.add_key_value_metadata({"neardup": json.dumps(header, ensure_ascii=False)})
    return header


def _header(documents: int, text: str, df_unit: str, tables: list[dict[str, Any]]) -> dict[str, Any]:
    from neardup import __version__

    digests = {table["counted"]: table["digest"] for table in tables}
    return {
        "format": FORMAT,
        "neardup": __version__,
        "documents": documents,
        "df_unit": df_unit,
        "text": text,
        "tables": tables,
        "digest": digest_of(documents, text, df_unit, digests),
    }


def _write_table(
    writer: Any, number: int, parts: Iterable[Frequencies], least: int, slack: int
) -> tuple[int, str]:
    """The number of features written, and the digest of the table."""
    keys, counts, size = hashlib.sha256(), hashlib.sha256(), 0
    for part in parts:
        for start in range(0, len(part), ROWS):
            some = slice(start, start + ROWS)
            feature = np.ascontiguousarray(part.keys[some], np.uint64)
            documents = np.ascontiguousarray(part.counts[some], np.int64)
            keys.update(feature.data)
            counts.update(documents.data)
            size += len(feature)
            columns = [np.full(len(feature), number, np.uint16), feature, documents]
            writer.write_table(pa.table([pa.array(column) for column in columns], schema=SCHEMA))
    whole = hashlib.sha256(f"{least} {slack}".encode() + keys.digest() + counts.digest())
    return size, whole.hexdigest()


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a file."""
    return _open(path)[1]


def load_statistics(path: str | os.PathLike[str]) -> Statistics:
    """The statistics of a file; a damaged file, or one of another format version, is refused."""
    file, header = _open(path)
    try:
        found = {
            table["counted"]: _read_table(file, number, table)
            for number, table in enumerate(header["tables"])
        }
    except (OSError, pa.ArrowException, ValueError) as error:
        raise StatisticsError(f"{os.fspath(path)} is damaged: {one_line(error)}. Count again.") from None
    statistics = Statistics(header["documents"], header["text"], found, header["df_unit"])
    if statistics.digest != header["digest"]:
        raise StatisticsError(
            f"{os.fspath(path)} is damaged: its data does not match the digest in its header. Count again."
        )
    return statistics


def _open(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    name = os.fspath(path)
    try:
        file = pq.ParquetFile(
            open_remote(name) if is_address(name) else name, page_checksum_verification=True
        )
        header = parse_json((file.metadata.metadata or {}).get(b"neardup", b"null"))
    except FileNotFoundError:
        raise StatisticsError(f"{name} does not exist: make it with  neardup stats build.") from None
    except (OSError, pa.ArrowException, ValueError) as error:
        raise StatisticsError(f"{name} is not a statistics file, or is damaged: {one_line(error)}.") from None
    if not isinstance(header, dict) or "format" not in header:
        raise StatisticsError(f"{name} is not a statistics file: make one with  neardup stats build.")
    if header["format"] != FORMAT:
        raise StatisticsError(
            f"{name} has format {header['format']} of neardup {header.get('neardup')}; this version reads format "
            f"{FORMAT}: count again."
        )
    try:
        for table in check_members(header, HEADER)["tables"]:
            check_members(table, TABLE, "a table")
    except Invalid as error:
        raise StatisticsError(f"{name} is damaged: in its header {error}. Count again.") from None
    return file, header


def _read_table(file: Any, number: int, entry: dict[str, Any]) -> Frequencies:
    """One table, from its row groups."""
    if not file.schema_arrow.equals(SCHEMA):
        raise Invalid("its columns are not those of statistics")
    keys, counts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, ["table"])
        if len(rows) and rows.column(0)[0].as_py() == number:
            rows = file.read_row_group(group, ["feature", "documents"])
            keys.append(rows.column(0).to_numpy(zero_copy_only=False))
            counts.append(rows.column(1).to_numpy(zero_copy_only=False))
    found = Frequencies(np.concatenate(keys), np.concatenate(counts), entry["least"], entry["slack"])
    if (found.keys[1:] <= found.keys[:-1]).any() or (len(found) and found.counts.min() < 1):
        raise Invalid("its features are not sorted, or a count is below 1")
    return found


def check_target(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse a file that cannot be written, before counting begins."""
    if not os.fspath(path).endswith(".parquet"):
        raise OutputError(f"{os.fspath(path)} must end in .parquet, the format of statistics")
    place, name = split_target(path)
    with output_folder(place, force=force) as folder:
        folder.file(name)
