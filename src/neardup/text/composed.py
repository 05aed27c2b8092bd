"""Text in Unicode's composed forms (NFC, NFKC), in time linear in its length."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

LONG = 64  # combining marks in a row; a letter of a language has three or four
_FIRST, _LAST = 0x300, 0x1FFFF  # no combining mark is outside
_MADE_OF_MARKS = (0xF73, 0xF75, 0xF81)  # Tibetan vowels: no marks themselves
_PRINTED_MARKS = {0xFF9E: 0x3099, 0xFF9F: 0x309A}  # half-width voicing marks of kana: marks in NFKC alone


def to_composed(text: str) -> str:
    """The text in NFC.

    `unicodedata` sorts the marks behind a letter by insertion, which is quadratic: 28 s for 320 kB of marks. Long runs
    are sorted here first, which does not change the result.
    """
    text = _with_sorted_runs(text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def to_compatible(text: str) -> str:
    """The text in NFKC; marks that only this form has are sorted with the others."""
    return unicodedata.normalize("NFKC", _with_sorted_runs(text.translate(_PRINTED_MARKS)))


def _with_sorted_runs(text: str) -> str:
    """The same text with each long run of combining marks in canonical order."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    inside = np.zeros(len(points) + 2, np.bool_)
    inside[1:-1] = _marks()[np.minimum(points, _LAST)]
    starts, stops = np.flatnonzero(np.diff(inside.view(np.int8))).reshape(-1, 2).T
    long = stops - starts >= LONG
    if not long.any():
        return text
    parts, done = [], 0
    for start, stop in zip(starts[long].tolist(), stops[long].tolist(), strict=True):
        parts += [text[done:start], sort_marks(text[start:stop])]
        done = stop
    return "".join([*parts, text[done:]])


def sort_marks(run: str) -> str:
    """A run of combining marks in canonical order: by class, stable."""
    by_class: dict[int, list[str]] = {}
    for mark in run:
        for part in unicodedata.normalize("NFD", mark):
            by_class.setdefault(unicodedata.combining(part), []).append(part)
    return "".join(part for order in sorted(by_class) for part in by_class[order])


@cache
def _marks() -> NDArray[np.bool_]:
    """For each code point whether its decomposition begins, and so consists, of combining marks."""
    found = np.zeros(_LAST + 1, np.bool_)
    found[_FIRST:] = [unicodedata.combining(chr(point)) > 0 for point in range(_FIRST, _LAST + 1)]
    found[list(_MADE_OF_MARKS)] = True
    return found
