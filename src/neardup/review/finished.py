"""What a review reads of a run, wherever it is stored; and columns of its tables as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.plan import Plan

__all__ = ["Finished", "FoundTexts", "booleans", "floats", "names_of", "strings"]

TableName = Literal["pairs", "clusters"]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FoundTexts:
    """Texts by id, and sentences about what could not be read."""

    texts: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Finished(Protocol):
    """A run that has ended."""

    @property
    def name(self) -> str:
        """What the run is called in a title."""

    @property
    def report(self) -> dict[str, Any]:
        """The report of the run."""

    @property
    def plan(self) -> Plan:
        """The plan that was run."""

    @property
    def finished_at(self) -> float:
        """When it ended, as Unix time."""

    def table(self, name: TableName, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """A table in batches."""

    def columns(self) -> list[str]:
        """The columns of documents that can be counted."""

    def documents(self, column: str) -> Iterator[tuple[pa.Array, Mask]]:
        """A column of all documents in batches, and which of them are kept."""

    def in_references(self) -> Iterator[pa.RecordBatch]:
        """Documents that a reference of `--against` has: id, duplicate_of, similarity, containment, relation, evidence,
        duplicate_in."""

    def texts(self, ids: set[str]) -> FoundTexts:
        """The texts of these documents, as they were compared."""


def strings(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column as strings; an empty cell of csv is null."""
    array = batch.column(name).cast(pa.string())
    return pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)


def names_of(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of ids as strings."""
    return batch.column(name).cast(pa.string()).fill_null("")


def floats(batch: pa.RecordBatch, name: str) -> NDArray[np.float64]:
    """A column as numbers; null is NaN."""
    array = batch.column(name)
    array = (
        strings(batch, name)
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        else array
    )
    return array.cast(pa.float64()).to_numpy(zero_copy_only=False)


def booleans(batch: pa.RecordBatch, name: str) -> Mask:
    """A column as truth values; null is false."""
    array = batch.column(name)
    return array.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)
