"""Character references of HTML (&amp;, &#233;) as characters."""

from __future__ import annotations

import re
from html import unescape

# Python converts at most 4,300 digits to a number; no character needs more than seven.
_LONG = re.compile(r"&#0*([0-9]*);?")
_MANY = re.compile(r"&#[0-9]{1000}")


def decode_references(text: str) -> str:
    """The text with its character references decoded; a number that is no character becomes U+FFFD."""
    if "&" not in text:
        return text
    return unescape(_LONG.sub(_short, text) if _MANY.search(text) else text)


def _short(found: re.Match[str]) -> str:
    """A numeric reference without leading zeros, or U+FFFD for more digits than a character has."""
    digits = found[1]
    return found[0] if len(found[0]) < 1000 else f"&#{digits};" if 0 < len(digits) <= 7 else "\ufffd"
