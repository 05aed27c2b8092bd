"""Fingerprints of documents by id, for any plan with a signature."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers
from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Corpus, Job
from neardup.engines.local.run import read_corpus
from neardup.errors import PlanError
from neardup.plan import Plan
from neardup.statistics import Statistics


@dataclass(frozen=True)
class Fingerprints:
    """Fingerprints of documents. A document without features has none: it is not present."""

    ids: list[Any]
    slots: NDArray[np.uint32]
    present: NDArray[np.bool_]
    digests: Hashes  # of the exact text and fields
    lengths: Numbers  # characters

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, number: int) -> bytes:
        """One fingerprint, 8 bytes for 64 bits."""
        return self.slots[number].astype("<u4").tobytes()


def check_fingerprints(plan: Plan) -> None:
    """Refuses a plan whose method has no fingerprints."""
    if not plan.joins or plan.candidates.level != "signatures":
        raise PlanError(f"The method {plan.method} has no fingerprints; use --method simhash.")


def fingerprint(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns | None = None,
    *,
    statistics: Statistics | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    problems: Problems | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Fingerprints:
    """The fingerprint of every document; weights by document frequency require frozen statistics."""
    check_fingerprints(plan)
    if plan.counts and statistics is None:
        raise PlanError(
            "These weights depend on document frequencies, which change with every crawl. Give frozen statistics "
            "(--stats), or choose weights without tfidf, for example --weights tf."
        )
    with Workspace(folder=folder) as work:
        corpus = signed_corpus(plan, sources, work, columns, statistics, problems, progress, threads)
    assert corpus.signatures is not None
    slots, present = corpus.signatures.slots, corpus.signatures.present
    return Fingerprints(corpus.ids.to_pylist(), slots, present, corpus.digests, corpus.lengths)


def signed_corpus(
    plan: Plan,
    sources: Sequence[Source],
    work: Workspace,
    columns: InputColumns | None,
    statistics: Statistics | None,
    problems: Problems | None,
    progress: Progress | None,
    threads: int,
) -> Corpus:
    """The documents of the sources with their signatures."""
    columns, problems, progress = columns or InputColumns(), problems or Problems(), progress or Progress()
    return read_corpus(Job(plan, sources, work, columns, problems, progress, threads), statistics)


def bits_apart(left: bytes, right: bytes) -> int:
    """The number of bits in which two fingerprints differ."""
    return (int.from_bytes(left, "little") ^ int.from_bytes(right, "little")).bit_count()
