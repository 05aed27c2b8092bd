"""Files of web servers: ranges by HTTP, without any further package.

A server without ranges is asked for the whole file once; it goes to the temporary folder, not to memory.
"""

from __future__ import annotations

import atexit
import http.client
import tempfile
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from neardup.remote.retries import Final
from neardup.remote.stores import Status, tag_number

TIMEOUT = 60  # seconds without any byte
_PIECE = 1 << 20
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # a later attempt may succeed
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "neardup"}


class WebStore:
    """Objects of http:// and https://."""

    def __init__(self) -> None:
        self._copies: dict[tuple[str, int], Path] = {}  # of files whose server has no ranges, in each state

    def status(self, address: str) -> Status | None:
        """Size, and entity tag or time of change, from a request for the first byte."""
        with _answer(address, 0, 1) as answer:
            if answer.status == 206:
                size = int(answer.headers["Content-Range"].rpartition("/")[2])
            elif answer.status == 416:
                size = 0
            else:
                size = self._copied(address, answer)
            return Status(size, _changed(answer))

    def _copied(self, address: str, answer: Any) -> int:
        """The size of the temporary copy of a file whose server has no ranges; it is made once for each state."""
        key = address, _changed(answer)
        if key not in self._copies:
            self._copies[key] = _copy(answer)
        return self._copies[key].stat().st_size

    def read(self, address: str, start: int, size: int, known: Status) -> bytes:
        """A range; an error if the file is not what it was any more."""
        copy = self._copies.get((address, known.changed))
        if copy is not None:
            with copy.open("rb") as file:
                file.seek(start)
                return file.read(size)
        with _answer(address, start, size) as answer:
            if answer.status != 206 or known.changed != _changed(answer):
                raise Final("it changed while it was read")
            try:
                found: bytes = answer.read(size)
            except http.client.HTTPException as error:
                raise _cut(error) from None
        return found

    def list(self, folder: str) -> dict[str, Status]:
        """Refused: a web server has no list."""
        raise Final("a web server lists no files: give the address of each file")

    def upload(self, path: Path, address: str) -> None:
        """Refused: a web server takes no files."""
        raise Final("a web server takes no files: write to a folder, or to an object store")

    def delete(self, address: str) -> None:
        """Refused: a web server takes no files."""
        raise Final("a web server takes no files: write to a folder, or to an object store")


def _copy(answer: Any) -> Path:
    """A temporary file with what a server sends; removed when the process ends."""
    with tempfile.NamedTemporaryFile(prefix="neardup-web-", delete=False) as file:
        atexit.register(Path(file.name).unlink, missing_ok=True)
        try:
            while piece := answer.read(_PIECE):
                file.write(piece)
        except http.client.HTTPException as error:
            raise _cut(error) from None
    return Path(file.name)


def _answer(address: str, start: int, size: int) -> Any:
    """The answer to a request for a range; an OSError says why the server has none."""
    headers = {**_HEADERS, "Range": f"bytes={start}-{start + size - 1}"}
    try:
        return urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            return error
        raise _refused(error) from None
    except urllib.error.URLError as error:
        host = urlsplit(address).hostname
        raise OSError(
            f"{host} cannot be reached: {getattr(error.reason, 'strerror', None) or error.reason}"
        ) from None
    except http.client.InvalidURL as error:
        raise Final(f"the address cannot be used: {error}") from None
    except http.client.HTTPException as error:
        raise _cut(error) from None
    except ValueError as error:
        raise Final(f"the address cannot be used: {error}") from None


def _refused(error: urllib.error.HTTPError) -> OSError:
    with error:
        said = f"the server answers {error.code} {error.reason}".rstrip()
    if error.code in (404, 410):
        return FileNotFoundError(f"it does not exist: {said}")
    if error.code in (401, 403, 407):
        return PermissionError(f"access is refused: {said}")
    return OSError(said) if error.code in _PASSING else Final(said)


def _cut(error: http.client.HTTPException) -> OSError:
    if isinstance(error, http.client.IncompleteRead):
        return OSError(f"the connection was cut after {len(error.partial):,} bytes")
    return OSError("the connection was cut")


def _changed(answer: Any) -> int:
    """The entity tag as a number, else the time of change, else 0."""
    tag, modified = answer.headers.get("ETag"), answer.headers.get("Last-Modified")
    if tag:
        return tag_number(tag)
    try:
        return int(parsedate_to_datetime(modified).timestamp() * 1e9) if modified else 0
    except (ValueError, TypeError):
        return 0
