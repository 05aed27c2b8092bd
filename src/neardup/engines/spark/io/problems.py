"""Problems of the input of a Spark run, in the form of the local engine's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neardup.documents import Problems, Source
from neardup.documents.problems import KEPT_PROBLEMS
from neardup.errors import InputError

ProblemCounts = dict[str, Any]  # total, kinds and first problems, as in a report


def no_documents(sources: Sequence[Source], problems: ProblemCounts) -> InputError:
    """The local engine's error for input without documents."""
    first = next(iter(problems["first"]), None)
    hint = ""
    if first is not None:
        record = "" if first["record"] is None else f", record {first['record']}"
        hint = f" ({first['file']}{record}: {first['reason']} ({first['action']}))"
    return InputError(f"There are no documents in {', '.join(source.name for source in sources[:3])}{hint}.")


def joined_problems(parts: Sequence[ProblemCounts]) -> ProblemCounts:
    """The sum of problems of several parts of a run."""
    kinds: dict[str, int] = {}
    for part in parts:
        for kind, count in part["kinds"].items():
            kinds[kind] = kinds.get(kind, 0) + count
    first = [each for part in parts for each in part["first"]][:KEPT_PROBLEMS]
    return {"total": sum(kinds.values()), "kinds": kinds, "first": first}


def problem_counts(problems: Problems) -> ProblemCounts:
    """Problems in the form of a report."""
    first = [each.as_dict() for each in problems.first]
    return {"total": problems.total, "kinds": dict(problems.counts), "first": first}
