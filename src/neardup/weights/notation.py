"""The notation of weights: "tfidf, position(1/x), low(0.01)" as stages, in that order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neardup.errors import ParameterError
from neardup.plan import Feature, Weight
from neardup.plurals import counted
from neardup.text.field_types import LEVELS, parse_field_type
from neardup.text.tagged import TAGS
from neardup.weights.counts import Counts
from neardup.weights.fields import FieldShare, FlipWeight
from neardup.weights.frequency import TfIdf
from neardup.weights.position import Position, TagBoost
from neardup.weights.shape import Damp, Middle, Threshold, Top, TopShare

Maker = Callable[..., Weight]


def _choice(*known: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise ValueError("one of " + ", ".join(known))
        return text

    return read


def _number(low: float, high: float, kind: type = float) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            noun = "a whole number" if kind is int else "a number"
            raise ValueError(f"{noun} from {low:g} to {high:g}")
        return value

    return read


SHARE, FACTOR, COUNT = _number(0, 1), _number(0, 1e6), _number(1, 1e9, int)
TF, IDF = _choice("count", "log", "once"), _choice("log", "inverse", "normalised", "smooth")

# Each name: how its values are read, in order (all may be left out), and the stage that they make.
KNOWN: Mapping[str, tuple[tuple[Callable[[str], Any], ...], Maker]] = {
    "tf": ((), lambda of: Counts()),
    "tfidf": ((IDF, TF), lambda of, idf="log", tf="count": TfIdf(of, tf, idf)),
    "position": ((str,), lambda of, function="log(x)/x": Position(of, function)),
    "low": ((SHARE,), lambda of, share=0.1: Threshold(share)),
    "high": ((SHARE,), lambda of, share=0.3: Threshold(share)),
    "top": ((COUNT,), lambda of, count=20: Top(count)),
    "top_share": ((SHARE,), lambda of, share=0.1: TopShare(share)),
    "middle": ((SHARE, SHARE), lambda of, low=0.1, high=0.5: Middle(low, high)),
    "damp": ((COUNT, FACTOR), lambda of, rank=5, factor=1.0: Damp(rank, factor)),
    "tags": ((FACTOR, _choice(*TAGS)), lambda of, factor=1.5, *tags: TagBoost(of, factor, tags or TAGS)),
    "fields": ((FACTOR,), lambda of, share=1.0: FieldShare(share)),
}


def parse_weights(
    text: str,
    of: Feature,
    *,
    fields: Sequence[str] = (),
    types: Sequence[str] = (),
    bits: int = 64,
    seed: int = 1,
) -> tuple[Weight, ...]:
    """The stages of a list of names; field(…) and flip(…) may name one of `fields`."""
    found = [_stage(part, of, fields, bits, seed) for part in split_outside(text) if part]
    numbers = [place + 1 for place, kind in enumerate(types) if parse_field_type(kind).name == "number"]
    return tuple(stage for one in found for stage in _shared_out(one, numbers))


def _shared_out(stage: Weight, numbers: Sequence[int]) -> Iterator[Weight]:
    """A share of the largest weight belongs to a number as a whole, which is up to LEVELS features."""
    if not isinstance(stage, FieldShare):
        yield stage
        return
    level = replace(stage, share=stage.share / LEVELS**0.5)
    if stage.field in numbers:
        yield level
        return
    yield stage
    if stage.field == 0:
        yield from (replace(level, field=number) for number in numbers)


def split_outside(text: str) -> list[str]:
    """The parts between commas that stand outside parentheses."""
    parts, depth, start = [], 0, 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    if depth:
        raise ParameterError("weights", "the method", "a list with as many '(' as ')'", text)
    return [*parts, text[start:].strip()]


def _stage(part: str, of: Feature, fields: Sequence[str], bits: int, seed: int) -> Weight:
    name, _, rest = part.partition("(")
    name, given = name.strip(), rest.strip()[:-1] if rest else ""
    if rest and not rest.rstrip().endswith(")"):
        raise ParameterError(
            "weights", "the method", "names with values in parentheses, separated by commas", part
        )
    values = (
        [value for value in split_outside(given) if value] if name != "position" else [given][: bool(given)]
    )
    if name in ("field", "flip"):
        return _of_field(part, name, values, fields, bits, seed)
    if name not in KNOWN:
        known = ", ".join([*KNOWN, "field(NAME, share)", "flip(NAME, probability)"])
        raise ParameterError("weights", "the method", f"made of {known}", part)
    readers, make = KNOWN[name]
    if len(values) > len(readers) and name != "tags":
        raise ParameterError(
            "weights", "the method", f"{name} with at most {counted(len(readers), 'value')}", part
        )
    readers = (*readers, *([readers[-1]] * (len(values) - len(readers)) if readers else ()))
    return make(of, *(_read(read, value, part) for read, value in zip(readers, values, strict=False)))


def _of_field(part: str, name: str, values: list[str], fields: Sequence[str], bits: int, seed: int) -> Weight:
    if not values or values[0] not in fields or len(values) > 2:
        known = ", ".join(fields) or "none were given"
        raise ParameterError(
            "weights", "the method", f"{name}(NAME, number) of one of the fields ({known})", part
        )
    number = list(fields).index(values[0]) + 1
    if name == "field":
        return FieldShare(_read(FACTOR, values[1], part) if len(values) > 1 else 1.0, number)
    chance = _read(_number(0, 1), values[1], part) if len(values) > 1 else 0.99
    return FlipWeight(number, chance, bits, seed)


def _read(read: Callable[[str], Any], value: str, part: str) -> Any:
    try:
        return read(value)
    except ValueError as error:
        raise ParameterError(
            "weights", "the method", f"{part.partition('(')[0]} with {error}", part
        ) from None
