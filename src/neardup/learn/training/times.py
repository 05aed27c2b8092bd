"""When documents were made, and folds by time: models learn from earlier documents and are scored on later ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import numpy as np

from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import Floats
from neardup.learn.training.sample import Fold

BLOCKS = 8  # of time; the later half is held out, block by block
MOST_UNKNOWN = 0.1  # of the labelled documents: with more, the order of time is not known


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


def time_folds(truth: Truth, times: Floats) -> list[Fold]:
    """The later half of the clusters in folds, the latest first; each is scored by a model of all that is earlier.

    A cluster belongs to the time of its first document, so that none is split.
    """
    units = truth.units
    labelled = np.flatnonzero(units >= 0)
    first = np.full(int(units.max(initial=-1)) + 1, np.inf)
    np.minimum.at(first, units[labelled], times[labelled])
    order = np.argsort(first, kind="stable")
    sizes = np.bincount(units[labelled], minlength=len(first))[order]
    block = np.empty(len(first), np.int64)
    block[order] = np.minimum((np.cumsum(sizes) - sizes) * BLOCKS // max(int(sizes.sum()), 1), BLOCKS - 1)
    number = np.where(units >= 0, block[units], -1)
    return [Fold(number == k, (number >= 0) & (number < k)) for k in range(BLOCKS - 1, BLOCKS // 2 - 1, -1)]


def are_known(truth: Truth, times: Floats) -> bool:
    """Whether nearly all labelled documents have a time, and not all the same."""
    some = times[truth.units >= 0]
    return len(some) > 0 and float(np.isnan(some).mean()) <= MOST_UNKNOWN and len(np.unique(some)) >= BLOCKS
