"""Counts with their nouns, and lists of names, as every message and summary writes them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "listed_names", "plural"]


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
