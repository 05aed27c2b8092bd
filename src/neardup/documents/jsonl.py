"""JSON lines: one object a line, plain or compressed.

Arrow's parser reads a block of lines. If it fails, or could have joined or split lines, the standard library
reads the block again line by line: it is slower, and names the bad line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents.blocks import Block, FileSource, line_blocks, slices
from neardup.documents.document_columns import TEXT_NAMES
from neardup.documents.problems import Problems
from neardup.documents.source import Batch, Batches, empty_columns, sliced
from neardup.documents.values import SURROGATE, clean, plain_type, row_report, schema_of, to_array_or_strings
from neardup.errors import InputError

_RETURN, _OPEN, _CLOSE = 13, ord("{"), ord("}")
MOST_COLUMNS = 2000  # each takes room in every row: keys that are data would make a table quadratic
DEEPEST = 512  # levels of a record: Python's parser and printer end somewhere near 1,000, Arrow's nowhere
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_ABSENT = "\0"  # a key that no file has, for reads of which only the number of rows matters


@dataclass(frozen=True)
class JsonlSource(FileSource):
    """The objects of one JSON lines file; a record's number is its line."""

    format: str = "jsonl"
    _bad: dict[str, set[int]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _head(self) -> pa.Schema:
        """Names and types of the first 4 MB."""
        return self._scan(1)

    @cached_property
    def _whole(self) -> pa.Schema:
        return self._scan(None)

    def _scan(self, blocks: int | None) -> pa.Schema:
        found = islice(line_blocks(self, Problems()), blocks)
        lines = (parsed_lines(block, Lines.of(block), self.name, Problems()) for block in found)
        return schema_of([row for _, row in rows] for rows in lines)

    def names(self) -> list[str]:
        """The keys of the first 4 MB of the file, in order of appearance."""
        return list(self._head.names)

    def schema(self) -> pa.Schema:
        """All keys of the file, each with a type that holds all its values; reads the whole file."""
        if len(self._whole) > MOST_COLUMNS:
            raise InputError(
                f"{self.name} has {len(self._whole):,} different keys, and a table has at most {MOST_COLUMNS:,} "
                "columns: write jsonl, which copies the lines (--output-format jsonl)."
            )
        return self._whole

    def _requested(self, columns: Sequence[str] | None) -> pa.Schema:
        if columns is None:
            return self.schema()
        return pa.schema([(name, self._type(name)) for name in columns])

    def _type(self, name: str) -> pa.DataType:
        known = name.lower() not in TEXT_NAMES and name in self._head.names
        return plain_type(self._head.field(name).type) if known else pa.string()

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of the good lines; blank lines are numbered and skipped."""
        schema = self._requested(columns)
        bad: set[int] = set()
        known = self._bad.get("lines") if not schema.names else None
        for block in line_blocks(self, problems):
            lines = Lines.of(block)
            good, table = (
                skim(lines, known) if known is not None else self._parse(block, lines, schema, problems)
            )
            if len(good.numbers) < len(lines.numbers):
                bad.update(np.setdiff1d(lines.numbers, good.numbers).tolist())
            text = slices(block.data, good.starts, good.ends) if raw else None
            if len(good.numbers):
                yield from sliced(Batch(self.name, good.numbers, table, text, self.format))
        self._bad["lines"] = bad

    def _parse(
        self, block: Block, lines: Lines, schema: pa.Schema, problems: Problems
    ) -> tuple[Lines, pa.RecordBatch]:
        table = parsed_by_arrow(block, lines, schema)
        if table is not None:
            return lines, table
        kept, rows = [], []
        for place, row in parsed_lines(block, lines, self.name, problems):
            kept.append(place)
            rows.append(row)
        good = lines.take(np.array(kept, dtype=np.int64))
        report = row_report(problems.add, self.name, good.numbers)
        arrays = [to_array_or_strings([row.get(f.name) for row in rows], f.type, report) for f in schema]
        if not arrays:
            return good, empty_columns(len(rows))
        return good, pa.RecordBatch.from_arrays(arrays, names=schema.names)


@dataclass(frozen=True)
class Lines:
    """The lines of a block that are not blank: number, first byte, and the byte after the last."""

    numbers: Numbers
    starts: Numbers
    ends: Numbers
    tidy: bool  # each begins with { and ends with }: no record can reach over a line end

    @classmethod
    def of(cls, block: Block) -> Lines:
        """The lines of the block, without their b'\\n'."""
        data = np.frombuffer(block.data, dtype=np.uint8)
        ends = block.ends
        starts = np.concatenate([[0], ends[:-1] + 1])
        last = ends - 1
        last = last - ((last >= starts) & (data[last] == _RETURN))
        filled = last >= starts
        tidy = (data[starts[filled]] == _OPEN) & (data[last[filled]] == _CLOSE)
        numbers = np.arange(block.line, block.line + len(ends), dtype=np.int64)
        return cls(numbers[filled], starts[filled], ends[filled], bool(tidy.all()))

    def take(self, places: Numbers) -> Lines:
        """Some of the lines."""
        return Lines(self.numbers[places], self.starts[places], self.ends[places], self.tidy)


def skim(lines: Lines, bad: set[int]) -> tuple[Lines, pa.RecordBatch]:
    """The good lines without parsing them, when an earlier read has found the bad ones."""
    places = np.flatnonzero(~np.isin(lines.numbers, np.fromiter(bad, dtype=np.int64)))
    return lines.take(places), empty_columns(len(places))


def parsed_by_arrow(block: Block, lines: Lines, schema: pa.Schema) -> pa.RecordBatch | None:
    """The columns by Arrow's parser, or None if it fails or may have joined or split lines."""
    import pyarrow.json as pj

    simple = all(f.type in (pa.string(), pa.int64(), pa.float64(), pa.bool_()) for f in schema)
    if not (lines.tidy and simple and len(lines.numbers)) or _has_deep_line(block, lines):
        return None
    data: Any = pa.BufferReader(block.data)
    parsed_schema = schema if schema.names else pa.schema([(_ABSENT, pa.null())])
    try:
        table = pj.read_json(
            data,
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block.data) + 1),
            parse_options=pj.ParseOptions(explicit_schema=parsed_schema, unexpected_field_behavior="ignore"),
        )
        table.validate(full=True)
    except (pa.ArrowException, OSError):
        return None
    if table.num_rows != len(lines.numbers) or not is_utf8(block.data):
        return None
    return table.combine_chunks().to_batches()[0] if schema.names else empty_columns(table.num_rows)


def _has_deep_line(block: Block, lines: Lines) -> bool:
    """Whether one of the lines, each of which begins with a brace, is nested too deeply."""
    brackets = block.data.count(b"{") + block.data.count(b"[")
    if brackets - len(lines.numbers) < DEEPEST:
        return False
    spans = zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)
    return any(is_deep(block.data[start:end]) for start, end in spans)


def is_deep(line: bytes) -> bool:
    """Whether lists and objects of a line are nested too deeply; brackets inside strings do not count."""
    if line.count(b"{") + line.count(b"[") <= DEEPEST:
        return False
    signs = np.frombuffer(_STRING.sub(b"", line), dtype=np.uint8)
    opened = ((signs == _OPEN) | (signs == ord("["))).astype(np.int8)
    closed = ((signs == _CLOSE) | (signs == ord("]"))).astype(np.int8)
    return bool(np.any(np.cumsum(opened - closed, dtype=np.int64) > DEEPEST))


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8; the parser checks only the columns that it keeps."""
    ends: Any = np.array([0, len(data)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def parsed_lines(
    block: Block, lines: Lines, source: str, problems: Problems
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of the good lines, each with its index among the lines; the other lines are reported."""
    spans = zip(lines.numbers.tolist(), lines.starts.tolist(), lines.ends.tolist(), strict=True)
    for place, (number, start, end) in enumerate(spans):
        line = block.data[start:end]
        if line.isspace():
            continue
        reason, row = parsed(line)
        if isinstance(row, dict):
            yield place, row
        action = "replaced" if isinstance(row, dict) else "skipped"
        if reason is not None:
            problems.add(source, reason, record=number, offset=block.offset + start, action=action)


def parsed(line: bytes) -> tuple[str | None, Any]:
    """The problem of a line, or None, and its value, or None."""
    reason = None
    if is_deep(line):
        return f"invalid JSON: nested deeper than {DEEPEST} levels", None
    try:
        text = line.decode()
    except UnicodeDecodeError:
        reason, text = "invalid UTF-8", line.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")  # a byte order mark inside: files were concatenated
    try:
        row = json.loads(text, strict=False)  # a raw tab inside a string is no reason to lose a document
    except json.JSONDecodeError as error:
        return f"invalid JSON: {error.msg} at column {error.colno}", None
    except RecursionError:  # of a caller that is itself deep
        return f"invalid JSON: nested deeper than {DEEPEST} levels", None
    except ValueError:  # an integer of more digits than Python converts
        return "invalid JSON: a number is too long", None
    if not isinstance(row, dict):
        return "not a JSON object", None
    if "\\u" in text and any(map(SURROGATE.search, row)):  # a column cannot have such a name
        return reason or "lone surrogate", {clean(name): value for name, value in row.items()}
    return reason, row
