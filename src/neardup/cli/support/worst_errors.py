"""The worst errors in the terminal, with the two texts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neardup.cli.support.side_by_side import Show, passage_table, plain
from neardup.plurals import counted

if TYPE_CHECKING:
    from rich.console import Console

    from neardup.evaluate.worst_errors import WorstErrors, WorstPair

__all__ = ["print_errors"]


def print_errors(
    console: Console, pairs: Sequence[WorstPair], errors: WorstErrors, show: Show | None = None
) -> None:
    """Prints each pair under a heading; marks repeat the colours."""
    show = show or Show()
    totals = {"false positive": errors.total_positives, "false negative": errors.total_negatives}
    for kind, total in totals.items():
        chosen = [pair for pair in pairs if pair.kind == kind]
        some = f", the worst {len(chosen):,} shown" if 0 < len(chosen) < total else ""
        console.print(counted(total, kind) + some, style="bold", highlight=False)
        for place, pair in enumerate(chosen, 1):
            _print_pair(console, place, pair, show)


def _print_pair(console: Console, place: int, pair: WorstPair, show: Show) -> None:
    """One pair: score, clusters, passages."""
    found = pair.comparison
    console.rule(plain(f"{place}. {pair.left} and {pair.right}"), align="left", style="dim")
    line = (
        f"score {pair.score:.3f}; similarity {found.similarity:.3f}, containment {found.containment:.3f} "
        f"of {found.left.features:,} and {counted(found.right.features, 'feature')}"
    )
    console.print(line, highlight=False, markup=False)
    same = pair.clusters[0] == pair.clusters[1]
    where = f"cluster {pair.clusters[0]}" if same else f"clusters {pair.clusters[0]} and {pair.clusters[1]}"
    similar = f"; {pair.similar:,} such errors" if pair.similar > 1 else ""
    if pair.clusters != (pair.left, pair.right):
        console.print(plain(where + similar), style="dim", highlight=False)
    if not (found.left.text.strip() and found.right.text.strip()):
        console.print("(one of the two has no text)", style="dim", markup=False)
    table, legend = passage_table(found, (pair.left, pair.right), show)
    console.print(table)
    console.print(legend, style="dim", markup=False, highlight=False)
    console.print()
