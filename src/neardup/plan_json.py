"""Stages to JSON and back: a plan from elsewhere may name our stages and nothing else, with values of their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from neardup.checked_json import Invalid, check
from neardup.errors import PlanError

__all__ = ["decode", "encode"]

FOLDERS = ("text", "features", "weights", "learn", "signatures", "candidates", "verify", "clusters", "plan")
# Fields that arrays are made as large as; the registry allows as much.
SIZES = (
    "slots",
    "bits",
    "bands",
    "groups",
    "width",
    "rows",
    "lexicons",
    "levels",
    "most",
    "chain",
    "count",
    "pivots",
)
LARGEST = 65536


def encode(value: Any) -> Any:
    """A stage as plain values: its class by name, and its fields."""
    if is_dataclass(value) and not isinstance(value, type):
        module = type(value).__module__.removeprefix("neardup.")
        members = {field.name: encode(getattr(value, field.name)) for field in fields(value)}
        return {"stage": f"{module}.{type(value).__qualname__}", **members}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def decode(value: Any) -> Any:
    """The stage that `encode` made plain; `Invalid` or PlanError if it is none of ours."""
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    name = value.get("stage")
    kind = stage_class(name)
    known = {field.name for field in fields(kind)}
    members = {key: decode(item) for key, item in value.items() if key != "stage"}
    if set(members) - known:
        raise PlanError(f"The stage {name} has no {sorted(set(members) - known)}; it knows {sorted(known)}.")
    for field, member in members.items():
        check_field(kind, field, member)
    try:
        return kind(**members)
    except TypeError as error:  # a field without a default is missing
        raise PlanError(f"The stage {name} is incomplete: it needs {sorted(known)}.") from error


def stage_class(name: object) -> type[Any]:
    """The class of a stage; only modules that stages are in are loaded."""
    module, _, kind = str(name).rpartition(".")
    found = getattr(import_module(stage_modules()[module]), kind, None) if module in stage_modules() else None
    if not (isinstance(found, type) and is_dataclass(found)):
        raise PlanError(f"The plan names a stage {name!r} that this version of neardup does not have.")
    return found


@cache
def stage_modules() -> Mapping[str, str]:
    """The modules with stages by the name that a plan gives them, from our own files."""
    root = Path(__file__).parent
    paths = (path.relative_to(root).with_suffix("").parts for path in root.rglob("*.py"))
    names = (".".join(parts) for parts in paths if parts[0] in FOLDERS)
    return {name: f"neardup.{name}" for name in names}


def check_field(kind: type[Any], field: str, value: Any) -> None:
    """Refuse a value that is not of the field's type, and a size that nobody means."""
    where = f"{field!r} of {kind.__qualname__}"
    hints: Any = field_types  # a class is hashable, which mypy denies
    check(value, hints(kind)[field], where)
    if field in SIZES and isinstance(value, int) and not 0 <= value <= LARGEST:
        raise Invalid(f"{where} is {value}, not from 0 to {LARGEST}")


@cache
def field_types(kind: type[Any]) -> dict[str, Any]:
    """The types of a stage's fields, with a test for stages where a protocol is asked for."""
    return {name: _checkable(hint) for name, hint in get_type_hints(kind).items()}


def _checkable(hint: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(_checkable(each) for each in get_args(hint))]  # noqa: UP007 - of a computed tuple
    if get_origin(hint) is tuple:
        return tuple[tuple(each if each is ... else _checkable(each) for each in get_args(hint))]  # type: ignore[misc]
    if is_dataclass(hint) or getattr(hint, "_is_protocol", False):
        return AnyStage
    return hint


class _AnyStage(type):
    def __instancecheck__(cls, value: object) -> bool:
        return is_dataclass(value)


class AnyStage(metaclass=_AnyStage):
    """Every stage is an instance: which one fits is the plan's own matter."""
