"""Pairs on the terminal: similarity, both ids, and the first words of both texts."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.engines.core.pair_examples import EXAMPLES, PairExample
from neardup.explain.excerpts import printable

ID_WIDTH, TEXT_WIDTH = 32, 60


def pair_lines(closest: Sequence[PairExample], lowest: Sequence[PairExample], threshold: float) -> list[str]:
    """The closest pairs and those nearest to the threshold; one list if these are all."""
    if len(lowest) < EXAMPLES:
        return _list("pairs of different texts, the closest first:", [*closest, *lowest])
    return [
        *_list("closest pairs of different texts:", closest),
        *_list(f"pairs nearest to the threshold of {threshold:g}:", lowest),
    ]


def _list(title: str, pairs: Sequence[PairExample]) -> list[str]:
    if not pairs:
        return []
    names = [_cut(str(name), ID_WIDTH) for pair in pairs for name in (pair.left, pair.right)]
    width, lines = max(map(len, names)), [title]
    for place, pair in enumerate(pairs):
        first, second = (f"{name:<{width}}" for name in names[2 * place : 2 * place + 2])
        lines.append(f"  {pair.similarity:.3f}  {first}  {_cut(pair.left_text, TEXT_WIDTH)}".rstrip())
        lines.append(f"         {second}  {_cut(pair.right_text, TEXT_WIDTH)}".rstrip())
    return lines


def _cut(text: str, most: int) -> str:
    """The beginning of a text on one line."""
    shown = printable(text[: 8 * most])
    return shown if len(shown) <= most else shown[: most - 1].rstrip() + "…"
