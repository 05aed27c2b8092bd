"""Texts to windows: the hash and the position of every N tokens in a row, on disk, divided by hash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers, Texts, Tokens
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.passages.records import DividedRecords
from neardup.text.words import Words, to_nfc
from neardup.workers import ordered_map

CHUNK = 4 << 20  # bytes of text that make a block of records
PIECE = 8 << 20  # a larger document is read in pieces of about so many bytes
BITS = 8  # of a hash that say which part of a block it is in
BLANKS = (32, 10)  # behind which a document can be cut
AHEAD = 2  # blocks that wait in memory


@dataclass(frozen=True)
class SpoolPiece:
    """Bytes of the spool that are read in one go: whole documents first … last − 1, or a part of one."""

    first: int
    last: int
    begin: int
    end: int


@dataclass(frozen=True)
class Pieces:
    """Where the tokens of each piece of a document are: a document has one piece, unless it is very large."""

    document: Numbers
    byte: Numbers  # where it begins in the spool
    position: Numbers  # of its first token
    tokens: Numbers  # how many
    changed: NDArray[np.bool_]  # whether it is not in NFC

    def of(self, positions: Numbers) -> Numbers:
        """The piece of each position."""
        return np.searchsorted(self.position, positions, "right") - 1

    def documents_of(self, positions: Numbers) -> Numbers:
        """The document of each position."""
        return self.document[self.of(positions)]


def find_windows(
    work: Workspace, width: int, text: Words, progress: Progress, threads: int
) -> tuple[DividedRecords, Pieces]:
    """All windows of the spooled texts; those that an earlier run has made are read from its work folder."""
    rows, blocks = work.rows("pieces"), work.rows("windows")
    path = None if work.path is None else work.path / "windows.part"
    records = DividedRecords(path, work.folder, np.uint64)
    if "windows" in work.state:
        records.restore(_bounds(blocks), work.state["windows"])
    position = work.state.get("position", 0)
    pieces = list(_pieces(work.spool))
    done = len(records.bounds)

    def made(piece: SpoolPiece) -> _Block:
        return _block(work.spool, piece, width, text)

    def state() -> dict[str, Any]:
        return {"windows": records.sync(), "position": position}

    with progress.stage("windows", len(pieces)):
        progress.advance(done)
        for block in ordered_map(made, pieces[done:], threads, ahead=AHEAD):
            block.records[:, 1] += np.uint64(position)
            records.add(block.records, block.bounds)
            blocks.add(pa.record_batch({"bound": pa.array(records.bounds[-1])}))
            rows.add(pa.record_batch(block.columns | {"position": block.positions + position}))
            position += block.size
            progress.advance(1)
            work.checkpoint(state)
        work.checkpoint(state, ended=True)
    columns = [rows.numbers(name) for name in ("document", "byte", "position", "tokens", "changed")]
    return records, Pieces(*columns)


def _bounds(blocks: Any) -> list[NDArray[np.int64]]:
    return list(blocks.numbers("bound").reshape(-1, (1 << BITS) + 1)) if len(blocks) else []


def _pieces(spool: Spool) -> Iterator[SpoolPiece]:
    """All texts in order: documents together up to a chunk, larger ones alone, the largest cut behind blanks."""
    offsets = spool.offsets
    first, n = 0, len(offsets) - 1
    while first < n:
        last = max(int(np.searchsorted(offsets, offsets[first] + CHUNK, "right")) - 1, first + 1)
        begin, end = int(offsets[first]), int(offsets[last])
        if end - begin <= PIECE:
            yield SpoolPiece(first, last, begin, end)
        else:
            while begin < end:
                cut = _cut(spool, begin, end)
                yield SpoolPiece(first, last, begin, cut)
                begin = cut
        first = last


def _cut(spool: Spool, begin: int, end: int) -> int:
    """Where to end a piece of a document: behind the last blank within it, or behind the first one after it."""
    if end - begin <= PIECE:
        return end
    at = begin + PIECE
    low = max(begin, at - (1 << 16))
    blanks = np.flatnonzero(np.isin(spool.read_bytes(low, at), BLANKS))
    if len(blanks):
        return low + int(blanks[-1]) + 1
    while at < end:
        stop = min(at + PIECE, end)
        blanks = np.flatnonzero(np.isin(spool.read_bytes(at, stop), BLANKS))
        if len(blanks):
            return at + int(blanks[0]) + 1
        at = stop
    return end


@dataclass
class _Block:
    """The windows of a piece, divided, by positions from 0; and what is remembered of its documents."""

    records: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    columns: dict[str, Any]
    positions: Numbers
    size: int  # the positions that it takes


def _block(spool: Spool, piece: SpoolPiece, width: int, text: Words) -> _Block:
    texts, tokens = tokens_of(spool, piece, text, details=False)
    documents = np.arange(piece.first, piece.last)
    counts = np.diff(tokens.offsets)
    whole = piece.end == int(spool.offsets[piece.last])
    positions = np.concatenate([[0], np.cumsum(counts + 1)])
    hashes = tokens
    if not whole:  # the windows that begin here end in the next piece
        following = _following(spool, piece, width - 1, text)
        joined = np.concatenate([tokens.hashes, following])
        hashes = Tokens(np.array([0, len(joined)]), joined, tokens.positions, tokens.marks)
    room = max(0, len(hashes.hashes))
    found, divided = np.empty((room, 2), np.uint64), np.empty((room, 2), np.uint64)
    kernel = kernels.repeats
    total = kernel.hash_windows(hashes.hashes, hashes.offsets, positions[:-1], width, found)
    if not whole:
        total = min(total, int(counts[0]))
    bounds = kernel.divide(found[:total], BITS, divided)
    columns = {
        "document": documents,
        "byte": np.maximum(spool.offsets[documents], piece.begin),
        "tokens": counts,
        "changed": texts,
    }
    return _Block(divided[:total], bounds, columns, positions[:-1], int(positions[-1]) - (not whole))


def tokens_of(
    spool: Spool, piece: SpoolPiece, text: Words, details: bool
) -> tuple[NDArray[np.bool_], Tokens]:
    """The tokens of a piece, and which of its texts are not in NFC."""
    texts = piece_texts(spool, piece)
    tokens, risky = text.tokenize(texts, details)
    changed = np.zeros(len(texts), np.bool_)
    if risky.any() and (composed := to_nfc(texts, risky)) is not texts:
        tokens = text.tokenize(composed, details)[0]
        changed[risky] = [texts.document(n) != composed.document(n) for n in np.flatnonzero(risky).tolist()]
    return changed, tokens


def piece_texts(spool: Spool, piece: SpoolPiece) -> Texts:
    """The texts of a piece."""
    offsets = np.clip(spool.offsets[piece.first : piece.last + 1], piece.begin, piece.end)
    return Texts(offsets - piece.begin, spool.read_bytes(piece.begin, piece.end))


def _following(spool: Spool, piece: SpoolPiece, count: int, text: Words) -> NDArray[np.uint64]:
    """The hashes of so many tokens behind a piece of a document, or of all that follow."""
    end, size = int(spool.offsets[piece.last]), 64 * (count + 1)
    while True:
        stop = min(piece.end + size, end)
        data = spool.read_bytes(piece.end, stop)
        if stop < end:
            blanks = np.flatnonzero(np.isin(data, BLANKS))
            data = data[: blanks[-1] + 1] if len(blanks) else data[:0]
        found = text(Texts(np.array([0, len(data)]), data), details=False).hashes
        if stop == end or len(found) >= count:
            return found[:count]
        size *= 4
