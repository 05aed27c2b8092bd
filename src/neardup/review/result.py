"""A result in memory, read as a review reads the folder of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.documents import Problems
from neardup.engines.core.tables import cluster_table, pair_tables
from neardup.engines.local.run import LocalRun
from neardup.engines.local.write import run_report
from neardup.plan import Plan
from neardup.review.finished import FoundTexts, Mask, TableName
from neardup.verify.relation import COPY, RELATIONS, UNKNOWN


@dataclass(frozen=True)
class RunResult:
    """A finished run of the local engine."""

    run: LocalRun
    name: str = "neardup.dedup"
    finished_at: float = math.inf  # now: what it read is taken as unchanged

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report of the run."""
        return run_report(self.run, [])

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self.run.plan

    def table(self, name: TableName, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """A table in batches."""
        outcome = self.run.outcome
        tables = pair_tables(outcome) if name == "pairs" else [cluster_table(outcome)]
        for table in tables:
            yield from table.select(list(columns)).to_batches()

    def columns(self) -> list[str]:
        """The columns of the documents."""
        return list(dict.fromkeys(name for source in self.run.corpus.sources for name in source.names()))

    def documents(self, column: str) -> Iterator[tuple[pa.Array, Mask]]:
        """A column of all documents, and which of them are kept."""
        done, kept = 0, self.run.decisions.kept
        for source in self.run.corpus.sources:
            chosen = [column] if column in source.names() else source.names()[:1]
            for batch in source.read(chosen, Problems()):
                if column in chosen:
                    yield batch.columns.column(column), kept[done : done + len(batch)]
                done += len(batch)

    def in_references(self) -> Iterator[pa.RecordBatch]:
        """Documents that a reference has, with their matches."""
        found = self.run.decisions.referenced
        if found is None:
            return
        names = [None if number == UNKNOWN else RELATIONS[number] for number in found.relation.tolist()]
        yield pa.RecordBatch.from_pydict({
            "id": self.run.corpus.ids.take(pa.array(found.documents)),
            "duplicate_of": found.ids,
            "similarity": pa.array(found.similarity),
            "relation": pa.array(names, pa.string()),
            "evidence": pa.array(np.where(found.relation == COPY, "copy", "direct").tolist(), pa.string()),
            "duplicate_in": pa.array([found.names[number] for number in found.reference], pa.string()),
        })  # fmt: skip

    def texts(self, ids: set[str]) -> FoundTexts:
        """The texts of these documents, from the work folder."""
        sought = pa.array(sorted(ids), pa.string())
        rows = pc.indices_nonzero(pc.is_in(self.run.corpus.ids.cast(pa.string()), sought))
        numbers = rows.to_numpy().astype(np.int64)
        names = self.run.corpus.ids.take(pa.array(numbers)).cast(pa.string()).to_pylist()
        texts = self.run.corpus.spool.read(numbers).to_arrow(pa.large_string()).to_pylist()
        return FoundTexts(dict(zip(names, texts, strict=True)))
