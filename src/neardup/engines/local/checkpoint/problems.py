"""Problems of the input with the place they were met at, so that a resumed run reports each of them once."""

from __future__ import annotations

import pyarrow as pa

from neardup.documents import Problem, Problems, Source
from neardup.engines.local.checkpoint.workspace import Workspace


class ResumableProblems(Problems):
    """Hands problems on, each with the number of documents before it.

    A resumed run reads some of the input a second time: what it meets before `known` documents was reported by the
    earlier run, whose problems are repeated from the work folder.
    """

    def __init__(self, problems: Problems, work: Workspace) -> None:
        super().__init__(strict=problems.strict)
        self.taken = 0  # documents that have come out of the sources
        self.harmed: set[str] = set()  # sources of which an earlier run could not use everything
        self._known, self._to, self._rows = 0, problems, work.rows("problems")
        self._waiting: list[tuple[int, Problem]] = []
        self._resumable = work.path is not None

    def record(self, problem: Problem) -> None:
        """Count one problem, unless an earlier run did."""
        if self.taken < self._known:
            return
        if self._resumable:
            self._waiting.append((self.taken, problem))
        self._to.record(problem)

    def keep(self, documents: int) -> None:
        """Store the problems before so many documents."""
        stored = [vars(problem) for taken, problem in self._waiting if taken < documents]
        self._waiting = [entry for entry in self._waiting if entry[0] >= documents]
        if stored:
            self._rows.add(pa.RecordBatch.from_pylist(stored, SCHEMA))

    def resume(self, documents: int) -> None:
        """Report what an earlier run met before so many documents, and nothing of it a second time."""
        self._known = documents
        columns = [self._rows.column(name).to_pylist() for name in SCHEMA.names] if len(self._rows) else []
        for values in zip(*columns, strict=True):
            problem = Problem(*values)
            self.harmed.add(problem.source)
            self._to.record(problem)

    def spared(self, source: Source) -> bool:
        """Whether an earlier run could use everything that it read of a source: that need not be read again."""
        return not self.harmed or (hasattr(source, "path") and source.name not in self.harmed)


SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("record", pa.int64()),
        ("offset", pa.int64()),
        ("reason", pa.string()),
        ("action", pa.string()),
    ]
)
