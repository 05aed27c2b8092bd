"""Files of web servers: ranges by HTTP, without any further package.

A server without ranges is asked for the whole file once; it goes to the temporary folder, not to memory.
"""

from __future__ import annotations

import atexit
import http.client
import re
import tempfile
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from neardup.escapes import escape_controls
from neardup.remote.retries import Final, one_line
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
                size = _whole_size(answer)
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
    announced = answer.length  # None where the server does not say
    with tempfile.NamedTemporaryFile(prefix="neardup-web-", delete=False) as file:
        atexit.register(Path(file.name).unlink, missing_ok=True)
        try:
            while piece := answer.read(_PIECE):
                file.write(piece)
        except http.client.HTTPException as error:
            raise _cut(error) from None
        if announced not in (None, file.tell()):  # which Python's client takes for the end
            raise OSError(f"the connection was cut after {file.tell():,} of {announced:,} bytes")
    return Path(file.name)


def _whole_size(answer: Any) -> int:
    """The size of a file of which the server has sent a range."""
    found = re.fullmatch(r"bytes \d+-\d+/(\d{1,18})", answer.headers.get("Content-Range", ""), re.ASCII)
    if found is None:
        raise Final("the server does not say how long the file is (Content-Range)")
    return int(found[1])


class _SameWeb(urllib.request.HTTPRedirectHandler):
    """Follows a server to other places of the web, and to no other scheme."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise Final(f"the server names another place, {urlsplit(newurl).scheme}:, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _answer(address: str, start: int, size: int) -> Any:
    """The answer to a request for a range; an OSError says why the server has none."""
    headers = {**_HEADERS, "Range": f"bytes={start}-{start + size - 1}"}
    try:
        opener = urllib.request.build_opener(_SameWeb)
        answer = opener.open(urllib.request.Request(address, headers=headers), timeout=TIMEOUT)
        packed = answer.headers.get("Content-Encoding", "identity").lower()
        if packed != "identity" and not urlsplit(address).path.endswith((".gz", ".zst")):
            answer.close()
            raise Final(f"the server packs the file ({packed[:20]}), which was not asked for")
        return answer
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
        said = escape_controls(one_line(OSError(f"the server answers {error.code} {error.reason}".rstrip())))
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
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
