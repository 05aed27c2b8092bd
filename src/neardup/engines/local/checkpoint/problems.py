"""Problems of the input that remember when they were met, so that a resumed run tells each of them once."""

from __future__ import annotations

import pyarrow as pa

from neardup.documents import Problem, Problems, Source
from neardup.engines.local.checkpoint.workspace import Workspace


class ResumableProblems(Problems):
    """Hands problems on, each with the number of documents that had come before it.

    A run that goes on reads some of the input a second time: what is met there before `known` documents have
    passed was told by the earlier run, whose problems are repeated from the work folder.
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
        """Put aside what came before so many documents had passed."""
        told = [vars(problem) for taken, problem in self._waiting if taken < documents]
        self._waiting = [entry for entry in self._waiting if entry[0] >= documents]
        if told:
            self._rows.add(pa.RecordBatch.from_pylist(told, SCHEMA))

    def resume(self, documents: int) -> None:
        """Tell what an earlier run has met before so many documents, and nothing of it again."""
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
