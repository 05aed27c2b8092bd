"""Messages of the common structure, parsed without the standard library's email package, which is ten times slower.

`quick_fields` gives what that package gives, or None where the structure is not plain: the caller then asks the
package.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from quopri import decodestring

from neardup.text.encoding import encoding_named

LONGEST = 2000  # characters of a header
MOST_PARTS, DEEPEST = 200, 10
_WANTED = (
    "message-id",
    "subject",
    "from",
    "date",
    *(f"content-{one}" for one in ("type", "transfer-encoding", "disposition")),
)
_NAME = re.compile(r"[A-Za-z0-9-]+\Z")
_ADDRESS = r"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*"
_FROM = re.compile(rf"(?:[A-Za-z0-9]+(?: [A-Za-z0-9]+)* <{_ADDRESS}>|{_ADDRESS})\Z")
_ID = re.compile(rf"<{_ADDRESS}>\Z")
_DATE = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?(\d{1,2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4}) "
    r"(\d\d):(\d\d):(\d\d) ([+-])(\d\d)([0-5]\d)\Z"
)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_PARAMETER = re.compile(r'; *([A-Za-z-]+)=(?:"([^"\\]*)"|([A-Za-z0-9_.+-]+)) *')
_KIND = re.compile(r"([A-Za-z]+/[A-Za-z0-9.+-]+) *")
_IDENTITY = ("", "7bit", "8bit", "binary")


class _Odd(Exception):
    """The structure is not plain."""


@dataclass(frozen=True)
class _Part:
    """A message or a part of one: wanted headers, kind of content with its parameters, and body."""

    headers: dict[str, str]
    kind: str
    parameters: dict[str, str]
    body: bytes

    @property
    def coding(self) -> str:
        """The transfer encoding."""
        return self.headers.get("content-transfer-encoding", "").strip().lower()


def quick_fields(
    data: bytes, header: Callable[[str, str], str], visible: Callable[[str], str]
) -> dict[str, str] | None:
    """Id, subject, sender, date and text; None if the structure is not plain.

    `header` gives a header that is not plain as the standard library does, `visible` the text of HTML.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\r" in data or b"\0" in data:
        return None
    try:
        part = _part(data)
        found = next(_bodies(part, "plain", 0), None)
        text = _text(found) if found else visible(_text(next(_bodies(part, "html", 0))))
    except (_Odd, StopIteration, LookupError, UnicodeError, Error):
        return None
    headers = part.headers
    return {
        "id": _plain(headers, "message-id", _ID, header).strip("<> "),
        "subject": _subject(headers, header),
        "from": _plain(headers, "from", _FROM, header),
        "date": _date(headers, header),
        "text": text,
    }


def _part(data: bytes) -> _Part:
    """Headers and body; the headers must be ASCII, one a line or folded."""
    if data.startswith(b"\n"):
        return _Part({}, "text/plain", {}, data[1:])
    head, blank, body = data.partition(b"\n\n")
    if not blank or not head.isascii():
        raise _Odd
    headers = _headers(head.decode("ascii"))
    kind, parameters = _content_type(headers.get("content-type"))
    return _Part(headers, kind, parameters, body)


def _headers(head: str) -> dict[str, str]:
    """The wanted headers, unfolded; of several of one name the first."""
    found: dict[str, str] = {}
    name = ""
    for line in head.split("\n"):
        if line[:1] in (" ", "\t"):
            if not name or not line.strip():
                raise _Odd
            if name in found and name != "?":
                found[name] += line
                if len(found[name]) > LONGEST:  # at once: to go on adding to it would cost quadratic time
                    raise _Odd
            continue
        field, colon, value = line.partition(":")
        if not colon or not _NAME.match(field):
            raise _Odd
        lower = field.lower()
        name = lower if lower in _WANTED and lower not in found else "?"
        if name != "?":
            found[name] = value.lstrip(" \t")
    if any(len(value) > LONGEST or not value.replace("\t", " ").isprintable() for value in found.values()):
        raise _Odd
    return found


def _content_type(value: str | None) -> tuple[str, dict[str, str]]:
    """The kind of content in small letters, and its parameters."""
    if value is None:
        return "text/plain", {}
    value = value.replace("\t", " ").rstrip("; ")
    begin = _KIND.match(value)
    if begin is None:
        raise _Odd
    parameters: dict[str, str] = {}
    at = begin.end()
    while at < len(value):
        found = _PARAMETER.match(value, at)
        if found is None or found[1].lower() in parameters:
            raise _Odd
        parameters[found[1].lower()] = found[3] if found[2] is None else found[2]
        at = found.end()
    return begin[1].lower(), parameters


def _bodies(part: _Part, wanted: str, depth: int) -> Iterator[_Part]:
    """The parts that may be the body, in order; attachments are none."""
    disposition = part.headers.get("content-disposition", "inline").partition(";")[0].strip().lower()
    if disposition not in ("inline", "attachment") or depth > DEEPEST:
        raise _Odd
    main, _, sub = part.kind.partition("/")
    if disposition == "attachment" or (main not in ("text", "multipart") and depth):
        if main in ("message", "multipart"):
            raise _Odd
        return
    if main == "text":
        if sub == wanted:
            yield part
        return
    if main != "multipart" or sub == "digest" or part.coding not in _IDENTITY or "start" in part.parameters:
        raise _Odd
    parts = _parts(part)
    for each in parts[:1] if sub == "related" else parts:
        yield from _bodies(each, wanted, depth + 1)


def _parts(part: _Part) -> list[_Part]:
    """The parts of a multipart body, which must be closed."""
    boundary = part.parameters.get("boundary", "")
    if not boundary or boundary != boundary.strip():
        raise _Odd
    line = b"\n--" + boundary.encode("ascii")
    data = b"\n" + part.body
    at, pieces, last = data.find(line), list[bytes](), -1
    while at >= 0:
        end = at + len(line)
        if last >= 0:
            pieces.append(data[last : max(last, at)])
        if data[end : end + 2] == b"--" and data[end + 2 : end + 3] in (b"\n", b""):
            return [_part(piece) for piece in pieces]
        if data[end : end + 1] != b"\n" or len(pieces) > MOST_PARTS:
            raise _Odd
        last = end + 1
        at = data.find(line, end)
    raise _Odd


def _text(part: _Part) -> str:
    """The decoded text of a part, with \\n for its line ends."""
    coding, data = part.coding, part.body
    if coding == "quoted-printable":
        data = decodestring(data)
    elif coding == "base64":
        data = b64decode(data.replace(b"\n", b""), validate=True)
    elif coding not in _IDENTITY:
        raise _Odd
    encoding = encoding_named(part.parameters.get("charset", "ascii"))
    if not encoding:
        raise _Odd
    return data.decode(encoding, "replace").replace("\r\n", "\n")


def _plain(
    headers: dict[str, str], name: str, plain: re.Pattern[str], header: Callable[[str, str], str]
) -> str:
    value = headers.get(name)
    if value is None:
        return ""
    return value if plain.match(value) else header(name, value)


def _subject(headers: dict[str, str], header: Callable[[str, str], str]) -> str:
    value = headers.get("subject", "")
    return header("subject", value) if "=?" in value else " ".join(value.split())


def _date(headers: dict[str, str], header: Callable[[str, str], str]) -> str:
    """In ISO 8601."""
    value = headers.get("date")
    if value is None:
        return ""
    found = _DATE.match(value)
    if found is None or (found[7] == "-" and found[8] + found[9] == "0000"):
        return header("date", value)
    day, month, year, hour, minute, second, sign, hours, minutes = found.groups()
    away = timedelta(hours=int(hours), minutes=int(minutes))
    try:
        zone = timezone(-away if sign == "-" else away)
        moment = datetime(
            int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second), tzinfo=zone
        )
    except ValueError:
        return header("date", value)
    return moment.isoformat()
