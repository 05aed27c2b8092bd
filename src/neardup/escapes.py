"""Text of others as a person may see it: no character moves the cursor, changes colours or begins a line."""

from __future__ import annotations

import re

__all__ = ["escape_controls", "escape_json"]

# C0 and C1 controls, line and paragraph separators, marks that turn the direction of text, lone surrogates.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_INSIDE_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape_controls(text: object, keep: str = "") -> str:
    """The text on one line with control characters as \\n, \\x1b or \\u202e; those in `keep` stay."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), str(text))


def escape_json(text: str) -> str:
    """JSON with the control characters that JSON leaves alone written as \\u009b: the values stay the same."""
    return _INSIDE_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(character: str) -> str:
    point = ord(character)
    return _SHORT.get(character) or (f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}")
