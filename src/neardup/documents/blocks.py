"""Files of lines as blocks of whole lines: plain, gzip or zstd, UTF-8 or UTF-16."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.documents.source import BATCH_BYTES, Problems
from neardup.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Block", "Bytes", "line_blocks", "one_line", "pieces", "places", "slices", "suffix_compression"]

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_BOM = b"\xef\xbb\xbf"


def suffix_compression(path: str) -> str | None:
    """The codec that the last suffix of the name stands for."""
    return COMPRESSIONS.get(Path(path).suffix.lower())


@dataclass(frozen=True)
class Bytes:
    """Where the bytes of a source come from."""

    name: str
    path: str
    compression: str | None = None

    def open(self) -> pa.NativeFile:
        """A stream of the decompressed bytes."""
        try:
            return pa.input_stream(pa.OSFile(os.fsencode(self.path)), compression=self.compression)
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {one_line(error)}") from None


@dataclass(frozen=True)
class Block:
    """Whole lines: the bytes, where each line ends, the first line's number, and its place in the stream."""

    data: bytes
    ends: NDArray[np.int64]
    line: int
    offset: int


def pieces(where: Bytes, problems: Problems) -> Iterator[bytes]:
    """The bytes of a file as UTF-8 without a byte order mark, about 4 MB at a time.

    Where decompression fails the bytes before that point are given, and the failure is reported.
    """
    with where.open() as stream:
        first = _some(stream, where, problems)
        encoding = _UTF16.get(first[:2])
        if encoding is not None:
            yield from _transcoded(stream, first[2:], encoding, where, problems)
            return
        piece = first.removeprefix(_UTF8_BOM)
        while piece:
            yield piece
            piece = _some(stream, where, problems)


def _some(stream: pa.NativeFile, where: Bytes, problems: Problems) -> bytes:
    try:
        return stream.read(BATCH_BYTES)
    except (OSError, pa.ArrowException) as error:
        kind = f"damaged {where.compression} data" if where.compression else "read error"
        problems.add(where.name, f"{kind}: {one_line(error)}", action="rest of the file skipped")
        return b""


def _transcoded(
    stream: pa.NativeFile, first: bytes, encoding: str, where: Bytes, problems: Problems
) -> Iterator[bytes]:
    import codecs

    decoder = codecs.getincrementaldecoder(encoding)("replace")
    piece, last = first, False
    while not last:
        last = not piece
        text = decoder.decode(piece, final=last)
        if "\ufffd" in text:
            problems.add(where.name, f"invalid {encoding.upper()}", action="replaced")
        if text:
            yield text.encode("utf-8", "replace")
        piece = b"" if last else _some(stream, where, problems)


def line_blocks(where: Bytes, problems: Problems) -> Iterator[Block]:
    """Blocks of whole lines of about 4 MB, cut at b'\\n' only; a longer line is a block of its own."""
    line, offset, rest = 1, 0, [b""]
    for piece in pieces(where, problems):
        cut = piece.rfind(b"\n") + 1
        if cut == 0:
            rest.append(piece)
            continue
        data = b"".join([*rest, piece[:cut]])
        ends = places(data, b"\n")
        yield Block(data, ends, line, offset)
        line, offset, rest = line + len(ends), offset + len(data), [piece[cut:]]
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
