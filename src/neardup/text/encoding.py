"""HTML bytes to UTF-8."""

from __future__ import annotations

import codecs
import re

from neardup.columns import to_utf8

BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
DECLARATION = re.compile(
    rb"""<(?:meta[^>]{0,300}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w:.-]+)""", re.I
)
DECLARED_WITHIN = 4096  # bytes: the standard asks for 1024
# Of names of hosts: they take quadratic time, or raise errors whatever is to be replaced; and one that always raises.
NOT_OF_TEXTS = {"idna", "punycode", "undefined"}
# The HTML standard decodes these as their supersets.
READ_AS = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "iso8859-9": "cp1254",
    "euc_kr": "cp949", "shift_jis": "cp932", "tis-620": "cp874", "iso8859-11": "cp874",
}  # fmt: skip


def page_bytes(html: str | bytes) -> bytes:
    """A page in UTF-8. Nothing is raised or dropped: bytes that cannot be decoded become U+FFFD.

    In this order: the byte order mark; UTF-8 if the bytes are valid; the declared encoding; windows-1252. UTF-8 comes
    before the declaration, which is wrong more often than text in another encoding is valid UTF-8 by chance; but pages
    of ASCII bytes are read as declared (ISO-2022-JP writes Japanese with them).
    """
    if isinstance(html, str):
        return to_utf8(html)
    seeming = seeming_utf8(html)
    try:
        seeming.decode()
        return seeming
    except UnicodeDecodeError:
        return decode_as(html, declared_encoding(html)).encode()


def seeming_utf8(html: bytes) -> bytes:
    """The bytes as they are, where `page_bytes` leaves valid UTF-8 alone; otherwise the page in UTF-8."""
    for mark, name in BYTE_ORDER_MARKS:
        if html.startswith(mark):
            return html[len(mark) :].decode(name, "replace").encode()
    declared = declared_encoding(html)
    return decode_as(html, declared).encode() if html.isascii() and declared not in ("", "utf-8") else html


def declared_encoding(html: bytes) -> str:
    """Python's name of the encoding that a page declares; empty if it declares no known one."""
    found = DECLARATION.search(html, 0, DECLARED_WITHIN)
    if not found:
        return ""
    name = encoding_named(found[1].decode("ascii", "replace"))
    name = "utf-8" if name.startswith("utf-16") else name  # a declaration that could be read is not UTF-16
    return READ_AS.get(name, name)


def encoding_named(name: str) -> str:
    """Python's name of an encoding of texts; empty if it knows none of this name."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    return codec.name if codec._is_text_encoding and codec.name not in NOT_OF_TEXTS else ""


def decode_as(html: bytes, declared: str) -> str:
    """The text by its declared encoding; by UTF-8 if nearly all of it is valid, otherwise by windows-1252."""
    text = html.decode(declared or "utf-8", "replace")
    broken = text.count("\ufffd")
    if broken > 20 and broken > 0.002 * len(text):  # too many for a typing error: another encoding
        return html.decode("cp1252", "replace")
    return text if declared else html.decode("cp1252", "replace")
