"""Types of fields: their tokens are words, whole values, or the levels of a number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Bytes, Hashes, Numbers, Tokens
from neardup.errors import ParameterError

LEVELS = 16  # of a number, from the middle of its range to either end
LONGEST = 40  # characters of a number
KIND = re.compile(r"^(?P<name>.+?):(?P<kind>words|value|number:[^:]*:[^:]*|log:[^:]*:[^:]*|number|log)$")
STEP, STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """A range of numbers, whose ends weigh more than its middle (simhash thesis, 4.1)."""

    low: float
    high: float
    logarithmic: bool = False

    def levels(self, values: Floats) -> tuple[Numbers, Hashes]:
        """For each level that a value reaches, the value's index and the level's hash.

        A value in the middle of the range reaches no level, a value at an end all levels of that side. So both
        extremes weigh most, and close values have most of their levels in common. NaN reaches none.
        """
        low, high, known = self.low, self.high, ~np.isnan(values)
        if self.logarithmic:
            low, high = math.log(low), math.log(high)
            values = np.log(np.where(values > 0, values, self.low))
        share = np.clip((values - low) / (high - low), 0, 1) * 2 - 1
        share = np.where(known, share, 0)
        count = np.floor(np.abs(share) * LEVELS + 0.5).astype(np.int64)
        which = np.repeat(np.arange(len(values)), count)
        level = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + 1
        side = np.where(share[which] > 0, 1, 2).astype(np.uint64)
        hashes = (side * np.uint64(1 << 32) + level.astype(np.uint64)) * STEP
        return which, (hashes ^ hashes >> np.uint64(32)) * STIR


@dataclass(frozen=True)
class FieldType:
    """The type of a field, and the scale of a number."""

    name: Literal["words", "value", "number"]
    scale: Scale | None = None


def parse_fields(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns, and their types, of a list such as 'title, section:value, views:log:1:1000000'."""
    columns, types = [], []
    for part in (part.strip() for part in text.split(",")):
        if part:
            found = KIND.match(part)
            columns.append(found["name"] if found else part)
            types.append(found["kind"] if found else "words")
            parse_field_type(types[-1])
    return tuple(columns), tuple(types) if any(kind != "words" for kind in types) else ()


def parse_field_type(text: str) -> FieldType:
    """The type that 'words', 'value', 'number:LOW:HIGH' or 'log:LOW:HIGH' names."""
    name, *limits = text.split(":")
    if name in ("words", "value") and not limits:
        return FieldType(name)  # type: ignore[arg-type]
    try:
        low, high = (float(limit) for limit in limits)
        fits = name in ("number", "log") and math.isfinite(low) and math.isfinite(high) and low < high
    except ValueError:
        fits = False
    if not fits or (name == "log" and low <= 0):
        forms = "COLUMN, COLUMN:value, COLUMN:number:LOW:HIGH, or COLUMN:log:LOW:HIGH with LOW above 0"
        raise ParameterError("fields", "text", f"a list of {forms} (LOW below HIGH)", text)
    return FieldType("number", Scale(low, high, name == "log"))


def value_hashes(found: Tokens, chosen: Numbers) -> tuple[Numbers, Hashes]:
    """The chosen parts that have words, and one hash of all the words of each, in order."""
    sizes = np.diff(found.offsets)[chosen]
    chosen, sizes = chosen[sizes > 0], sizes[sizes > 0]
    starts = np.cumsum(sizes) - sizes
    place = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)
    words = found.hashes[np.repeat(found.offsets[chosen], sizes) + place]
    powers = np.concatenate([[np.uint64(1)], np.full(int(sizes.max(initial=0)), STIR)])
    powers = np.multiply.accumulate(powers)
    with np.errstate(over="ignore"):
        whole = np.add.reduceat((words ^ STEP) * powers[place], starts) if len(starts) else words
    whole = (whole ^ whole >> np.uint64(29)) * STIR
    return chosen, whole ^ whole >> np.uint64(32)


def read_numbers(data: Bytes, begins: Numbers, ends: Numbers) -> Floats:
    """The number in each span of bytes; NaN if it is not a finite number."""
    sizes = np.minimum(ends - begins, LONGEST + 1)
    grid = np.zeros((len(begins), LONGEST + 1), np.uint8)
    row = np.repeat(np.arange(len(begins)), sizes)
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    grid[row, place] = data[begins[row] + place]
    words = grid.view(f"S{LONGEST + 1}").ravel()
    words[words == b""] = b"nan"
    try:
        values = words.astype(np.float64)
    except ValueError:
        values = np.array([_number(word) for word in words.tolist()], np.float64)
    return np.where(np.isfinite(values) & (sizes <= LONGEST), values, np.nan)


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan
