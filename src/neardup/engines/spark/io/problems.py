"""Problems of the input of a Spark run, in the form of the local engine's report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from neardup.documents import Problem, Problems, Source
from neardup.documents.problems import KEPT_PROBLEMS
from neardup.errors import NoDocuments

ProblemCounts = dict[str, Any]  # total, counts by kind and first problems, as in a report
FILE = 1 << 40  # the positions of a file start at its number times this


@dataclass(frozen=True)
class InputProblems:
    """How problems of documents are counted, and the files that positions refer to."""

    strict: bool = False
    files: tuple[str, ...] = ()

    def located(self) -> Problems:
        """Problems that name file and record instead of a position."""
        return _Located(self)


class _Located(Problems):
    def __init__(self, known: InputProblems) -> None:
        super().__init__(strict=known.strict)
        self._files = known.files

    def record(self, problem: Problem) -> None:
        """Counts one problem."""
        if not self._files or problem.record is None:
            super().record(replace(problem, record=None))
        else:
            file, record = divmod(problem.record, FILE)
            super().record(replace(problem, source=self._files[file], record=record))


def no_documents(sources: Sequence[Source], problems: ProblemCounts) -> NoDocuments:
    """The local engine's error for input without documents."""
    first = next(iter(problems["first"]), None)
    problem = ""
    if first is not None:
        record = "" if first["record"] is None else f", record {first['record']}"
        problem = f"{first['file']}{record}: {first['reason']} ({first['action']})"
    return NoDocuments((source.name for source in sources[:3]), problem)


def joined_problems(parts: Sequence[ProblemCounts]) -> ProblemCounts:
    """The sum of problems of several parts of a run."""
    counts: dict[str, int] = {}
    for part in parts:
        for kind, count in part["counts"].items():
            counts[kind] = counts.get(kind, 0) + count
    first = [each for part in parts for each in part["first"]][:KEPT_PROBLEMS]
    return {"total": sum(counts.values()), "counts": counts, "first": first}
