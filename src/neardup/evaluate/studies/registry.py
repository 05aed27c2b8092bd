"""The registry of studies."""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from neardup.errors import ParameterError
from neardup.evaluate.studies.data import DataFolder

Cell = str | int | float | None


@dataclass(frozen=True)
class StudyTable:
    """A table of our figures beside the paper's."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default_factory=tuple)  # why they differ
    plot: bool = False  # drawn as a figure: the other columns by the first
    measure: str = "max F1"  # what the other columns of a figure are


@dataclass(frozen=True)
class Study:
    """A table or figure of a paper that can be reproduced."""

    name: str
    source: str  # paper and table
    summary: str
    needs: tuple[str, ...]  # folders of labelled data
    run: Callable[[DataFolder], list[StudyTable]]


OWN = "own_data"  # runs on the user's own folder, and only by its name
_STUDIES: dict[str, Study] = {}


Tables = Callable[[DataFolder], Iterable[StudyTable]]


def study(source: str, *needs: str) -> Callable[[Tables], Tables]:
    """Register a study under its function's name; the first line of its docstring is its summary."""

    def register(function: Tables) -> Tables:
        summary = (inspect.getdoc(function) or "").partition("\n")[0]
        _STUDIES[function.__name__] = Study(
            function.__name__, source, summary, needs, lambda data: list(function(data))
        )
        return function

    return register


@cache
def _load() -> None:
    package = import_module("neardup.evaluate.studies")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")


def studies() -> Mapping[str, Study]:
    """All studies by name."""
    _load()
    return dict(sorted(_STUDIES.items()))


def find_studies(patterns: Sequence[str]) -> list[Study]:
    """The studies of these names, in order and each once; 'all' and patterns ('andd_*') work too."""
    found: dict[str, Study] = {}
    for pattern in patterns:
        known = [name for name in studies() if name != OWN]
        matching = fnmatch.filter(known, "*" if pattern == "all" else pattern)
        for name in matching or [pattern]:
            found[name] = get_study(name)
    return list(found.values())


def get_study(name: str) -> Study:
    """The study of this name, or an error that lists the known ones."""
    known = studies()
    if name not in known:
        raise ParameterError("name", "study", "one of " + ", ".join(known), name)
    return known[name]
