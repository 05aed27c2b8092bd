"""Files of lines as blocks of whole lines: plain, gzip or zstd, in any Unicode encoding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.documents.encodings import as_utf8
from neardup.documents.limits import LIMITS, Limits, Meter
from neardup.documents.problems import Problems
from neardup.documents.source import BATCH_BYTES
from neardup.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Block",
    "Bytes",
    "line_blocks",
    "newline_of",
    "one_line",
    "pieces",
    "places",
    "read",
    "slices",
    "suffix_compression",
]

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_FAILED = (OSError, pa.ArrowException)


def suffix_compression(path: str) -> str | None:
    """The codec that the last suffix of the name stands for."""
    return COMPRESSIONS.get(Path(path).suffix.lower())


@dataclass(frozen=True)
class Bytes:
    """Where the bytes of a source come from."""

    name: str
    path: str
    compression: str | None = None
    limits: Limits = LIMITS

    def open(self) -> pa.NativeFile:
        """A stream of the decompressed bytes."""
        try:
            return pa.input_stream(pa.OSFile(os.fsencode(self.path)), compression=self.compression)
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {one_line(error)}") from None

    def size(self) -> int:
        """The bytes on disk, 0 where the file has gone."""
        with suppress(OSError):
            return Path(self.path).stat().st_size
        return 0


@dataclass(frozen=True)
class Block:
    """Whole lines: the bytes, where each line ends, the first line's number, and its place in the stream."""

    data: bytes
    ends: NDArray[np.int64]
    line: int
    offset: int


def pieces(where: Bytes, problems: Problems) -> Iterator[bytes]:
    """The bytes of a file as UTF-8 without a byte order mark, about 4 MB at a time.

    Where reading or decompression fails the bytes before that point are given, and the failure is reported.
    """
    return as_utf8(_decompressed(where, problems), where.name, problems)


def _decompressed(where: Bytes, problems: Problems) -> Iterator[bytes]:
    try:
        stream = where.open()
    except InputError as error:
        said = str(error).rpartition("cannot be read: ")[2]
        problems.add(where.name, f"unreadable file: {said}", action="file skipped")
        return
    meter = Meter(where.limits, where.size())
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
            if not piece:
                break
            yield piece
    if reason is not None:
        problems.add(where.name, reason, offset=meter.given, action="rest of the file skipped")


def read(stream: pa.NativeFile, size: int) -> bytes:
    """The next bytes. Arrow's own `read` never gives back the memory of a read that fails."""
    return stream.read_buffer(size).to_pybytes()


def _salvaged(where: Bytes, start: int) -> bytes:
    """What a read that failed had decoded already: less than 4 MB, read again in ever smaller steps."""
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
    """What ends the lines of a file that begins so: b'\\r' in files from old machines, otherwise b'\\n'."""
    alone = b"\n" not in piece and b"\r" in piece[:-1]  # the last one may be half of b"\r\n"
    return b"\r" if alone else b"\n"


def line_blocks(where: Bytes, problems: Problems) -> Iterator[Block]:
    """Blocks of whole lines of about 4 MB; a longer line is a block of its own, one beyond the limit skipped."""
    line, offset, rest, held = 1, 0, list[bytes](), 0
    newline, skipping = b"", False
    for piece in pieces(where, problems):
        newline = newline or newline_of(piece)
        if skipping:
            end = piece.find(newline) + 1 or len(piece)
            skipping = not piece[:end].endswith(newline)
            line, offset, piece = line + (not skipping), offset + end, piece[end:]
        cut = piece.rfind(newline) + 1
        if cut:
            data = b"".join([*rest, piece[:cut]])
            ends = places(data, newline)
            yield Block(data, ends, line, offset)
            line, offset, rest, held = line + len(ends), offset + len(data), [], 0
        rest.append(piece[cut:])
        held += len(piece) - cut
        if held > where.limits.record:
            too_long = f"record too long: more than {where.limits.record:,} bytes (--max-record)"
            problems.add(where.name, too_long, record=line, offset=offset)
            offset, rest, held, skipping = offset + held, [], 0, True
    if last := b"".join(rest):
        yield Block(last, np.array([len(last)]), line, offset)


def places(data: bytes, byte: bytes) -> NDArray[np.int64]:
    """Where in the data the byte occurs."""
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord(byte))


def slices(data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> pa.Array[Any]:
    """The stretches of the block, which must follow each other, as a large_binary array."""
    if len(starts) == 0:
        return pa.array([], pa.large_binary())
    # Stretches and the gaps between them alternate over the data as it is; every second one is taken.
    offsets: Any = np.column_stack([starts, ends]).ravel()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    both = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    return both.take(np.arange(0, len(offsets), 2))


def one_line(error: BaseException) -> str:
    """The first line of what the error says."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")
