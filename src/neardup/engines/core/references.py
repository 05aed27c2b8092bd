"""Documents of a run that a reference has already: they are removed before the others are compared with each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.columns import Numbers
from neardup.verify.relation import COPY, RelationNumbers

if TYPE_CHECKING:
    from neardup.engines.core.decide import Decisions


@dataclass(frozen=True)
class ReferenceMatches:
    """The best match of each document that a reference has, and what the references are called."""

    names: tuple[str, ...]  # of the references
    documents: Numbers  # of the run, ascending
    ids: pa.Array  # of the matches
    reference: Numbers  # the place of each match's reference in `names`
    similarity: NDArray[np.float64]
    containment: NDArray[np.float64]
    relation: RelationNumbers
    within: bool = True  # whether the other documents are compared with each other
    problems: dict[str, Any] = field(default_factory=dict)  # of the references, as in the report

    def mask(self, documents: int) -> NDArray[np.bool_]:
        """Which of all documents a reference has."""
        found = np.zeros(documents, np.bool_)
        found[self.documents] = True
        return found

    @property
    def copies(self) -> int:
        """How many are exact copies."""
        return int((self.relation == COPY).sum())

    def report(self) -> dict[str, Any]:
        """Counts for the report."""
        removed = np.bincount(self.reference, minlength=len(self.names)).tolist()
        return {
            "references": [
                {"name": name, "removed": count} for name, count in zip(self.names, removed, strict=True)
            ],
            "removed": len(self.documents),
            "copies": self.copies,
            "within": self.within,
            "problems": self.problems,
        }


def without_referenced(decisions: Decisions, found: ReferenceMatches | None) -> Decisions:
    """The decisions, with the removal of documents that a reference has."""
    if found is None:
        return decisions
    kept = decisions.kept.copy()
    kept[found.documents] = False
    return replace(decisions, kept=kept, referenced=found)
