"""Files of lines as blocks of whole lines: plain, gzip or zstd, in any Unicode encoding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents.encodings import as_utf8
from neardup.documents.limits import LIMITS, Limits, Meter
from neardup.documents.problems import Problems
from neardup.documents.source import BATCH_BYTES
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
            stored = pa.OSFile(os.fsencode(self.path))
            return stored, pa.input_stream(stored, compression=self.compression)
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {one_line(error)}") from None

    def stored_bytes(self) -> int:
        """The bytes on disk, 0 if the file no longer exists."""
        with suppress(OSError):
            return Path(self.path).stat().st_size
        return 0


@dataclass(frozen=True)
class FileSource(Bytes):
    """A source that is one file, read from beginning to end."""

    size: int | None = None
    rows: int | None = None


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
    return as_utf8(_decompressed(where, problems, meter), where.name, problems)


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
    meter = Meter(where.limits, where.stored_bytes(), where.compression)
    line, offset, rest, pending, begun = 1, 0, list[bytes](), 0, 0
    newline, skipping = b"", False
    for piece in pieces(where, problems, meter):
        newline = newline or newline_of(piece)
        if skipping:
            end = piece.find(newline) + 1 or len(piece)
            skipping = not piece[:end].endswith(newline)
            line, offset, piece = line + (not skipping), offset + end, piece[end:]
        cut = piece.rfind(newline) + 1
        if cut:
            data = b"".join([*rest, piece[:cut]])
            ends = positions(data, newline)
            yield Block(data, ends, line, offset)
            line, offset, rest, pending = line + len(ends), offset + len(data), [], 0
            begun = meter.stored
        rest.append(piece[cut:])
        pending += len(piece) - cut
        if pending > (longest := meter.longest(begun)):
            problems.add(where.name, where.limits.too_long_for(longest), record=line, offset=offset)
            offset, rest, pending, skipping = offset + pending, [], 0, True
    if last := b"".join(rest):
        yield Block(last, np.array([len(last)]), line, offset)


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
