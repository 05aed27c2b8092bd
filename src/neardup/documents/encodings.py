"""Text files in UTF-8, UTF-16 or UTF-32, detected by byte order mark or first characters, as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from neardup.documents.problems import Problems
from neardup.documents.values import clean

_MARKS = (  # the longer marks first: that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PROBED = 8  # bytes


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of a file with these first bytes, and the length of its byte order mark.

    Without a mark it is UTF-8, unless its first four characters are ASCII in UTF-16: every second byte NUL.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    even, odd = head[0:_PROBED:2], head[1:_PROBED:2]
    if len(odd) == _PROBED // 2 and not any(odd) and all(even):
        return "utf-16-le", 0
    if len(odd) == _PROBED // 2 and not any(even) and all(odd):
        return "utf-16-be", 0
    return "utf-8", 0


def given_encoding(head: bytes, named: str | None) -> tuple[str, int]:
    """The encoding that was named, or that of a file with these first bytes; and the length of the mark."""
    found, mark = encoding_of(head)
    if named is None or found.replace("-le", "").replace("-be", "") == named.removesuffix("-sig"):
        return found, mark
    return ("utf-16-le" if named == "utf-16" else "utf-32-le" if named == "utf-32" else named), 0


def decoded(data: bytes, named: str | None = None) -> tuple[str, str | None]:
    """The text of a whole file, and the problem with its encoding, or None."""
    encoding, mark = given_encoding(data, named)
    try:
        return data[mark:].decode(encoding), None
    except UnicodeDecodeError:
        return data[mark:].decode(encoding, "replace"), f"invalid {encoding.upper()}"


def as_utf8(
    pieces: Iterator[bytes], name: str, problems: Problems, named: str | None = None
) -> Iterator[bytes]:
    """The same text in UTF-8 without a byte order mark; UTF-8 passes unchanged, valid or not.

    `named` is the encoding that the user gives; without it the first bytes decide.
    """
    first = next(pieces, b"")
    encoding, mark = given_encoding(first, named)
    if encoding != "utf-8":
        yield from _transcoded(first[mark:], pieces, encoding, name, problems)
        return
    if len(first) > mark:
        yield first[mark:]
    yield from pieces


def _transcoded(
    first: bytes, pieces: Iterator[bytes], encoding: str, name: str, problems: Problems
) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    piece, offset, last = first, 0, False
    while not last:
        last = not piece
        text = _text(decoder, piece, last)
        whole = clean(text or "")
        if text is None or whole != text:
            problems.add(name, f"invalid {encoding.upper()}", offset=offset, action="replaced")
        if text is None:
            decoder.errors = "replace"
            whole = decoder.decode(piece, last)
            decoder.errors = "surrogatepass"
        if whole:
            yield whole.encode("utf-8", "replace")
        offset += len(piece)
        piece = b"" if last else next(pieces, b"")


def _text(decoder: codecs.IncrementalDecoder, piece: bytes, last: bool) -> str | None:
    """The text, lone surrogates included, or None if bytes cannot be decoded otherwise."""
    try:
        return decoder.decode(piece, last)
    except UnicodeDecodeError:  # the decoder keeps no state of a piece that it refused
        return None
