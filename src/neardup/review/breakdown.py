"""Kept and removed documents by the values of a column, by host, or by date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from neardup.clusters.keep import moment
from neardup.review.finished import Finished, Mask

__all__ = ["Counts", "by_column", "by_date", "date_column", "day_of", "host_of", "source_column"]

SOURCES = (
    "source",
    "site",
    "host",
    "domain",
    "publisher",
    "subset",
    "dataset",
    "group",
    "kind",
    "lang",
    "language",
    "url",
)
DATES = ("date", "published", "published_at", "date_published", "publish_date", "created", "created_at", "timestamp",
         "time", "crawled", "crawled_at", "fetched", "fetched_at", "year")  # fmt: skip
MOST_VALUES = 100_000  # distinguished: the values of a column of texts must not fill the memory
OTHERS = "other values"
Counts = dict[Any, tuple[int, int]]  # kept and removed, by value


def source_column(names: list[str]) -> str | None:
    """The column that says where documents come from, by its name."""
    return _first(names, SOURCES)


def date_column(names: list[str]) -> str | None:
    """The column of dates, by its name."""
    return _first(names, DATES)


def _first(names: list[str], usual: tuple[str, ...]) -> str | None:
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in usual if name in lower), None)


def by_column(finished: Finished, column: str) -> Counts:
    """Kept and removed documents by value, most documents first; addresses count by host."""
    counts = _counted(finished, column, host_of if column.lower() in ("url", "uri") else str)
    return dict(sorted(counts.items(), key=lambda item: (-sum(item[1]), str(item[0]))))


def host_of(value: Any) -> str:
    """The host of an address."""
    try:
        return urlsplit(str(value)).hostname or "no host"
    except ValueError:
        return "no host"


def by_date(finished: Finished, column: str) -> tuple[Counts, int]:
    """Kept and removed documents by day, month or year, in order, and the number of values that are no date."""
    counts = _counted(finished, column, day_of)
    kept, removed = counts.pop("", (0, 0))
    days = sorted(day for day in counts if day != OTHERS)
    if not days:
        return {}, kept + removed
    span = (datetime.fromisoformat(days[-1]) - datetime.fromisoformat(days[0])).days
    width = 10 if span <= 45 else 7 if span <= 1500 else 4
    grouped: Counts = {}
    for day in days:
        before = grouped.get(day[:width], (0, 0))
        grouped[day[:width]] = (before[0] + counts[day][0], before[1] + counts[day][1])
    return grouped, kept + removed


def day_of(value: Any) -> str:
    """The day of a value in ISO form; empty where it is no date."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if 1000 <= value < 3000:  # a year
            return f"{int(value)}-01-01"
        if 10**7 <= value < 3 * 10**7 and value == int(value):  # 20240131
            value = str(int(value))
        elif value > 1e11:  # milliseconds
            value = value / 1000
    seconds = moment(value)
    try:
        return "" if seconds is None else datetime.fromtimestamp(float(seconds), UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


def _counted(finished: Finished, column: str, name_of: Callable[[Any], str]) -> Counts:
    """Kept and removed documents by the name of their value; null has the empty name."""
    counts: Counts = {}
    for values, kept in finished.documents(column):
        for name, chosen in _named(values, kept, name_of):
            name = name if name in counts or len(counts) < MOST_VALUES else OTHERS
            before = counts.get(name, (0, 0))
            counts[name] = (before[0] + chosen[0], before[1] + chosen[1])
    return counts


def _named(
    values: pa.Array, kept: Mask, name_of: Callable[[Any], str]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names of a batch's distinct values, each with its counts of kept and removed documents."""
    coded = values.dictionary_encode()
    codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    both = [np.bincount(codes[mask], minlength=len(coded.dictionary) + 1) for mask in (kept, ~kept)]
    for place, value in enumerate([*coded.dictionary.to_pylist(), None]):
        pair = int(both[0][place]), int(both[1][place])
        if any(pair):
            yield "" if value is None else name_of(value), pair


def largest(counts: Mapping[Any, tuple[int, int]], most: int) -> list[tuple[str, int, int]]:
    """The first `most` values, and the others as one."""
    rows = [(str(name) or "no value", *pair) for name, pair in counts.items()]
    rest = rows[most:]
    if not rest:
        return rows
    others = (f"{len(rest):,} others", sum(row[1] for row in rest), sum(row[2] for row in rest))
    return [*rows[:most], others]
