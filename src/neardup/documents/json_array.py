"""A file that is one JSON array of objects, as lines: each element becomes a line, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator

from neardup.documents.limits import Limits
from neardup.documents.problems import Problems

_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n"
_NUMBER = ".eE"  # what follows the digits of a number that is cut
_NEAR = 16  # characters before the end, where a literal or an escape may be cut


def array_lines(pieces: Iterator[bytes], name: str, limits: Limits, problems: Problems) -> Iterator[bytes]:
    """The elements as lines of JSON; at the first damage the rest is skipped, because nothing says where it ends.

    One element is in memory at a time, and about 4 MB.
    """
    array, tail = _Array(limits), b""
    for piece in _closed(pieces):
        data = tail + (piece or b"")
        cut = len(data) if piece is None else _whole(data)
        tail = data[cut:]
        lines = array.lines(data[:cut].decode("utf-8", "surrogateescape"), last=piece is None)
        if lines:
            yield "".join(lines).encode("utf-8", "surrogateescape")
        if array.wrong is not None:
            problems.add(name, array.wrong, record=array.number + 1, action="rest of the file skipped")
            return


def _closed(pieces: Iterator[bytes]) -> Iterator[bytes | None]:
    """The pieces, and None at the end."""
    yield from pieces
    yield None


class _Array:
    """The text of an array that is not parsed yet, and where it stands."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._text, self._at, self._wait = limits, "", 0, 0
        self._begun = self._ended = False
        self.number = 0  # of the elements so far
        self.wrong: str | None = None

    def lines(self, more: str, last: bool) -> list[str]:
        """The elements that are whole now. One that is not is parsed again when the buffer has doubled."""
        self._text, self._at = self._text[self._at :] + more, 0
        if not self._begun and not self._begin():
            return []
        if len(self._text) < self._wait and not last:
            return []
        found: list[str] = []
        while not self._ended and (element := self._next(last)) is not None:
            found.append(element)
            self.number += 1
        left = len(self._text) - self._at
        self._wait = 2 * left
        if self._ended and self._text[self._at :].strip(_BLANK):
            self.wrong = "invalid JSON: text behind the array"
        elif left > self._limits.record:
            self.wrong = self._limits.too_long
        elif last and not self._ended and self.wrong is None:
            self.wrong = "invalid JSON: the array is not closed"
        return found

    def _begin(self) -> bool:
        """Whether the opening bracket has come."""
        self._text = self._text.lstrip(_BLANK)
        if self._text and not self._text.startswith("["):
            self.wrong = "invalid JSON: the file does not begin with an array"
        self._begun, self._at = self._text.startswith("["), 1
        return self._begun

    def _next(self, last: bool) -> str | None:
        """The next element as a line; None if it is not whole, or not JSON."""
        self._at = _skip(self._text, self._at, self.number > 0)
        if self._text[self._at : self._at + 1] in ("]", ""):
            self._ended = self._at < len(self._text)
            self._at += self._ended
            return None
        try:
            _, end = _DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _NEAR
            if last or not cut:
                self.wrong = f"invalid JSON: {error.msg}"
            return None
        except (ValueError, RecursionError):
            self.wrong = "invalid JSON: nested too deeply, or a number too long"
            return None
        if not last and (end >= len(self._text) or self._text[end] in _NUMBER):  # a number may go on
            return None
        element, self._at = self._text[self._at : end], end
        return element.replace("\n", " ").replace("\r", " ") + "\n"


def _whole(data: bytes) -> int:
    """The bytes up to the last whole character."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            return len(data) - back
        if byte < 0x80:
            break
    return len(data)


def _skip(text: str, at: int, comma: bool) -> int:
    """The place behind blanks, and behind one comma between elements."""
    size = len(text)
    while at < size and text[at] in _BLANK:
        at += 1
    if comma and at < size and text[at] == ",":
        at += 1
        while at < size and text[at] in _BLANK:
            at += 1
    return at
