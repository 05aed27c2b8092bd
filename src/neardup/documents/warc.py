"""Web archives: the pages of WARC files, one document a response, with address and date."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents.source import BATCH_BYTES, BATCH_ROWS, Batch, Problems
from neardup.documents.textfiles import picked
from neardup.errors import InputError, MissingExtra
from neardup.text.encoding import page_bytes

__all__ = ["WarcSource"]

COLUMNS = ("id", "url", "date", "html", "type")
STARTS = {"gzip": b"\x1f\x8b\x08", None: b"WARC/1."}  # how a record begins
READABLE = ("text/", "application/xhtml", "application/xml")


@dataclass(frozen=True)
class WarcSource:
    """A .warc or .warc.gz file: responses, resources and conversions that hold text.

    A record that cannot be read is counted, and reading goes on with the next one that can be found.
    """

    name: str
    path: str
    compression: str | None = None
    size: int | None = None
    format: str = "warc"
    rows: int | None = None

    def names(self) -> list[str]:
        """Record id, address, date, page, content type."""
        return list(COLUMNS)

    def schema(self) -> pa.Schema:
        """All as strings."""
        return pa.schema([(name, pa.string()) for name in COLUMNS])

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """Batches of pages."""
        found: list[dict[str, Any]] = []
        size = 0
        for number, page in enumerate(self._pages(problems), start=1):
            found.append(page | {"number": number})
            size += len(page["html"])
            if size >= BATCH_BYTES or len(found) >= BATCH_ROWS:
                yield self._batch(found, columns)
                found, size = [], 0
        if found:
            yield self._batch(found, columns)

    def _batch(self, found: list[dict[str, Any]], columns: Sequence[str] | None) -> Batch:
        arrays = {name: pa.array([row[name] for row in found], pa.string()) for name in COLUMNS}
        numbers = np.array([row["number"] for row in found], dtype=np.int64)
        return Batch(self.name, numbers, picked(arrays, columns, len(found)), None, self.format)

    def _pages(self, problems: Problems) -> Iterator[dict[str, str]]:
        """The pages of all records that can be read."""
        try:
            file = Path(self.path).open("rb")  # noqa: SIM115 - closed below
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror}") from None
        with file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            start, broken = 0, -1
            while start < len(data):
                done = start  # where the first record that was not read begins, as far as is known
                try:
                    for place, page in self._records(data, start):
                        done = self._next(data, place + 1)
                        if page is not None:
                            yield page
                    return
                except _Broken as error:
                    if done > broken:  # looking for the next record, many places may be tried for one
                        problems.add(self.name, f"broken record: {error}", offset=done)
                    start = done if done > start else self._next(data, done + 1)
                    broken = start

    def _next(self, data: Any, start: int) -> int:
        """Where the next record begins, or seems to."""
        found: int = data.find(STARTS[self.compression], start)
        return len(data) if found < 0 else found

    def _records(self, data: Any, start: int) -> Iterator[tuple[int, dict[str, str] | None]]:
        """The place of each record from one on, and the page that it holds."""
        kinds, iterate = _tools()
        records = iterate(_Window(data, start), record_types=kinds, parse_http=True, auto_decode="all")
        while True:
            try:
                record = next(records, None)
                if record is None:
                    return
                place = start + record.stream_pos
                if self.compression is None and place + record.content_length > len(data):
                    raise OSError("it is longer than the file")
                page = _page(record)
            except (OSError, ValueError, RuntimeError) as error:
                raise _Broken(" ".join(str(error).split())[:100]) from None
            yield place, page


class _Broken(OSError):
    """A record that cannot be read."""


class _Window(BytesIO):
    """Mapped bytes from a place on, read without copying the file."""

    def __init__(self, data: Any, start: int) -> None:
        super().__init__()
        self._data, self._start, self._at = data, start, start

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes."""
        end = len(self._data) if size is None or size < 0 else min(len(self._data), self._at + size)
        part: bytes = self._data[self._at : end]
        self._at = end
        return part

    def tell(self) -> int:
        """How far was read."""
        return self._at - self._start


def _page(record: Any) -> dict[str, str] | None:
    """What is kept of a record; None for one that holds no text, or no page that was found."""
    http = record.http_headers
    if http is not None and http.status_code is not None and not 200 <= http.status_code < 300:
        return None
    kind = record.http_content_type if http is not None else record.headers.get("Content-Type", "")
    if kind and not kind.startswith(READABLE):
        return None
    charset = record.http_charset if http is not None else None
    body = _decoded(record.reader.read(), charset)
    date = record.record_date
    return {
        "id": (record.record_id or "").strip("<> "),
        "url": (record.headers.get("WARC-Target-URI") or "").strip("<> "),
        "date": "" if date is None else date.isoformat(),
        "html": body,
        "type": kind or "",
    }


def _decoded(data: bytes, charset: str | None) -> str:
    """The page as text: as the server says if that fits, else as the page says."""
    if charset:
        try:
            return data.decode(charset).replace("\0", "\ufffd")
        except (LookupError, UnicodeError):
            pass
    return page_bytes(data).decode("utf-8", "replace")


def _tools() -> tuple[Any, Any]:
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType
    except ImportError:
        raise MissingExtra("fastwarc", "warc", "Reading WARC files") from None
    return WarcRecordType.response | WarcRecordType.resource | WarcRecordType.conversion, ArchiveIterator
