"""Mail: mbox files, Maildirs and .eml files, one document a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents.blocks import Bytes
from neardup.documents.limits import LIMITS, Limits
from neardup.documents.mailboxes import files_of, messages_of
from neardup.documents.problems import Problems
from neardup.documents.source import BATCH_BYTES, BATCH_ROWS, Batch
from neardup.documents.textfiles import picked
from neardup.documents.values import clean

__all__ = ["MailSource", "message_fields"]

COLUMNS = ("id", "subject", "from", "date", "text", "path")
_LONGEST_HEADER = 2000  # characters: the standard library's parser is quadratic in the length of a header


class _Policy(policy.EmailPolicy):
    """The standard policy with headers cut to a length that parses quickly."""

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        return super().header_fetch_parse(name, value[:_LONGEST_HEADER])


_PARSER: Any = BytesParser(policy=_Policy())


@dataclass(frozen=True)
class MailSource:
    """All mail of a run; `files` are pairs of a path (mbox, Maildir or message) and its name in reports.

    The id of a message is its Message-ID; if it has none, or an earlier message has the same, `path:number`.
    """

    name: str
    files: tuple[tuple[str, str], ...]
    format: str = "mail"
    compression: str | None = None
    rows: int | None = None
    limits: Limits = LIMITS

    @cached_property
    def size(self) -> int | None:
        """The bytes of all files."""
        with suppress(OSError):
            files = [str(file) for path, _ in self.files for file in files_of(Path(path))]
            return sum(Bytes(file, file).size() for file in files)
        return None

    def names(self) -> list[str]:
        """The fields of a message, its decoded text, and its path."""
        return list(COLUMNS)

    def schema(self) -> pa.Schema:
        """All as strings."""
        return pa.schema([(name, pa.string()) for name in COLUMNS])

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """Batches of messages; one that cannot be parsed is reported."""
        ids: set[str] = set()
        found: list[dict[str, Any]] = []
        size = 0
        for number, (place, data) in enumerate(self._messages(problems), start=1):
            fields = self._fields(place, data, number, ids, problems)
            if fields is not None:
                found.append(fields)
                size += len(fields["text"])
            if found and (size >= BATCH_BYTES or len(found) >= BATCH_ROWS):
                yield self._batch(found, columns)
                found, size = [], 0
        if found:
            yield self._batch(found, columns)

    def _messages(self, problems: Problems) -> Iterator[tuple[tuple[str, int], bytes]]:
        """Every message with the name of its file and its number in it (0: the file is the message)."""
        for path, known_as in self.files:
            yield from messages_of(Path(path), known_as, self.limits, problems)

    def _fields(
        self, place: tuple[str, int], data: bytes, number: int, ids: set[str], problems: Problems
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
        return fields | {"path": name, "number": number}

    def _batch(self, found: list[dict[str, Any]], columns: Sequence[str] | None) -> Batch:
        arrays = {name: pa.array([row[name] for row in found], pa.string()) for name in COLUMNS}
        numbers = np.array([row["number"] for row in found], dtype=np.int64)
        return Batch(self.name, numbers, picked(arrays, columns, len(found)), None, self.format)


def message_fields(data: bytes) -> dict[str, str]:
    """The id, subject, sender, date and text of a message, decoded; a field that is absent is empty."""
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
    try:
        return str(part.get_content())
    except (LookupError, UnicodeError, ValueError, KeyError):
        data = part.get_payload(decode=True)
        return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data or "")
