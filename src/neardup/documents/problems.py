"""Problems of the input: counted by kind, the first hundred in memory, the others on disk.

A problem names the file, the record or offset, the reason, and the action taken. It never holds text of a document:
reasons are fixed phrases, or a parser's message about structure.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from neardup.errors import OutputError, RecordError
from neardup.escapes import escape_controls

KEPT_PROBLEMS = 100


@dataclass(frozen=True)
class Problem:
    """A bad record or file, and the action taken."""

    source: str
    record: int | None
    offset: int | None
    reason: str
    action: str

    def __str__(self) -> str:
        where = self.source if self.record is None else f"{self.source}, record {self.record}"
        return escape_controls(f"{where}: {self.reason} ({self.action})")

    @property
    def kind(self) -> str:
        """The reason up to the first colon ("invalid JSON: line ends too early")."""
        return self.reason.partition(":")[0]

    def as_dict(self) -> dict[str, Any]:
        """The problem as a JSON object: a line of problems.jsonl."""
        return {
            "file": self.source,
            "record": self.record,
            "offset": self.offset,
            "kind": self.kind,
            "reason": self.reason,
            "action": self.action,
        }


@dataclass
class Problems:
    """The problems of a run: counted by kind, the first hundred kept, the others on disk in `folder`."""

    strict: bool = False
    sink: Callable[[Problem], None] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    first: list[Problem] = field(default_factory=list)
    folder: str | os.PathLike[str] | None = None
    _spilled: IO[str] | None = field(default=None, repr=False)
    _late: set[Problem] = field(default_factory=set, repr=False)

    @property
    def total(self) -> int:
        """The number of problems of all kinds."""
        return sum(self.counts.values())

    def add(
        self,
        source: str,
        reason: str,
        *,
        record: int | None = None,
        offset: int | None = None,
        action: str = "skipped",
    ) -> None:
        """Record a problem; a strict run stops here."""
        self.record(Problem(source, record, offset, reason, action))

    def record(self, problem: Problem) -> None:
        """Count and store a problem; a strict run stops here."""
        if self.strict:
            raise RecordError(str(problem).rpartition(" (")[0] + "; without --strict the run would continue")
        self.counts[problem.kind] = self.counts.get(problem.kind, 0) + 1
        if len(self.first) < KEPT_PROBLEMS:
            self.first.append(problem)
        else:
            self._spill(problem)
        if self.sink is not None:
            self.sink(problem)

    def add_late(self, problem: Problem) -> None:
        """Record a problem of a second read: only damaged columns, which no first read meets, each of them once."""
        if problem.kind == "damaged column" and problem not in self._late:
            self._late.add(problem)
            self.record(problem)

    def _spill(self, problem: Problem) -> None:
        try:
            if self._spilled is None:
                self._spilled = tempfile.TemporaryFile(  # noqa: SIM115 - open as long as the run
                    "w+", prefix="neardup-problems-", dir=self.folder, encoding="utf-8", newline="\n"
                )
            self._spilled.write(_line(problem))
        except OSError as error:
            raise OutputError(
                f"The work folder cannot be written: {error.strerror}; choose another one with --work-dir."
            ) from None

    def lines(self) -> Iterator[str]:
        """All problems in order, each as one line of JSON."""
        yield from map(_line, self.first)
        if self._spilled is not None:
            self._spilled.seek(0)
            yield from self._spilled
            self._spilled.seek(0, os.SEEK_END)

    def write(self, path: Path) -> None:
        """Write problems.jsonl."""
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(self.lines())


def _line(problem: Problem) -> str:
    # ASCII with escapes: a file name with strange characters cannot break a line or a terminal.
    return json.dumps(problem.as_dict()) + "\n"
