"""Counts with their nouns, sizes, and lists of names, as every message and summary writes them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "listed_names", "plural", "size_in_words"]


def counted(number: float, noun: str, several: str = "") -> str:
    """A number with its noun: 1 document, 2,000 copies, 0.5 days; `several` for an irregular plural."""
    shown = f"{number:,.3g}" if isinstance(number, float) else f"{number:,}"
    return f"{shown} {noun if shown == '1' else several or plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a regular noun: pair, pairs; copy, copies; match, matches."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def listed_names(names: Iterable[str], last: str = "and") -> str:
    """Names as a sentence lists them: a, b and c."""
    *most, end = names
    return f"{', '.join(most)} {last} {end}" if most else end


def size_in_words(count: float) -> str:
    """Bytes in a unit that fits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
