"""Mail: mbox files, Maildirs and .eml files, one document a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

from neardup.documents.blocks import Bytes
from neardup.documents.limits import LIMITS, Limits
from neardup.documents.mail_quick import quick_fields
from neardup.documents.mailboxes import files_of, messages_of
from neardup.documents.problems import Problems
from neardup.documents.source import Batches, StringColumns, string_batches
from neardup.documents.values import clean
from neardup.text.encoding import encoding_named

_LONGEST_HEADER = 2000  # characters: the standard library's parser is quadratic in the length of a header


class _Policy(policy.EmailPolicy):
    """The standard policy with headers cut to a length that parses quickly."""

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        return super().header_fetch_parse(name, value[:_LONGEST_HEADER])


_POLICY = _Policy()
_PARSER: Any = BytesParser(policy=_POLICY)


@dataclass(frozen=True)
class MailSource(StringColumns):
    """All mail of a run; `files` are pairs of a path (mbox, Maildir or message) and its name in reports.

    The id of a message is its Message-ID; if it has none, or an earlier message has the same, `path:number`.
    """

    name: str
    files: tuple[tuple[str, str], ...]
    format: str = "mail"
    compression: str | None = None
    rows: int | None = None
    limits: Limits = LIMITS
    column_names = ("id", "subject", "from", "date", "text", "path")

    @cached_property
    def size(self) -> int | None:
        """The bytes of all files."""
        with suppress(OSError):
            files = [file for path, _ in self.files for file in files_of(path)]
            return sum(Bytes(file, file).stored_bytes() for file in files)
        return None

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of messages; one that cannot be parsed is reported."""
        return string_batches(self, self._rows(problems, raw), "text", columns)

    def _rows(self, problems: Problems, raw: bool = False) -> Iterator[dict[str, Any]]:
        """The fields of every message that can be parsed, with its number, and with its bytes if they are wanted."""
        ids: set[str] = set()
        files = (messages_of(path, name, self.limits, problems) for path, name in self.files)
        for number, (place, data) in enumerate(chain.from_iterable(files), start=1):
            fields = self._fields(place, data, ids, problems)
            if fields is not None:
                yield fields | {"number": number} | ({"raw": data} if raw else {})

    def _fields(
        self, place: tuple[str, int], data: bytes, ids: set[str], problems: Problems
    ) -> dict[str, Any] | None:
        name, within = place
        where = f"{name}:{within}" if within else name
        try:
            fields: dict[str, Any] = message_fields(data)
        except Exception as error:  # hostile headers make the parser raise almost anything
            problems.add(name, f"broken message: {type(error).__name__}", record=within or 1)
            return None
        if not fields["id"] or fields["id"] in ids:
            fields["id"] = where
        ids.add(fields["id"])
        return fields | {"path": name}


def message_fields(data: bytes) -> dict[str, str]:
    """The id, subject, sender, date and text of a message, decoded; a field that is absent is empty."""
    found = quick_fields(data, _header_of, _visible)
    return library_fields(data) if found is None else {name: clean(value) for name, value in found.items()}


@lru_cache(1 << 14)
def _header_of(name: str, value: str) -> str:
    """A header as the standard library reads it, as a field."""
    message: Any = EmailMessage(policy=_POLICY)
    message._headers.append((name, value))
    return _date(message) if name == "date" else _header(message, name)


def _visible(text: str) -> str:
    from neardup.text.html import visible_text

    return visible_text(clean(text))


def library_fields(data: bytes) -> dict[str, str]:
    """The same fields by the standard library, which reads every message, and slowly."""
    message = _PARSER.parsebytes(data)
    return {
        "id": _header(message, "message-id").strip("<> "),
        "subject": _header(message, "subject"),
        "from": _header(message, "from"),
        "date": _date(message),
        "text": _body(message),
    }


def _header(message: EmailMessage, name: str) -> str:
    try:
        return clean(" ".join(str(message.get(name, "")).split()))
    except Exception:  # keep the body of a message whose header is broken
        return ""


def _date(message: EmailMessage) -> str:
    """The date in ISO 8601 where it can be parsed, otherwise as it is written."""
    from email.utils import parsedate_to_datetime

    written = _header(message, "date")
    try:
        return parsedate_to_datetime(written).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return written


def _body(message: EmailMessage) -> str:
    """The plain text of the message, or else the visible text of its HTML."""
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None or part.is_multipart():
        texts = [each for each in message.walk() if each.get_content_maintype() == "text"]
        part = texts[0] if texts else None
    if part is None:
        return ""
    text = clean(_payload(part))
    if part.get_content_subtype() == "html":
        from neardup.text.html import visible_text

        return visible_text(text)
    return text.replace("\r\n", "\n")


def _payload(part: Any) -> str:
    """The decoded payload; UTF-8 stands in for a charset that is unknown or wrong."""
    charset = part.get_content_charset()
    try:
        if charset is not None and not encoding_named(charset):
            raise LookupError(charset)
        return str(part.get_content())
    except (LookupError, UnicodeError, ValueError, KeyError):
        data = part.get_payload(decode=True)
        return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data or "")
