"""Candidates to matches: every candidate that an index finds is compared as `neardup pairs` compares it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers, Pairs, Signatures
from neardup.engines.core.compare import compared_values
from neardup.index.signed import SignedDocuments, Signer, joined
from neardup.index.truth import Id, StoredRows
from neardup.verify.cosine import probabilities
from neardup.verify.relation import COPY, RELATIONS, relations


@dataclass(frozen=True)
class Match:
    """An indexed document that a text is a near-duplicate of, and how the text relates to it."""

    id: Id
    similarity: float | None  # None: the method measures nothing
    containment: float | None
    relation: (
        str | None
    )  # copy, near-duplicate, contains or contained; None where only signatures are compared
    probability: float | None = None  # of a method that has learned from labels


@dataclass(frozen=True)
class FoundMatches:
    """Matches of a batch: which of the batch, which of the rows, and the evidence, best first for each of the batch."""

    asked: Numbers
    rows: Numbers
    similarity: NDArray[np.float64]
    containment: NDArray[np.float64]
    relation: NDArray[np.int8]
    probability: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.asked)

    def take(self, some: Numbers | NDArray[np.bool_] | slice) -> FoundMatches:
        """Some of the matches."""
        likely = None if self.probability is None else self.probability[some]
        return FoundMatches(
            self.asked[some],
            self.rows[some],
            self.similarity[some],
            self.containment[some],
            self.relation[some],
            likely,
        )

    def best_first(self, seqs: Numbers) -> Numbers:
        """The order by document and similarity: copies before others of similarity 1, ties in the order of adding."""
        return np.lexsort((seqs[self.rows], self.relation != COPY, -self.similarity, self.asked))

    def match(self, number: int, stored: StoredRows) -> Match:
        """One match."""
        relation = int(self.relation[number])
        return Match(
            stored.ids[int(self.rows[number])],
            _number(self.similarity[number]),
            _number(self.containment[number]),
            RELATIONS[relation] if relation >= 0 else None,
            None if self.probability is None else _number(self.probability[number]),
        )


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def find_matches(
    signer: Signer, documents: SignedDocuments, rows: StoredRows, asked: Numbers, place: Numbers
) -> FoundMatches:
    """The matches among candidates: pairs of a document that is asked about and the place of a stored row."""
    if len(asked) == 0:
        return _none()
    copies = (
        (documents.digests[asked, 0] == rows.low[place])
        & (documents.digests[asked, 1] == rows.high[place])
        & (documents.made.tokens[asked] > 0)
    )
    pairs = _measured(signer, documents, rows, asked[~copies], place[~copies])
    passed = pairs.take(signer.plan.check.passes(pairs, signer.plan.threshold))
    ones = np.ones(int(copies.sum()))
    similarity = np.concatenate([ones, passed.similarity])
    relation = relations(passed, signer.plan.check, signer.plan.threshold)
    found = FoundMatches(
        np.concatenate([asked[copies], passed.left]),
        np.concatenate([place[copies], passed.right]),
        similarity,
        np.concatenate([ones, passed.containment]),
        np.concatenate([np.full(len(ones), COPY, np.int8), relation]),
        probabilities(signer.plan.check, similarity),
    )
    return found.take(found.best_first(rows.seqs))


def _none() -> FoundMatches:
    numbers, values = np.zeros(0, np.int64), np.zeros(0)
    return FoundMatches(numbers, numbers, values, values, np.zeros(0, np.int8), None)


def _measured(
    signer: Signer, documents: SignedDocuments, rows: StoredRows, asked: Numbers, place: Numbers
) -> Pairs:
    """The evidence of candidates."""
    asked, place = _near_enough(signer, documents, rows, asked, place)
    if len(asked) == 0:
        return Pairs.concatenate([])
    if signer.plan.check.level == "none":
        return signer.plan.check.measure(None, asked, place)
    values = joined([signer.compared(documents), signer.compared_rows(rows)])
    if not isinstance(values, Signatures):
        values = compared_values(signer.plan, values)
    found = signer.plan.check.measure(values, asked, place + len(documents))
    return replace(found, left=asked, right=place)


def _near_enough(
    signer: Signer, documents: SignedDocuments, rows: StoredRows, asked: Numbers, place: Numbers
) -> tuple[Numbers, Numbers]:
    """The candidates within the Hamming distance, where another similarity decides among them."""
    plan = signer.plan
    if plan.candidates.distribution != "hamming" or plan.join_decides or len(asked) == 0:
        return asked, place
    made = documents.made.signatures
    assert made is not None
    both: Signatures = joined([made, signer.stored_signatures(rows)])
    apart = np.zeros(len(asked), np.int64)
    kernels.bits.hamming(both.slots, asked, place + len(documents), apart)
    near = apart <= plan.candidates.distance(plan.threshold)  # type: ignore[attr-defined]
    return asked[near], place[near]
