"""Text for a page: the only function that may put a string into HTML."""

from __future__ import annotations

from html import escape

from neardup.columns import to_utf8
from neardup.explain.excerpts import visible

NAME = 160  # characters of an id or a file name that are shown

__all__ = ["named", "safe", "shortened_name"]


def safe(text: object) -> str:
    """The text, escaped for HTML and attributes; control characters and direction marks as pictures."""
    return escape(visible(to_utf8(str(text)).decode()))


def shortened_name(name: object, most: int = NAME) -> str:
    """An id or a file name on one line, its middle left out if it is long."""
    text = " ".join(str(name).split())
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


def named(name: object) -> str:
    """An id or a file name for HTML, isolated from the direction of what surrounds it."""
    return f"<bdi>{safe(shortened_name(name))}</bdi>"
