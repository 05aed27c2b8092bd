"""Positions of tokens to bytes: the beginning and the end of each in its document."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers, Texts
from neardup.engines.core.represent import chunk_ranges
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.passages.windows import Pieces
from neardup.sorted_sets import made_distinct
from neardup.text.composed import to_composed
from neardup.text.words import Words, to_nfc, unicode_table
from neardup.workers import ordered_map


class TokenBytes:
    """Where tokens begin and end, in bytes of the spool."""

    def __init__(self, spool: Spool, pieces: Pieces, text: Words, threads: int) -> None:
        self.spool, self.pieces, self.text, self.threads = spool, pieces, text, threads
        self.ends = np.append(pieces.byte[1:], spool.size)  # of the bytes of each piece

    def find(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        """The first byte of the token at each position, and the one behind it."""
        wanted = made_distinct(positions.copy())
        place = self.pieces.of(wanted)
        used = made_distinct(place.copy())
        sizes = self.ends[used] - self.pieces.byte[used]
        bounds = np.zeros((len(wanted), 2), np.int64)
        starts = np.searchsorted(place, np.append(used, len(self.ends)))

        def find_some(part: tuple[int, int]) -> NDArray[np.int64]:
            first, last = part
            rows = slice(int(starts[first]), int(starts[last]))
            return self._bounds(used[first:last], wanted[rows], starts[first : last + 1] - starts[first])

        parts = list(chunk_ranges(sizes))
        for (first, last), found in zip(parts, ordered_map(find_some, parts, self.threads), strict=True):
            bounds[starts[first] : starts[last]] = found
        begins, ends = bounds[np.searchsorted(wanted, positions)].T
        return begins, ends

    def _bounds(self, used: Numbers, positions: Numbers, starts: Numbers) -> NDArray[np.int64]:
        """The bounds of tokens in some pieces; those of the k-th are starts[k] … starts[k + 1]."""
        pieces = self.pieces
        texts = self.spool.read_spans(pieces.byte[used], self.ends[used])
        composed = to_nfc(texts, pieces.changed[used]) if pieces.changed[used].any() else texts
        tokens = self.text.tokenize(composed, True)[0]
        own = np.repeat(np.arange(len(used)), np.diff(starts))
        begins = tokens.positions[tokens.offsets[own] + positions - pieces.position[used][own]].astype(
            np.int64
        )
        table, mode = unicode_table(self.text.tokens)
        bounds = np.empty((len(positions), 2), np.int64)
        kernels.repeats.token_bounds(composed.data, composed.offsets, begins, starts, table, mode, bounds)
        for k in np.flatnonzero(pieces.changed[used]).tolist():
            rows = slice(int(starts[k]), int(starts[k + 1]))
            bounds[rows] = given_bytes(texts.document(k), bounds[rows])
        return bounds + pieces.byte[used][own][:, None]


def given_bytes(text: bytes, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes of a text in NFC as bytes of the text as it was given."""
    segments = list(_segments(text.decode("utf-8", "replace")))
    given = np.cumsum([0, *(len(segment.encode()) for segment in segments)])
    composed = np.cumsum([0, *(len(to_composed(segment).encode()) for segment in segments)])
    begins = given[np.searchsorted(composed, bounds[:, 0], "right") - 1]
    ends = given[np.minimum(np.searchsorted(composed, bounds[:, 1], "left"), len(given) - 1)]
    return np.column_stack([begins, ends])


def _segments(text: str) -> list[str]:
    """The text in parts that are normalised each on its own: a character that may join the one before begins none."""
    table = unicode_table("words")[0]
    not_nfc = kernels.tokens.NOT_NFC
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    joins = (table.pages[table.index[points >> 8], points & 255] & not_nfc) != 0
    joins |= np.array([unicodedata.combining(character) > 0 for character in text], np.bool_)
    starts = np.flatnonzero(~joins)
    edges = np.unique(np.concatenate([[0], starts, [len(text)]]))
    return [text[first:last] for first, last in pairwise(edges.tolist())]


def whole_text(spool: Spool, begins: Numbers, ends: Numbers) -> Texts:
    """The bytes of spans in any order."""
    order = np.argsort(begins, kind="stable")
    found = spool.read_spans(begins[order], ends[order])
    back = np.argsort(order)
    data = np.empty(found.size, np.uint8)
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])
    kernels.digest.gather(found.data, found.offsets[:-1][back], found.offsets[1:][back], data, offsets)
    return Texts(offsets, data)
