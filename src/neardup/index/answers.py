"""What an index answers with: stored documents, checks of new ones, and tables of matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from neardup.index.matches import FoundMatches, Match
from neardup.index.truth import Attributes, Id
from neardup.plan import Plan
from neardup.verify.weighted import TOLERANCE

Status = Literal["new", "copy", "near-duplicate"]


@dataclass(frozen=True)
class CheckedDocument:
    """Whether a document is new to an index: a copy of, or a near-duplicate of, the first of its matches."""

    status: Status
    matches: tuple[Match, ...] = ()

    @property
    def duplicate_of(self) -> Id | None:
        """The id of the closest indexed document."""
        return self.matches[0].id if self.matches else None


@dataclass(frozen=True)
class IndexedDocument:
    """A stored document."""

    id: Id
    text: str | None  # None: the index does not store texts
    characters: int
    tokens: int
    attributes: Attributes | None


def selected(
    plan: Plan, found: FoundMatches, threshold: float | None, limit: int | None = None
) -> FoundMatches:
    """The matches that reach a threshold, of each document at most so many; without a similarity they all do."""
    if threshold is not None:
        measured = found.containment if plan.check.measures == "containment" else found.similarity
        found = found.take(~(measured < threshold - TOLERANCE))
    if limit is not None:
        first = np.searchsorted(found.asked, found.asked)  # they are in the order of the documents
        found = found.take(np.arange(len(found)) - first < limit)
    return found


def match_table(queries: Sequence[Id], matches: Sequence[Match], learned: bool = False) -> pa.Table:
    """The matches of documents: query, id, similarity, containment, relation, and of a learned method probability."""
    columns = {
        "query": id_array(queries),
        "id": id_array([match.id for match in matches]),
        "similarity": pa.array([match.similarity for match in matches], pa.float64()),
        "containment": pa.array([match.containment for match in matches], pa.float64()),
        "relation": pa.array([match.relation for match in matches], pa.string()),
    }
    if learned:
        columns["probability"] = pa.array([match.probability for match in matches], pa.float64())
    return pa.table(columns)


def id_array(ids: Sequence[Id]) -> pa.Array:
    """Ids as they are; as strings where there are integers and strings, or none."""
    same = len({type(one) for one in ids}) == 1
    return pa.array(ids) if same else pa.array([str(one) for one in ids], pa.string())


def joined_tables(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables of matches as one; ids are strings if some of them are."""
    if not parts:
        return match_table([], [])
    columns = {name: alike([part.column(name) for part in parts]) for name in ("query", "id")}
    for name, values in columns.items():
        parts = [
            part.set_column(part.schema.get_field_index(name), name, column)
            for part, column in zip(parts, values, strict=True)
        ]
    return pa.concat_tables(parts)


def alike(columns: Sequence[Any]) -> list[Any]:
    """Columns of ids in one type: strings if some of them are; an empty one has no say."""
    kinds = {column.type for column in columns if len(column)}
    kind = next(iter(kinds)) if len(kinds) == 1 else pa.string()
    return [column if column.type == kind else column.cast(kind) for column in columns]
