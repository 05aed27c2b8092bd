"""Character references of HTML (&amp;, &#233;) as characters."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.text.vocabulary import hash_bytes, open_table

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


@cache
def reference_table() -> NDArray[np.uint64]:
    """The table of the kernel: hashes of the names of references, and the one or two characters of each."""
    from html.entities import html5

    values = {name.encode(): text for name, text in html5.items()}
    values |= {bytes([number]): unescape(f"&#{number};") for number in range(128, 160)}
    bits = kernels.references.CODE_BITS
    stored = {
        hash_bytes(name): sum(ord(character) << bits * place for place, character in enumerate(text))
        for name, text in values.items()
    }
    return open_table(stored)
