"""A block for datatrove pipelines: near-duplicates of what passes are removed, verified, and given to a writer.

LocalPipelineExecutor([JsonlReader("in"), NearDuplicates(threshold=0.8), JsonlWriter("out")], tasks=1)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pyarrow as pa

from neardup.errors import MissingExtra, ParameterError

try:
    from datatrove.pipeline.base import PipelineStep
except ImportError:
    raise MissingExtra("datatrove", "datatrove", "neardup.integrations.datatrove") from None

__all__ = ["NearDuplicates"]

SCHEMA = pa.schema([("id", pa.string()), ("text", pa.large_string())])


class NearDuplicates(PipelineStep):  # type: ignore[misc]
    """Keeps one document of each cluster of near-duplicates among those that one task reads.

    All documents of a task are compared with each other, so they wait in memory for the last one. Tasks do not see each
    other's documents: more than one task needs `per_task=True`, or an `against` index.

    Args:
        exclusion_writer: A datatrove writer of the removed documents, with the reason in their metadata.
        per_task: Allow several tasks, each with its own documents.
        options: The options of `neardup.dedup`: method, preset, threshold, keep, against, memory, …
    """

    type = "🫂 - DEDUP"
    name = "🔎 near-duplicates (neardup)"

    def __init__(self, exclusion_writer: Any = None, *, per_task: bool = False, **options: Any) -> None:
        super().__init__()
        self.exclusion_writer, self.per_task, self.options = exclusion_writer, per_task, options

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """The documents that are kept, in order."""
        from neardup.api import dedup

        if world_size > 1 and not self.per_task:
            raise ParameterError("tasks", "NearDuplicates", "1, or more with per_task=True", world_size)
        with self.track_time():
            documents = list(data or ())
            rows = [{"id": str(one.id), "text": one.text} for one in documents]
            if not rows:
                return
            table = pa.Table.from_pylist(rows, SCHEMA)
            found = dedup(table, **{"duplicate_ids": "rename", **self.options}).annotations
        with self.exclusion_writer if self.exclusion_writer else nullcontext() as writer:
            for document, decision in zip(documents, found.to_pylist(), strict=True):
                if self._keeps(document, decision):
                    yield document
                elif writer is not None:
                    writer.write(document, rank)

    def _keeps(self, document: Any, decision: dict[str, Any]) -> bool:
        """Whether a document stays; one that goes gets the reason in its metadata."""
        self.stat_update("total")
        if decision["keep"]:
            self.stat_update("forwarded")
            self.update_doc_stats(document)
            return True
        self.stat_update("dropped")
        reason = {
            name: decision[name] for name in ("cluster", "duplicate_of", "similarity") if name in decision
        }
        document.metadata |= {f"neardup_{name}": value for name, value in reason.items()}
        return False
