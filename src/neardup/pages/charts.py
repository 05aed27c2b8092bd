"""Charts as SVG: histograms with a threshold, bars, and curves. Colours come from the style of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neardup.pages.escaping import safe, shortened_name

__all__ = ["Bar", "Line", "bars", "curves", "histogram", "legend"]

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 14, 48
LINES = 8  # colours of curves, repeated


@dataclass(frozen=True)
class Bar:
    """A row of a bar chart: documents kept and removed."""

    name: str
    kept: int
    removed: int


@dataclass(frozen=True)
class Line:
    """Points of a line, and the one that is in use."""

    name: str
    points: Sequence[tuple[float, float]]
    marked: tuple[float, float] | None = None


def histogram(
    counts: Sequence[int], low: float, high: float, *, label: str, axis: str, threshold: float | None = None
) -> str:
    """Bars over equal bins from `low` to `high`, with a line at the threshold."""
    most = max([*counts, 1])
    step = (WIDTH - LEFT - RIGHT) / max(len(counts), 1)
    parts = [_counts_axis(most), _value_axis(low, high, axis)]
    for place, count in enumerate(counts):
        if count:
            tall = max((HEIGHT - TOP - BOTTOM) * count / most, 1.5)
            x, y = LEFT + place * step, HEIGHT - BOTTOM - tall
            edge = low + (high - low) * place / len(counts)
            words = f"{count:,} from {edge:.2f} to {edge + (high - low) / len(counts):.2f}"
            parts.append(
                f'<rect class="bar" x="{x + 0.5:.1f}" y="{y:.1f}" width="{max(step - 1, 0.8):.1f}" '
                f'height="{tall:.1f}"><title>{words}</title></rect>'
            )
    if threshold is not None:
        x = LEFT + (WIDTH - LEFT - RIGHT) * (threshold - low) / (high - low)
        parts.append(
            f'<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}"/>'
            f'<line class="cut" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}" '
            f'data-low="{low}" data-high="{high}" data-left="{LEFT}" data-right="{WIDTH - RIGHT}"/>'
        )
    return _svg(label, WIDTH, HEIGHT, parts)


def bars(rows: Sequence[Bar], *, label: str) -> str:
    """Kept and removed documents by row, as HTML: names wrap, and small screens need no other picture."""
    most = max((row.kept + row.removed for row in rows), default=0) or 1
    shown = "".join(_bar(row, most) for row in rows)
    head = (
        '<tr><th scope="col">Name</th><th scope="col">Kept and removed</th><th scope="col">Removed</th></tr>'
    )
    table = f'<table class="bars"><caption class="unseen">{safe(label)}</caption><thead>{head}</thead>'
    return f"{table}<tbody>{shown}</tbody></table>\n"


def _bar(row: Bar, most: int) -> str:
    """A row: the name, a picture of both counts, and the figures."""
    total = row.kept + row.removed
    kept, removed = 100 * row.kept / most, 100 * row.removed / most
    picture = (
        '<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="kept" width="{kept:.2f}" height="8"/>'
        f'<rect class="removed" x="{kept:.2f}" width="{removed:.2f}" height="8"/></svg>'
    )
    rate = f"{row.removed / total:.1%}" if total else "–"
    return (
        f'<tr><th scope="row"><bdi>{safe(shortened_name(row.name, 60))}</bdi></th><td>{picture}</td>'
        f'<td class="n">{row.removed:,} of {total:,}<small>{rate}</small></td></tr>'
    )


def curves(lines: Sequence[Line], *, label: str, x_axis: str, y_axis: str) -> str:
    """Lines in the unit square with a legend; a dot marks the setting in use."""
    height = 360
    wide, tall = WIDTH - LEFT - RIGHT, height - TOP - BOTTOM

    def at(point: tuple[float, float]) -> str:
        return f"{LEFT + wide * point[0]:.1f},{TOP + tall * (1 - point[1]):.1f}"

    parts = []
    for k in range(6):
        y = TOP + tall * k / 5
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{1 - k / 5:.1f}</text>'
        )
        x = LEFT + wide * k / 5
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{height - 28}" text-anchor="middle">{k / 5:.1f}</text>'
        )
    parts.append(
        f'<text class="axis" x="{WIDTH - RIGHT}" y="{height - 6}" text-anchor="end">{safe(x_axis)}</text>'
    )
    parts.append(f'<text class="axis" x="{LEFT}" y="10">{safe(y_axis)}</text>')
    for number, line in enumerate(lines):
        tint = number % LINES
        points = " ".join(map(at, line.points))
        parts.append(
            f'<polyline class="line c{tint}" points="{points}"><title>{safe(line.name)}</title></polyline>'
        )
        if line.marked is not None:
            across, down = at(line.marked).split(",")
            parts.append(
                f'<circle class="dot c{tint}" cx="{across}" cy="{down}" r="5"><title>{safe(line.name)}</title></circle>'
            )
    names = [(f"line c{number % LINES}", line.name) for number, line in enumerate(lines)]
    return _svg(label, WIDTH, height, parts) + legend(names)


def legend(names: Sequence[tuple[str, str]]) -> str:
    """What colours stand for: the class of each, and its name."""
    shape = '<svg viewBox="0 0 20 8" aria-hidden="true"><rect class="{}" y="2" width="20" height="4"/></svg>'
    rows = (
        f"<li>{shape.format(kind)}<bdi>{safe(shortened_name(name, 60))}</bdi></li>" for kind, name in names
    )
    return f'<ul class="legend">{"".join(rows)}</ul>\n'


def _counts_axis(most: int) -> str:
    """Lines at none, half and all of the highest count."""
    parts = []
    for count in sorted({0, most // 2, most}):
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * count / most
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_brief(count)}</text>'
        )
    return "".join(parts)


def _value_axis(low: float, high: float, axis: str) -> str:
    """Round values along the axis, and its name."""
    step = 5 if high - low <= 0.4 else 10
    parts = []
    for hundredths in range(-(-round(low * 100) // step) * step, round(high * 100) + 1, step):
        x = LEFT + (WIDTH - LEFT - RIGHT) * (hundredths / 100 - low) / (high - low)
        end = "end" if hundredths == 100 else "middle"
        text = f"{hundredths / 100:.2f}"
        parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 28}" text-anchor="{end}">{text}</text>')
    parts.append(_axis_name(axis, HEIGHT))
    return "".join(parts)


def _axis_name(axis: str, height: int) -> str:
    return f'<text class="axis" x="{WIDTH - RIGHT}" y="{height - 6}" text-anchor="end">{safe(axis)}</text>'


def _brief(count: int) -> str:
    """A count in at most five characters."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= 10 * size:
            return f"{count / size:.0f}{unit}"
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def _svg(label: str, wide: int, tall: int, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {wide} {tall}" role="img" aria-label="{safe(label)}">'
        f"{''.join(parts)}</svg>\n"
    )
