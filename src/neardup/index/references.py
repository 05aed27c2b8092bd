"""Indexes and corpora that documents are checked against: what they have is removed, and nothing of them is written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.columns import Numbers
from neardup.documents import LIMITS, Limits, Problems, Source
from neardup.documents.given import as_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.identity import distinct_texts
from neardup.engines.core.progress import Progress
from neardup.engines.core.references import ReferenceMatches
from neardup.engines.core.report import problem_counts
from neardup.engines.local.checkpoint.budget import MemoryBudget
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Corpus
from neardup.engines.local.representations import spooled_chunks
from neardup.errors import ParameterError, PlanError
from neardup.index.answers import alike, id_array, joined_tables
from neardup.index.bulk import Addition
from neardup.index.frequencies import counted_statistics
from neardup.index.index import Index
from neardup.index.inputs import AttributeColumns, InputChunk, input_chunks, with_policy
from neardup.index.opened import POSTGRES, differences, index_plan
from neardup.index.truth import Id
from neardup.index.truth.sqlite import SqliteTruth
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.verify.relation import COPY, RELATIONS, UNKNOWN, RelationNumbers
from neardup.workers import ordered_map


def is_index(given: Any) -> bool:
    """Whether this is an index, or the path or address of one."""
    if isinstance(given, Index):
        return True
    if not isinstance(given, (str, os.PathLike)):
        return False
    name = os.fspath(given)
    return name.startswith(POSTGRES) or SqliteTruth.exists(Path(name))


@dataclass(frozen=True)
class _Best:
    """The best match of a document."""

    document: int
    id: Id
    reference: int
    similarity: float
    containment: float
    relation: int


@dataclass(frozen=True)
class _BestMatches:
    """Best matches as columns: 33 bytes a match beside its id, where objects would take ten times as much."""

    document: Numbers
    ids: pa.Array
    reference: NDArray[np.int32]
    similarity: NDArray[np.float64]
    containment: NDArray[np.float64]
    relation: RelationNumbers

    @staticmethod
    def of(found: Sequence[_Best]) -> _BestMatches:
        """The columns of some matches."""
        return _BestMatches(
            np.array([best.document for best in found], np.int64),
            id_array([best.id for best in found]),
            np.array([best.reference for best in found], np.int32),
            np.array([best.similarity for best in found], np.float64),
            np.array([best.containment for best in found], np.float64),
            np.array([best.relation for best in found], np.int8),
        )

    @staticmethod
    def joined(parts: Sequence[_BestMatches]) -> _BestMatches:
        """All matches, by document."""
        parts = parts or [_BestMatches.of([])]
        order = np.argsort(np.concatenate([part.document for part in parts]), kind="stable")
        ids = pa.chunked_array(alike([part.ids for part in parts])).combine_chunks().take(pa.array(order))
        return _BestMatches(
            np.concatenate([part.document for part in parts])[order],
            ids,
            np.concatenate([part.reference for part in parts])[order],
            np.concatenate([part.similarity for part in parts])[order],
            np.concatenate([part.containment for part in parts])[order],
            np.concatenate([part.relation for part in parts])[order],
        )


class References:
    """What `--against` names, as open indexes; corpora become indexes in a temporary folder."""

    def __init__(
        self,
        given: Sequence[Any],
        plan: Plan,
        *,
        statistics: Statistics | None = None,
        columns: InputColumns | None = None,
        limits: Limits = LIMITS,
        threads: int = 1,
        folder: str | os.PathLike[str] | None = None,
        memory: MemoryBudget | None = None,
    ) -> None:
        """Opens the references.

        Args:
            given: Paths, addresses or objects of indexes, and paths or data of corpora.
            plan: The plan of the run, which indexes must have been made with.
            statistics: Document frequencies that the user gave.
            columns: The columns of corpora.
            limits: Limits on the size of records and of unpacked files of corpora.
            threads: Threads to use.
            folder: Where temporary indexes lie.
            memory: Memory to count document frequencies with.
        """
        if not given:
            raise ParameterError("against", "dedup", "an index or a corpus, or several", given)
        self._stack = ExitStack()
        self.names: list[str] = []
        self._given, self._columns = list(given), columns or InputColumns()
        self._limits, self._threads, self._folder, self._memory = limits, threads, folder, memory
        self.indexes: list[Index] = []
        self.problems = Problems()  # of corpora
        try:
            opened = {place: self._open(one) for place, one in enumerate(given) if is_index(one)}
            self.plan, self.statistics = _agreed(list(opened.values()), plan, statistics)
            self._opened = opened
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> References:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _open(self, given: Any) -> Index:
        return (
            given
            if isinstance(given, Index)
            else self._stack.enter_context(Index(given, threads=self._threads))
        )

    def prepare(self, sources: Sequence[Source], progress: Progress, problems: Problems) -> None:
        """Make indexes of the corpora. Document frequencies are counted over them and the documents to check."""
        self.problems = problems
        corpora = {
            place: as_inputs(one, None, self._limits, html_text=self._columns.html_text)[0]
            for place, one in enumerate(self._given)
            if place not in self._opened
        }
        if self.plan.counts and self.statistics is None:
            everything = [*sources, *(source for inputs in corpora.values() for source in inputs)]
            loose = replace(self._columns, duplicate_ids="rename")  # ids of one corpus may occur in another
            with Workspace(folder=self._folder, memory=self._memory) as work:
                self.statistics = counted_statistics(
                    self.plan, everything, loose, self._threads, progress, work
                )
        for place, one in enumerate(self._given):
            known = self._opened.get(place)
            index = self._built(corpora[place], progress, problems) if known is None else known
            self.indexes.append(index)
            named = isinstance(one, (str, os.PathLike, Index))
            self.names.append(
                str(index.name if isinstance(one, Index) else one) if named else f"reference {place + 1}"
            )

    def _built(self, sources: Sequence[Source], progress: Progress, problems: Problems) -> Index:
        folder = self._stack.enter_context(
            tempfile.TemporaryDirectory(dir=self._folder, prefix=".neardup-reference-")
        )
        index = Index(
            Path(folder) / "index",
            plan=index_plan(self.plan),
            statistics=self.statistics,
            threads=self._threads,
        )
        self._stack.callback(index.close)
        index.add_sources(sources, self._columns, problems=problems, progress=progress)
        return index

    # looking up ---------------------------------------------------------------------------------

    def find(
        self, corpus: Corpus, progress: Progress, threads: int, *, own_ids: bool = True
    ) -> ReferenceMatches:
        """The documents of a corpus that the references have, each with its best match.

        With `own_ids` false, an indexed document with the id of a document is its earlier version, not its copy.
        """
        distinct, places = distinct_texts(corpus.digests, corpus.id_hashes)
        order = np.argsort(places, kind="stable")
        starts = np.searchsorted(places[order], np.arange(len(distinct) + 1))
        found: list[_BestMatches] = []
        with progress.stage("look up", len(distinct)):

            def look_up(numbers: Numbers) -> tuple[int, _BestMatches]:
                texts = np.searchsorted(distinct, numbers)
                copies = [order[starts[text] : starts[text + 1]] for text in texts.tolist()]
                return len(numbers), _BestMatches.of(list(self._best(corpus, numbers, copies, own_ids)))

            for count, some in ordered_map(look_up, spooled_chunks(corpus.spool, distinct), threads):
                found.append(some)
                progress.advance(count)
        return self._matches(_BestMatches.joined(found))

    def _best(
        self, corpus: Corpus, numbers: Numbers, copies: Sequence[Numbers], own_ids: bool
    ) -> Iterator[_Best]:
        """The best match of each document with one of these texts."""
        tried: list[list[tuple[float, int, Id, int, float]]] = [[] for _ in numbers]
        for reference, index in enumerate(self.indexes):
            for place, match in index.matches_of_texts(corpus.spool.read(numbers)):
                value, inside = (
                    np.nan if one is None else one for one in (match.similarity, match.containment)
                )
                relation = UNKNOWN if match.relation is None else RELATIONS.index(match.relation)
                tried[place].append((value, relation, match.id, reference, inside))
        for place, candidates in enumerate(tried):
            # Copies first, then the most similar; ties in the order of the references and of adding.
            candidates.sort(key=lambda one: (one[1] != COPY, -np.nan_to_num(one[0], nan=0.0)))
            for document in copies[place].tolist() if candidates else ():
                own = None if own_ids else str(corpus.ids[document].as_py())
                best = next((one for one in candidates if str(one[2]) != own), None)
                if best is not None:
                    similarity, relation, name, reference, containment = best
                    yield _Best(document, name, reference, similarity, containment, relation)

    def _matches(self, found: _BestMatches) -> ReferenceMatches:
        return ReferenceMatches(
            tuple(self.names),
            found.document,
            found.ids,
            found.reference.astype(np.int64),
            found.similarity,
            found.containment,
            found.relation,
            problems=problem_counts(self.problems),
        )


def plan_of(given: Sequence[Any]) -> Plan | None:
    """The plan of the first index among references, for runs that choose no method; None without an index."""
    for one in given:
        if is_index(one):
            if isinstance(one, Index):
                return one.method_plan
            with Index(one) as index:
                return index.method_plan
    return None


def _agreed(
    indexes: Sequence[Index], plan: Plan, statistics: Statistics | None
) -> tuple[Plan, Statistics | None]:
    """The plan and the statistics of the run, which all indexes must share."""
    if not indexes:
        return plan, statistics
    for index in indexes:
        if index_plan(plan) != index.plan:
            what = ", ".join(differences(index.plan, index_plan(plan)))
            raise PlanError(
                f"The index {index.name} was made with other options ({what}). Leave the options of the method out, or "
                "make an index with them."
            )
    known = [index.statistics for index in indexes if index.plan.counts]
    given = [one for one in [*known, statistics] if one is not None]
    if len({one.digest for one in given}) > 1:
        raise PlanError(
            "The references have different document frequencies: give one index, or make them with one --stats."
        )
    return plan, given[0] if given else None


def cross_pairs(
    references: References,
    sources: Sequence[Source],
    columns: InputColumns,
    problems: Problems,
    progress: Progress,
) -> pa.Table:
    """Every pair of a document of the sources (left) and one of the references (right), in the order of ids."""
    chunks = list[pa.Table]()
    with progress.stage("look up"):
        read = input_chunks(references.plan, sources, columns, AttributeColumns(), problems)
        for chunk in with_policy(read, columns.duplicate_ids):
            for number, index in enumerate(references.indexes):
                found = index.matches_of_chunk(chunk)
                if len(references.names) > 1:
                    names = pa.array([references.names[number]] * len(found), pa.string())
                    found = found.append_column("reference", names)
                chunks.append(found)
            progress.advance(len(chunk.ids))
    table = joined_tables(chunks).rename_columns({"query": "left", "id": "right"})
    return table.sort_by([("left", "ascending"), ("right", "ascending")])


def add_kept(index: Index, corpus: Corpus, kept: Any, progress: Progress) -> Addition:
    """Add the documents of a run that are kept."""
    numbers = np.flatnonzero(kept)

    def chunks() -> Iterator[InputChunk]:
        for some in spooled_chunks(corpus.spool, numbers):
            yield InputChunk(corpus.spool.read(some), corpus.ids.take(pa.array(some)).to_pylist())

    return index.add_chunks(chunks(), progress)
