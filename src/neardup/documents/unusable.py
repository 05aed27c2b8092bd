"""What was named as input and cannot be read at all: no columns, no rows, one problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from neardup.documents.problems import Problems
from neardup.documents.source import Batch

__all__ = ["UnusableSource"]


@dataclass(frozen=True)
class UnusableSource:
    """A folder that cannot be entered, say."""

    name: str
    reason: str
    format: str = "unusable"
    compression: str | None = None
    size: int | None = None
    rows: int | None = 0

    def names(self) -> list[str]:
        """No columns."""
        return []

    def schema(self) -> pa.Schema:
        """No columns."""
        return pa.schema([])

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """No batch, but the reason."""
        problems.add(self.name, self.reason)
        yield from ()
