"""JSON files that others may have made: parsed within limits, and checked before anything is built from them.

A model, a plan, the header of statistics and the journal of a work folder come from a disk that others write to. Each
reader names the shape that it expects; the sentence of an `Invalid` says which member is wrong, and how.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

__all__ = ["Invalid", "check", "check_members", "parse_json", "read_json"]

MOST_BYTES = 256 << 20
DEEPEST = 64
LONGEST_NUMBER = 1 << 63  # whole numbers beyond do not fit any column


class Invalid(ValueError):
    """A value that does not have the expected shape."""


def read_json(path: Path, most: int = MOST_BYTES) -> Any:
    """The value of a file; OSError where it cannot be read, `Invalid` where it is not what we write."""
    with path.open("rb") as file:
        return parse_json(file.read(most + 1), most)


def parse_json(data: bytes | str, most: int = MOST_BYTES) -> Any:
    """The value of a JSON text; refused if it is long or deep, or has a number that is not finite."""
    if len(data) > most:
        raise Invalid(f"it is longer than {most:,} bytes")
    try:
        value = json.loads(data, parse_constant=_no_number, parse_int=_whole, parse_float=_finite)
    except RecursionError:
        raise Invalid("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise Invalid("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise Invalid(f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    if depth_above(value, DEEPEST):
        raise Invalid("it is nested too deeply")
    return value


def _no_number(name: str) -> Any:
    raise Invalid(f"{name} is not a finite number")


def _whole(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > LONGEST_NUMBER:
        raise Invalid(f"the number {digits[:20]}… is too large")
    return int(digits)


def _finite(digits: str) -> float:
    if not math.isfinite(float(digits)):
        raise Invalid(f"the number {digits[:20]} is too large")
    return float(digits)


def depth_above(value: Any, most: int) -> bool:
    """Whether lists and objects are nested deeper, found level by level."""
    level = [value]
    for _ in range(most):
        level = [item for one in level for item in _items(one)]
        if not level:
            return False
    return any(isinstance(item, (dict, list)) for item in level)


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def check_members(value: Any, shape: Mapping[str, Any], where: str = "it") -> dict[str, Any]:
    """The object itself, if it has each of these members with its type; others are allowed."""
    if not isinstance(value, dict):
        raise Invalid(f"{where} is {_kind(value)}, not an object")
    for name, hint in shape.items():
        if name not in value:
            raise Invalid(f"{name!r} is missing")
        check(value[name], hint, repr(name))
    return value


def check(value: Any, hint: Any, where: str) -> Any:
    """The value, if it has the type or is one of the literals."""
    if not fits(value, hint):
        raise Invalid(f"{where} is {_kind(value)}, not {describe(hint)}")
    return value


def fits(value: Any, hint: Any) -> bool:
    """Whether a value has a type: a class, X | Y, Literal, list[X], tuple[X, ...] or dict[str, X]."""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in get_args(hint))
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(hint))
    if origin in (list, tuple):
        return _fits_items(value, origin, get_args(hint))
    if origin is dict:
        return isinstance(value, dict) and all(fits(item, get_args(hint)[1]) for item in value.values())
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint in (int, str, bool, list, dict):
        return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    return isinstance(value, hint)


def _fits_items(value: Any, origin: Any, hints: tuple[Any, ...]) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    if origin is tuple and hints[1:] != (...,):
        return len(value) == len(hints) and all(map(fits, value, hints))
    return all(fits(item, hints[0]) for item in value)


def describe(hint: Any) -> str:
    """A type in words."""
    words = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "true or false",
        dict: "an object",
    }
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(describe(each) for each in get_args(hint))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if origin is dict:
        return "an object"
    if hint in (list, tuple) or origin in (list, tuple):
        return "a list" + (f" of {describe(get_args(hint)[0])} each" if get_args(hint) else "")
    return words.get(hint, "null" if hint in (None, types.NoneType) else getattr(hint, "__name__", str(hint)))


def _kind(value: Any) -> str:
    words = {bool: "true or false", list: "a list", tuple: "a list", dict: "an object", type(None): "null"}
    shown = f"the text {value[:40]!r}" if isinstance(value, str) else f"the number {value!r}"
    return words.get(type(value), shown)
