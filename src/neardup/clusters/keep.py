"""Keep policies: the order in which the documents of a cluster are worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.errors import ParameterError
from neardup.plan import EmptyPolicy, Keep

BARE = ("longest", "shortest", "first", "last", "none")
WITH_COLUMN = ("newest", "oldest", "highest", "lowest", "priority")
MISSING = np.iinfo(np.int64).max
EITHER = ("longest", "shortest")  # of the text, or of the value of a column, such as a url


def parse_keep(text: str, count: int = 1, direct_only: bool = False, empty: EmptyPolicy = "keep") -> Keep:
    """The policy that 'longest', 'newest:date' or 'priority:source=wire,blog' names."""
    policy, _, rest = str(text).partition(":")
    column, _, order = rest.partition("=")
    wants_column = policy in WITH_COLUMN
    if (
        policy not in BARE + WITH_COLUMN
        or (wants_column != bool(column) and policy not in EITHER)
        or (policy == "priority") != bool(order)
    ):
        of_column = [f"{name}:COLUMN" for name in (*EITHER, *WITH_COLUMN[:-1])]
        known = ", ".join([*BARE, *of_column, "priority:COLUMN=A,B,…"])
        raise ParameterError("keep", "dedup", f"one of {known}", text)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ParameterError("keep_count", "dedup", "a whole number of at least 1", count)
    if not isinstance(direct_only, bool):
        raise ParameterError("direct_only", "dedup", "true or false", direct_only)
    names = tuple(part.strip() for part in order.split(",") if part.strip())
    return Keep(policy, column or None, names, count, direct_only, empty)


@dataclass(frozen=True)
class KeepCandidates:
    """The documents that a policy orders: numbers, positions in the order of ids, lengths, and values of its column."""

    numbers: Numbers
    id_places: Numbers
    lengths: Numbers
    values: list[Any] | None


def worth(keep: Keep, documents: KeepCandidates) -> tuple[Numbers, int]:
    """The position of each document, best first, ties broken by id; and the number of unreadable values."""
    unreadable = 0
    if keep.policy in ("first", "last"):
        key = documents.numbers if keep.policy == "first" else -documents.numbers
    elif keep.policy in (*EITHER, "none"):
        key = documents.lengths if keep.column is None else _lengths(documents.values or [])
        key = key if keep.policy == "shortest" else np.where(key == MISSING, key, -key)
    else:
        key, unreadable = _by_column(keep, documents.values or [])
    places = np.empty(len(documents.numbers), np.int64)
    places[np.lexsort((documents.id_places, key))] = np.arange(len(places))
    return places, unreadable


def _by_column(keep: Keep, values: list[Any]) -> tuple[Numbers, int]:
    """Sort keys, best first; a value that is missing or cannot be read comes last."""
    if keep.policy == "priority":
        places = {value: place for place, value in enumerate(keep.order)}
        return np.array([places.get(_word(value), len(places)) for value in values], np.int64), 0
    read = moment if keep.policy in ("newest", "oldest") else _number
    numbers = [None if value is None else read(value) for value in values]
    # Positions instead of the numbers themselves: Python compares large integers, decimals and floats exactly.
    distinct = sorted({number for number in numbers if number is not None})
    place = {number: k for k, number in enumerate(distinct)}
    sign = -1 if keep.policy in ("newest", "highest") else 1
    keys = [len(place) if number is None else sign * place[number] for number in numbers]
    missing = sum(number is None for number in numbers) - sum(value is None for value in values)
    return np.array(keys, np.int64), missing


def _lengths(values: list[Any]) -> Numbers:
    """The number of characters of each value; a missing value comes last either way."""
    return np.array([MISSING if value is None else len(_word(value)) for value in values], np.int64)


def _word(value: Any) -> str:
    """A value as files write it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Any) -> Any:
    """An exact number, or None."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return value if not isinstance(value, Decimal) or value.is_finite() else None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if number != number else number


def moment(value: Any) -> Any:
    """Seconds since 1970 of a date in any common form: ISO 8601, mail, Unix time, or a date object."""
    if isinstance(value, str):
        from email.utils import parsedate_to_datetime

        for read in (datetime.fromisoformat, parsedate_to_datetime):
            try:
                value = read(value.strip())
                break
            except (ValueError, TypeError, IndexError, OverflowError):
                continue
    try:
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        if hasattr(value, "toordinal"):
            return float((value.toordinal() - 719163) * 86400)
    except (OverflowError, ValueError):
        return None
    return _number(value)
