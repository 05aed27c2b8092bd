"""Cells that a spreadsheet would run as formulas, escaped by an apostrophe, and the way back.

A text that begins with = + - @ (also their full-width forms), a tab or a line end gets one apostrophe in front, unless
it is a number. So does a text that begins with apostrophes followed by one of these characters: removing one
apostrophe then restores every text.
"""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from neardup.documents.output_lines import glued

_STARTS = r"[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
_FORMULA = f"^'*{_STARTS}"
_ESCAPED = f"^'+{_STARTS}"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def escaped(texts: Any) -> Any:
    """The cells with an apostrophe before those that a spreadsheet would run."""
    formula = pc.and_(
        pc.match_substring_regex(texts, _FORMULA), pc.invert(pc.match_substring_regex(texts, _NUMBER))
    )
    if not pc.any(formula).as_py():
        return texts
    return glued(pc.if_else(pc.fill_null(formula, False), "'", ""), texts)


def unescaped(texts: Any) -> Any:
    """The inverse of `escaped`."""
    found = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED), False)
    if not pc.any(found).as_py():
        return texts
    return pc.if_else(found, pc.utf8_slice_codeunits(texts, 1), texts)
