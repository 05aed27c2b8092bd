"""The plain-Python twin of the kernel that counts the attributes of tags."""

from __future__ import annotations

import re

SPACE = b"\t\n\f\r "


def most_attributes(data: bytes) -> int:
    """The most attributes of a tag that may begin at any "<" before a letter."""
    return max(
        (attributes_from(data, found.end()) for found in re.finditer(rb"</?(?=[a-zA-Z])", data)), default=0
    )


def attributes_from(data: bytes, i: int) -> int:
    """The number of attributes of the tag whose name begins at i, state by state as the standard has it."""
    state, count = "tag name", 0
    for byte in data[i:]:
        c = bytes([byte])
        if state in ("double", "single"):
            state = "before name" if c == (b'"' if state == "double" else b"'") else state
        elif c == b">":
            return count
        elif state == "before value":
            quotes = {b'"': "double", b"'": "single"}
            state = state if c in SPACE else quotes.get(c, "unquoted")
        elif state == "unquoted":
            state = "before name" if c in SPACE else state
        elif c == b"/" or (c in SPACE and state in ("tag name", "before name")):
            state = "before name"
        elif state == "tag name":
            pass
        elif c in SPACE:
            state = "after name"
        elif c == b"=" and state in ("name", "after name"):
            state = "before value"
        elif state in ("before name", "after name"):
            state, count = "name", count + 1
    return count
