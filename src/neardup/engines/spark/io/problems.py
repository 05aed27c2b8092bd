"""What is wrong with the input of a run on Spark, in the form in which the local engine reports it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neardup.documents import Problems, Source
from neardup.documents.problems import KEPT_PROBLEMS
from neardup.errors import InputError

ProblemCounts = dict[str, Any]  # total, kinds and first problems, as in a report


def no_documents(sources: Sequence[Source], told: ProblemCounts) -> InputError:
    """What the local engine says of input in which there is nothing."""
    first = next(iter(told["first"]), None)
    hint = ""
    if first is not None:
        record = "" if first["record"] is None else f", record {first['record']}"
        hint = f" ({first['file']}{record}: {first['reason']} ({first['action']}))"
    return InputError(f"There are no documents in {', '.join(source.name for source in sources[:3])}{hint}.")


def joined_problems(parts: Sequence[ProblemCounts]) -> ProblemCounts:
    """Problems of several parts of a run, one behind the other."""
    kinds: dict[str, int] = {}
    for part in parts:
        for kind, count in part["kinds"].items():
            kinds[kind] = kinds.get(kind, 0) + count
    first = [each for part in parts for each in part["first"]][:KEPT_PROBLEMS]
    return {"total": sum(kinds.values()), "kinds": kinds, "first": first}


def problem_counts(problems: Problems) -> ProblemCounts:
    """Problems as a report has them."""
    first = [each.as_dict() for each in problems.first]
    return {"total": problems.total, "kinds": dict(problems.counts), "first": first}
