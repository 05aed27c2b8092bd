"""Batches whose texts are read when they are written, and the pages of parquet that they become.

A page is filled from where the texts lie and compressed while it is in the processor's cache. Arrow's writer takes an
array instead, which would have to be filled first, and copies it to a page: a third of the time of the codec.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.columns import Numbers, Texts
from neardup.documents.footers import I32, STRUCT, Fields, write_struct, write_varint
from neardup.documents.source import Batch
from neardup.errors import OutputError

PAGE_BYTES = 1 << 19
PAGE_ROWS = 20_000
LARGEST_PAGE = (1 << 31) - 1
PLAIN, RLE = 0, 3  # encodings
LENGTH = 4  # bytes of the length before each text
# Of PageHeader: type (0, a data page), sizes, and of its DataPageHeader: values and three encodings.
TYPE, UNCOMPRESSED, COMPRESSED, DATA_PAGE = 1, 2, 3, 5


class TextStore(Protocol):
    """Texts by number."""

    @property
    def offsets(self) -> Numbers:
        """Where each text begins, and where the last one ends."""

    def read(self, numbers: Numbers) -> Texts:
        """Some texts, given in ascending order."""

    def fill(self, numbers: Numbers, data: NDArray[np.uint8], places: Numbers) -> None:
        """Copy texts to places in an array."""


class LateBatch(Batch):
    """Rows without their texts, which are read when rows are chosen, in the thread that chooses them."""

    def __init__(self, rest: Batch, field: pa.Field[Any], place: int, store: TextStore, first: int) -> None:
        """The other columns; the place of the texts among the columns, and of the first text in the store."""
        self.__dict__.update(source=rest.source, numbers=rest.numbers, raw=None, format=rest.format)
        self.__dict__.update(rest=rest, field=field, store=store, _place=place, _first=first)

    @property
    def columns(self) -> pa.RecordBatch:  # type: ignore[override]
        """All columns."""
        return self.chosen(None)

    @property
    def nbytes(self) -> int:
        """The bytes of all columns in memory."""
        begin, end = self.store.offsets[[self._first, self._first + len(self)]]
        return int(self.rest.nbytes) + int(end - begin)

    def places(self, rows: Numbers | None) -> Numbers:
        """The numbers of the texts of some rows (None: of all) in the store."""
        return self._first + (np.arange(len(self)) if rows is None else rows)

    def chosen(self, rows: Numbers | None) -> pa.RecordBatch:
        """The columns of some rows (None: of all)."""
        texts = self.store.read(self.places(rows)).to_arrow(self.field.type)
        return self.rest.chosen(rows).add_column(self._place, self.field, texts)

    def without_texts(self, rows: Numbers | None) -> pa.RecordBatch:
        """The columns of some rows, with as many nulls or empty texts as there are texts."""
        rest, kind = self.rest.chosen(rows), self.field.type
        some = pa.nulls(len(rest), kind) if self.field.nullable else pa.repeat(pa.scalar("", kind), len(rest))
        return rest.add_column(self._place, self.field, some)


@dataclass(frozen=True)
class LateColumn:
    """The texts of a row group, as a column chunk to be."""

    name: str
    optional: bool
    store: TextStore
    numbers: Numbers
    codec: tuple[str, int | None]  # its name and level

    def encoded(self) -> tuple[list[Any], int, int]:
        """The bytes of all pages in parts, their size before compression, and how many pages these are."""
        name, level = self.codec
        codec = None if name in ("none", "uncompressed") else pa.Codec(name, compression_level=level)
        parts, whole, pages = [], 0, 0
        sizes = self.store.offsets[self.numbers + 1] - self.store.offsets[self.numbers]
        for start, stop in page_ranges(sizes + LENGTH):
            page = self._page(self.numbers[start:stop], sizes[start:stop])
            body = page if codec is None else codec.compress(page)
            header = page_header(len(page), memoryview(body).nbytes, stop - start)
            parts += [header, body]
            whole, pages = whole + len(header) + len(page), pages + 1
        return parts, whole, pages

    def _page(self, numbers: Numbers, sizes: Numbers) -> NDArray[np.uint8]:
        """The values of a page: each text behind its length, and that none is null before them all."""
        levels = definition_levels(len(numbers)) if self.optional else b""
        places = len(levels) + np.cumsum(sizes + LENGTH) - sizes
        page = np.empty(int(places[-1] + sizes[-1]), np.uint8)
        page[: len(levels)] = np.frombuffer(levels, np.uint8)
        lengths = sizes.astype("<u4").view(np.uint8).reshape(-1, LENGTH)
        page[places[:, None] + np.arange(-LENGTH, 0)] = lengths
        self.store.fill(numbers, page, places)
        return page


def page_ranges(sizes: Numbers) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive values that fit into a page; a larger one has a page of its own."""
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        room = PAGE_BYTES + (int(ends[start - 1]) if start else 0)
        stop = max(start + 1, min(start + PAGE_ROWS, int(np.searchsorted(ends, room, "right"))))
        if stop == start + 1 and int(sizes[start]) >= LARGEST_PAGE - 16:
            raise OutputError(
                f"a text of {sizes[start]:,} bytes is too long for a page of parquet: write jsonl"
            )
        yield start, stop
        start = stop


def definition_levels(values: int) -> bytes:
    """That so many values are there: one run of ones."""
    run = write_varint(values << 1) + b"\1"
    return struct.pack("<I", len(run)) + run


def page_header(size: int, compressed: int, values: int) -> bytes:
    """The header of a data page."""
    data: Fields = {1: (I32, values), 2: (I32, PLAIN), 3: (I32, RLE), 4: (I32, RLE)}
    header: Fields = {TYPE: (I32, 0), UNCOMPRESSED: (I32, size), COMPRESSED: (I32, compressed)}
    return write_struct(header | {DATA_PAGE: (STRUCT, data)})
