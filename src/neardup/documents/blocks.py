"""Files of lines as blocks of whole lines: plain, gzip or zstd, in any Unicode encoding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents.encodings import as_utf8
from neardup.documents.json_array import array_lines
from neardup.documents.limits import LIMITS, Limits, Meter
from neardup.documents.problems import Problems
from neardup.documents.source import BATCH_BYTES
from neardup.documents.stored import open_stored, stored_bytes
from neardup.errors import InputError
from neardup.output import one_line

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_FAILED = (OSError, pa.ArrowException)


def suffix_compression(path: str) -> str | None:
    """The codec of the last suffix: gzip for .gz, zstd for .zst, else None."""
    return COMPRESSIONS.get(Path(path).suffix.lower())


@dataclass(frozen=True)
class Bytes:
    """A file, its compression, and the limits on reading it."""

    name: str
    path: str
    compression: str | None = None
    limits: Limits = LIMITS

    def open(self) -> pa.NativeFile:
        """A stream of the decompressed bytes."""
        return self.open_both()[1]

    def open_both(self) -> tuple[pa.NativeFile, pa.NativeFile]:
        """A stream of the stored bytes, and one of the decompressed bytes that reads from it."""
        try:
            stored = open_stored(self.path)
            return stored, pa.input_stream(stored, compression=self.compression)
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {one_line(error)}") from None

    def stored_bytes(self) -> int:
        """The bytes on disk, 0 if the file no longer exists."""
        return stored_bytes(self.path)


@dataclass(frozen=True)
class FileSource(Bytes):
    """A source that is one file, read from beginning to end."""

    size: int | None = None
    rows: int | None = None
    encoding: str | None = None  # as the user gives it
    array: bool = False  # one JSON array, whose elements are read as lines


@dataclass(frozen=True)
class Block:
    """Whole lines: their bytes, the end of each line, the number of the first one and its byte offset."""

    data: bytes
    ends: Numbers
    line: int
    offset: int


def pieces(where: Bytes, problems: Problems, meter: Meter) -> Iterator[bytes]:
    """The bytes of a file as UTF-8 without a byte order mark, about 4 MB at a time.

    If reading or decompression fails, the bytes before that point are yielded and the failure is reported.
    """
    encoding = getattr(where, "encoding", None)
    found = as_utf8(_decompressed(where, problems, meter), where.name, problems, encoding)
    if getattr(where, "array", False):
        return array_lines(found, where.name, where.limits, problems)
    return found


def _decompressed(where: Bytes, problems: Problems, meter: Meter) -> Iterator[bytes]:
    try:
        stored, stream = where.open_both()
    except InputError as error:
        said = str(error).rpartition("cannot be read: ")[2]
        problems.add(where.name, f"unreadable file: {said}", action="file skipped")
        return
    reason: str | None = None
    with stream:
        while reason is None:
            try:
                piece = read(stream, BATCH_BYTES)
            except _FAILED as error:
                kind = f"damaged {where.compression} data" if where.compression else "read error"
                reason = f"{kind}: {one_line(error)}"
                piece = _salvaged(where, meter.given)
            reason = meter.add(len(piece)) or reason
            meter.stored = stored.tell()
            if not piece:
                break
            yield piece
    if reason is not None:
        problems.add(where.name, reason, offset=meter.given, action="rest of the file skipped")


def read(stream: pa.NativeFile, size: int) -> bytes:
    """The next bytes. Arrow's own `read` leaks the memory of a read that fails."""
    return stream.read_buffer(size).to_pybytes()


def _salvaged(where: Bytes, start: int) -> bytes:
    """The bytes that a failed read had already decoded: less than 4 MB, read again in smaller steps."""
    found = b""
    for step in (1 << 12, 1):
        with suppress(*_FAILED, InputError), where.open() as stream:
            _skip(stream, start + len(found))
            while piece := read(stream, step):
                found += piece
    return found


def _skip(stream: pa.NativeFile, size: int) -> None:
    while size > 0 and (piece := read(stream, min(size, BATCH_BYTES))):
        size -= len(piece)


def newline_of(piece: bytes) -> bytes:
    """The line end of a file with these first bytes: b'\\r' in classic Mac OS files, otherwise b'\\n'."""
    alone = b"\n" not in piece and b"\r" in piece[:-1]  # the last one may be half of b"\r\n"
    return b"\r" if alone else b"\n"


def line_blocks(where: Bytes, problems: Problems) -> Iterator[Block]:
    """Blocks of whole lines of about 4 MB; a longer line is its own block, a line beyond the limit is skipped."""
    meter, limits = Meter(where.limits, where.stored_bytes(), where.compression), where.limits
    line, offset, rest, pending, begun = 1, 0, list[bytes](), 0, 0
    newline, long = b"", None
    for piece in pieces(where, problems, meter):
        newline = newline or newline_of(piece)
        if long is not None:
            end = piece.find(newline) + 1 or len(piece)
            ended = long.ended(piece[:end], newline)
            line, offset, piece, long = line + ended, offset + end, piece[end:], None if ended else long
        cut = piece.rfind(newline) + 1
        if cut:
            limits.refuse_larger(pending + piece.find(newline), where.name)
            block = Block(
                b"".join([*rest, piece[:cut]]), positions(piece[:cut], newline) + pending, line, offset
            )
            yield from _within(block, where, problems)
            line, offset, rest, pending = line + len(block.ends), offset + len(block.data), [], 0
            begun = meter.stored
        rest.append(piece[cut:])
        pending += len(piece) - cut
        if pending > min(longest := meter.longest(begun), limits.memory):
            long = _LongLine(where, problems, longest, line, offset)
            long.ended(b"".join(rest), newline)
            offset, rest, pending = offset + pending, [], 0
    if last := b"".join(rest):
        limits.refuse_larger(len(last), where.name)
        yield Block(last, np.array([len(last)]), line, offset)
    if long is not None:
        long.ended(newline, newline)


class _LongLine:
    """A line that is read over: beyond the limit it is reported, and refused if it is beyond the memory only."""

    def __init__(self, where: Bytes, problems: Problems, longest: int, line: int, offset: int) -> None:
        self._where, self._problems, self._longest = where, problems, longest
        self._line, self._offset, self._size, self._reported = line, offset, 0, False

    def ended(self, part: bytes, newline: bytes) -> bool:
        """Whether the line ends with this part of it."""
        ended = part.endswith(newline)
        self._size += len(part) - ended
        limits, name = self._where.limits, self._where.name
        if self._size > self._longest and not self._reported:
            reason = limits.too_long_for(self._longest)
            self._problems.add(name, reason, record=self._line, offset=self._offset)
            self._reported = True
        if ended and not self._reported:
            limits.refuse_larger(self._size, name)
        return ended


def _within(block: Block, where: Bytes, problems: Problems) -> Iterator[Block]:
    """The lines of a block that are not longer than the limit; the others are reported."""
    limit = where.limits.record
    if len(block.data) <= limit:
        yield block
        return
    starts = np.concatenate([[0], block.ends[:-1] + 1])
    first = 0
    for place in [*np.flatnonzero(block.ends - starts > limit).tolist(), len(starts)]:
        if place > first:
            begin = int(starts[first])
            data, ends = block.data[begin : int(block.ends[place - 1]) + 1], block.ends[first:place] - begin
            yield Block(data, ends, block.line + first, block.offset + begin)
        if place < len(starts):
            offset = block.offset + int(starts[place])
            problems.add(where.name, where.limits.too_long, record=block.line + place, offset=offset)
        first = place + 1


def positions(data: bytes, byte: bytes) -> Numbers:
    """The positions of a byte in the data."""
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord(byte))


def slices(data: bytes, starts: Numbers, ends: Numbers) -> pa.Array[Any]:
    """The spans of the block, in ascending order, as a large_binary array."""
    if len(starts) == 0:
        return pa.array([], pa.large_binary())
    # Spans and the gaps between them alternate over the same buffer; every second one is taken.
    offsets: Any = np.column_stack([starts, ends]).ravel()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    both = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    return both.take(np.arange(0, len(offsets), 2))
