"""Recorded similarities: their histogram, and what other thresholds would leave of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neardup.pages.charts import histogram
from neardup.pages.parts import note, table
from neardup.plurals import counted

__all__ = ["SimilarityCounts", "pair_chart", "threshold_section"]

CHART_BINS = 50
EXPLANATION = (
    "A removal has evidence at a threshold if it reaches it with the document that it duplicates. Only thresholds from "
    "that of the run upwards can be shown, because less similar pairs were not recorded. A document that loses its "
    "evidence may still duplicate another one, so that a run at a higher threshold can remove some more than shown."
)


@dataclass(frozen=True)
class SimilarityCounts:
    """Pairs and removals of a run by similarity, in equal bins from 0 to 1; the last bin is 1 itself."""

    threshold: float
    measure: str  # similarity or containment
    pairs: Sequence[int]
    removals: Sequence[int]
    unmeasured: int = 0  # removals without a similarity
    verified: bool = True


def threshold_section(found: SimilarityCounts) -> str:
    """The histogram of pairs, the slider, and a table of thresholds."""
    if not found.verified:
        return note("Pairs were not measured (--verify none), so that no other threshold can be shown.")
    if not any(found.pairs):
        return note("No pair was recorded.")
    bins = len(found.pairs) - 1
    start = int(found.threshold * bins + 1e-6)
    removals, pairs = _reaching(found.removals), _reaching(found.pairs)
    rows = [(f"{found.threshold:g} (this run)", removals[start], pairs[start])]
    rows += [(f"{at / bins:.2f}", removals[at], pairs[at]) for at in _steps(start, bins)]
    head = (f"Threshold ({found.measure})", "Removals with evidence", "Pairs")
    return (
        pair_chart(found.pairs, found.threshold, found.measure)
        + _slider(found, start, removals, pairs)
        + table("What other thresholds would leave", head, rows)
        + note(_below(found, start) + EXPLANATION)
    )


def pair_chart(counts: Sequence[int], threshold: float, measure: str = "similarity") -> str:
    """Recorded pairs by similarity, from a little below the threshold."""
    bins = len(counts) - 1
    low = max(0, int(threshold * 20) - 1) * bins // 20
    width = max((bins - low) // CHART_BINS, 1)
    shown = [sum(counts[at : at + width]) for at in range(low, bins, width)]
    shown[-1] += counts[bins]
    high = (low + width * len(shown)) / bins
    label = f"Histogram of {sum(counts):,} recorded pairs by {measure}, with the threshold at {threshold:g}"
    axis = f"{measure} of recorded pairs"
    return histogram(shown, low / bins, high, label=label, axis=axis, threshold=threshold)


def _reaching(counts: Sequence[int]) -> list[int]:
    """For each bin, how many are in it or above."""
    above, found = 0, []
    for count in reversed(counts):
        above += count
        found.append(above)
    return found[::-1]


def _steps(start: int, bins: int) -> range:
    """Round thresholds above that of the run."""
    step = bins // 20 if start >= 0.6 * bins else bins // 10
    return range((start // step + 1) * step, bins + 1, step)


def _below(found: SimilarityCounts, start: int) -> str:
    lower = sum(found.removals[:start]) + found.unmeasured
    return (
        f"{counted(lower, 'removal')} of this run {'is' if lower == 1 else 'are'} below its threshold. "
        if lower
        else ""
    )


def _slider(found: SimilarityCounts, start: int, removals: Sequence[int], pairs: Sequence[int]) -> str:
    """A slider that the script of the page shows and moves."""
    bins, total = len(found.pairs) - 1, removals[0] + found.unmeasured
    series = (",".join(map(str, values)) for values in (removals, pairs))
    return (
        f'<div class="slider" hidden data-threshold="{found.threshold:g}" data-bins="{bins}" '
        f'data-removals="{next(series)}" data-pairs="{next(series)}">'
        '<label for="threshold">Threshold <output for="threshold"></output></label>'
        f'<input id="threshold" type="range" min="{start}" max="{bins}" value="{start}">'
        f'<p aria-live="polite"><strong class="removals"></strong> of {counted(total, "removal")} and '
        f'<strong class="pairs"></strong> of {counted(pairs[0], "pair")} have the evidence.</p></div>\n'
    )
