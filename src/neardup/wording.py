"""Words for numbers in messages: plurals that agree, lists with 'and'."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "listed_names", "plural"]


def counted(number: float, noun: str) -> str:
    """A number with its noun: 1 document, 2 documents, 1,500 copies, 0.5 days."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:,.3g}"
    return f"{shown} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a regular noun: pair, pairs; copy, copies; match, matches."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def listed_names(names: Iterable[str], last: str = "and") -> str:
    """Names as a sentence lists them: a, b and c."""
    *most, end = names
    return f"{', '.join(most)} {last} {end}" if most else end
