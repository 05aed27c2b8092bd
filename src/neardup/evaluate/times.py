"""When documents were made: times from a column of dates, and blocks of clusters in the order of time.

The next campaigns and stories are not like the last ones. A setting that is chosen on earlier clusters and scored on
later ones shows what it will do on the documents to come; one that is scored on clusters drawn at random looks better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import numpy as np

from neardup.columns import Numbers
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import Floats
from neardup.review.breakdown import date_column

if TYPE_CHECKING:
    from neardup.documents import Source
    from neardup.evaluate.corpus import Documents

AUTO, NEVER = "auto", "none"  # --time-column: a usual name, if all inputs have one; no column
BLOCKS = 8  # of time; the later half is held out, block by block
MOST_UNKNOWN = 0.1  # of the labelled documents: with more, the order of time is not known
FEWEST = 40  # clusters with near-duplicates: of fewer, a block of time holds out two or three


def time_column(asked: str | None, sources: Sequence[Source]) -> str | None:
    """The column of dates: the one that is asked for; of `auto` a usual one that all sources have; or none."""
    if asked != AUTO:
        return None if asked == NEVER else asked
    names = [source.names() for source in sources]
    common = [name for name in names[0] if all(name in other for other in names)] if names else []
    return date_column(common)


def times_of(documents: Documents, column: str | None) -> Floats | None:
    """The times in a column; None without a column."""
    return None if column is None else parse_times(documents.fields[column].to_pylist())


def parse_times(values: Iterable[object]) -> Floats:
    """Seconds since 1970: of numbers, of ISO 8601 dates and of the dates of mail; NaN if a value is none."""
    return np.array([_parse(value) for value in values])


def _parse(value: object) -> float:
    text = str(value or "").strip()
    for read in (float, _iso, _mail):
        try:
            return read(text)
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return float("nan")


def _iso(text: str) -> float:
    return _seconds(datetime.fromisoformat(text))


def _mail(text: str) -> float:
    return _seconds(parsedate_to_datetime(text))


def _seconds(moment: datetime) -> float:
    """The time stamp; a date without a zone is in UTC, on every machine."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def can_hold_out(truth: Truth, times: Floats) -> bool:
    """Whether nearly all labelled documents have a time, not all the same, and enough are near-duplicates."""
    some = times[: len(truth.units)][truth.units >= 0]
    known = len(some) > 0 and float(np.isnan(some).mean()) <= MOST_UNKNOWN and len(np.unique(some)) >= BLOCKS
    return known and int(truth.units_with_pairs.sum()) >= FEWEST


def usable_times(truth: Truth, times: Floats | None) -> Floats | None:
    """The times, if labels can be held out by them."""
    return times if times is not None and can_hold_out(truth, times) else None


def blocks_of(truth: Truth, times: Floats | None) -> Numbers | None:
    """The block of time of each cluster; None without times."""
    return None if times is None else time_blocks(truth, times)


def time_blocks(truth: Truth, times: Floats) -> Numbers:
    """The block of time of each cluster, from 0 to 7 by labelled documents.

    A cluster belongs to the time of its first document, so that none is split; without a time it is the earliest.
    """
    units, known = truth.units, np.nan_to_num(times, nan=-np.inf)
    labelled = np.flatnonzero(units >= 0)
    first = np.full(int(units.max(initial=-1)) + 1, np.inf)
    np.minimum.at(first, units[labelled], known[labelled])
    order = np.argsort(first, kind="stable")
    sizes = np.bincount(units[labelled], minlength=len(first))[order]
    block = np.empty(len(first), np.int64)
    block[order] = np.minimum((np.cumsum(sizes) - sizes) * BLOCKS // max(int(sizes.sum()), 1), BLOCKS - 1)
    return block
