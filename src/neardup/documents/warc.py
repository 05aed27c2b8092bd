"""Web archives: the pages of WARC files, one document a response, with address and date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from io import SEEK_END, BytesIO
from typing import IO, Any

from neardup.documents.blocks import FileSource
from neardup.documents.limits import Limits, Meter
from neardup.documents.problems import Problems
from neardup.documents.source import BATCH_BYTES, Batches, StringColumns, string_batches
from neardup.documents.stored import open_binary
from neardup.documents.values import clean
from neardup.errors import MissingExtra
from neardup.output import reason
from neardup.text.encoding import encoding_named, page_bytes, seeming_utf8

STARTS = {"gzip": b"\x1f\x8b\x08", None: b"WARC/1."}  # how a record begins
_PIECE = 1 << 20
_NEAR = 1 << 12  # bytes that are searched first for the next record: of short ones there may be millions
READABLE = ("text/", "application/xhtml", "application/xml")


@dataclass(frozen=True)
class WarcSource(StringColumns, FileSource):
    """A .warc or .warc.gz file: responses, resources and conversions that hold text.

    A record that cannot be read is reported, and reading continues with the next record found.
    """

    format: str = "warc"
    column_names = ("id", "url", "date", "html", "type")

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of pages."""
        names = frozenset(self.column_names if columns is None else columns)
        pages = enumerate(self._pages(problems, names), start=1)
        rows = (page | {"number": number} for number, page in pages)
        return string_batches(self, rows, "html", columns, page_bytes)

    def _pages(self, problems: Problems, names: AbstractSet[str]) -> Iterator[dict[str, Any]]:
        """The named columns, and always the page, of all records that can be read."""
        try:
            file = open_binary(self.path)
        except OSError as error:
            problems.add(self.name, f"unreadable file: {reason(error)}", action="file skipped")
            return
        meter = Meter(self.limits, self.stored_bytes())
        with file:
            data, start, broken = _FileBytes(file), 0, -1
            while start < len(data):
                last = -1  # the offset of the last record that was read
                try:
                    for last, page in self._records(data, start, names):
                        if page is None:
                            continue
                        yield page
                        if (stop := meter.add(len(page["html"]))) is not None:
                            problems.add(self.name, stop, offset=last, action="rest of the file skipped")
                            return
                    return
                except _Broken as error:
                    # The start of the first record not yet read, as far as known.
                    done = start if last < 0 else self._next(data, last + 1)
                    if done > broken:  # the search for the next record may try many offsets for one
                        problems.add(self.name, f"broken record: {error}", offset=done)
                    start = done if done > start else self._next(data, done + 1)
                    broken = start

    def _next(self, data: Any, start: int) -> int:
        """The next offset that looks like the start of a record."""
        return data.find(STARTS[self.compression], start)

    def _records(
        self, data: Any, start: int, names: AbstractSet[str]
    ) -> Iterator[tuple[int, dict[str, Any] | None]]:
        """The offset of each record from `start` on, and its page."""
        types, iterate = _tools()
        window = _Window(data, start)
        records = iterate(window, record_types=types, parse_http=True, auto_decode="all")
        while True:
            try:
                record = next(records, None)
                if record is None:
                    return
                offset = start + record.stream_pos
                if self.compression is None and offset + record.content_length > len(data):
                    raise OSError("it is longer than the file")
                page = _page(record, names, self.limits, lambda: window.tell() - record.stream_pos)  # noqa: B023
            except (OSError, ValueError, RuntimeError) as error:
                raise _Broken(" ".join(str(error).split())[:160]) from None
            yield offset, page


class _Broken(OSError):
    """A record that cannot be read."""


class _FileBytes:
    """The bytes of a file; no memory map, because a file that shrinks would kill the process."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._size = file, file.seek(0, SEEK_END)

    def __len__(self) -> int:
        return self._size

    def read(self, start: int, size: int) -> bytes:
        """Some of the bytes."""
        self._file.seek(start)
        return self._file.read(size)

    def find(self, pattern: bytes, start: int) -> int:
        """The next offset of the pattern, or the end of the file."""
        size = _NEAR
        while part := self.read(start, size):
            offset = part.find(pattern)
            if offset >= 0:
                return start + offset
            start += max(1, len(part) - len(pattern) + 1)
            size = min(2 * size, BATCH_BYTES)
        return self._size


class _Window(BytesIO):
    """The bytes of the file from an offset on."""

    def __init__(self, data: _FileBytes, start: int) -> None:
        super().__init__()
        self._data, self._start, self._at = data, start, start

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes."""
        part = self._data.read(self._at, len(self._data) if size is None or size < 0 else size)
        self._at += len(part)
        return part

    def tell(self) -> int:
        """The number of bytes read."""
        return self._at - self._start


def _page(
    record: Any, names: AbstractSet[str], limits: Limits, stored: Callable[[], int]
) -> dict[str, Any] | None:
    """The named columns of a record; None for a record without text or with an HTTP status other than 2xx.

    `stored` gives the bytes of the file that were read for it so far.
    """
    http = record.http_headers
    if http is not None and http.status_code is not None and not 200 <= http.status_code < 300:
        return None
    kind = record.http_content_type if http is not None else record.headers.get("Content-Type", "")
    if kind and not kind.startswith(READABLE):
        return None
    data = _body(record, limits, stored)
    page: dict[str, Any] = {
        "html": _as_page(data, record.http_charset if http is not None else None, kind or "")
    }
    if "id" in names:
        page["id"] = clean((record.record_id or "").strip("<> "))
    if "url" in names:
        page["url"] = clean((record.headers.get("WARC-Target-URI") or "").strip("<> "))
    if "date" in names:
        date = record.record_date
        page["date"] = "" if date is None else date.isoformat()
    if "type" in names:
        page["type"] = clean(kind or "")
    return page


def _body(record: Any, limits: Limits, stored: Callable[[], int]) -> bytes:
    """The bytes of a record, decompressed piece by piece: a small record may hold gigabytes."""
    where = (record.record_id or "").strip("<> ")[:60]
    if record.content_length > limits.record:
        raise ValueError(f"{where}: {limits.too_long}")
    limits.refuse_larger(record.content_length, where)
    found, size = [], 0
    while piece := record.reader.read(_PIECE):
        found.append(piece)
        size += len(piece)
        if size > (longest := limits.longest(min(stored(), record.content_length))):
            raise ValueError(f"{where}: {limits.too_long_for(longest)}")
        limits.refuse_larger(size, where)
    return b"".join(found)


def _as_page(data: bytes, charset: str | None, kind: str) -> bytes:
    """The record as HTML in UTF-8, if it is as valid as it seems; `page_bytes` gives what stands for it if it is not.

    Plain text, in which '<' and line ends are text, goes into <pre>.
    """
    if kind.startswith("text/plain"):
        return f"<pre>{escape(_decoded(data, charset), quote=False)}</pre>".encode()
    encoding = encoding_named(charset) if charset else ""
    if encoding == "utf-8" and b"\0" not in data:
        return data
    return _decoded(data, charset).encode() if encoding else seeming_utf8(data)


def _decoded(data: bytes, charset: str | None) -> str:
    """The page as text: by the charset of the server if it decodes, else by that of the page."""
    if charset and (encoding := encoding_named(charset)):
        with suppress(UnicodeError):
            return clean(data.decode(encoding).replace("\0", "\ufffd"))
    return page_bytes(data).decode("utf-8", "replace")


def _tools() -> tuple[Any, Any]:
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType
    except ImportError:
        raise MissingExtra("fastwarc", "warc", "Reading WARC files") from None
    return WarcRecordType.response | WarcRecordType.resource | WarcRecordType.conversion, ArchiveIterator
