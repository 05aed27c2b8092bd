"""One machine, from files to decisions, in the order of the sentence. Texts stay on disk.

documents → text → features → weights → signatures → candidates → verified pairs → clusters → what to keep

    read          documents to texts on disk, ids and digests             local/read.py, local/documents.py
    frequencies   document frequencies, where weights ask for them        local/frequencies.py
    represented   texts to features, signatures and keys                  core/represent.py, local/represent.py
    find_matches  keys to candidates, candidates to verified pairs        local/verify.py, local/candidates.py
    decide        verified pairs to clusters, clusters to what stays      core/decide.py

write.py writes the result; checkpoint/ is what a killed run resumes from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers, Pairs
from neardup.documents import Problems, Source
from neardup.engines.core.decide import Decisions, Outcome, decide
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.empty import without_empty
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.core.large_components import LeaderSearch
from neardup.engines.core.leaders import Measure
from neardup.engines.core.progress import Progress
from neardup.engines.core.references import ReferenceMatches, without_referenced
from neardup.engines.core.represent import check_statistics, needs_distinct_texts_first
from neardup.engines.local.checkpoint.budget import MemoryBudget
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.frequencies import frequencies
from neardup.engines.local.measure import Measurer
from neardup.engines.local.read import Corpus, Job, read
from neardup.engines.local.represent import represented
from neardup.engines.local.verify import Matches, find_matches, find_more
from neardup.errors import EvidenceError
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.workers import default_threads

if TYPE_CHECKING:
    from neardup.decisions.store import StandingDecision

# The documents of a corpus that references have.
FindReferences = Callable[[Corpus, Progress, int], ReferenceMatches]


@dataclass(frozen=True)
class RunSettings:
    """How to run, and against what: but for references, nothing here changes the result."""

    threads: int = field(default_factory=default_threads)
    strict: bool = False
    work_dir: str | os.PathLike[str] | None = None
    memory: MemoryBudget = field(default_factory=MemoryBudget)
    expected: ExpectedShare | None = None  # of removed documents: only the guard compares it
    compare: tuple[str, ...] | None = None  # options of `neardup compare` that warnings show
    command: tuple[str, ...] | None = None  # the words that repeat the run, without its output
    config: str | None = None  # the file that options were taken from, which the report names
    work: Workspace | None = None  # a work folder with a path, from which the run can be resumed
    references: FindReferences | None = (
        None  # removes documents that they have before the others are compared
    )
    within: bool = True  # whether the others are compared with each other at all
    people: tuple[StandingDecision, ...] | None = None  # decisions of people, which are followed


def run(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns | None = None,
    settings: RunSettings | None = None,
    progress: Progress | None = None,
    statistics: Statistics | None = None,
) -> LocalRun:
    """The whole pipeline up to the decisions; only the work folder is written.

    Statistics that are given become part of the plan by their digest.
    """
    if statistics is not None and plan.counts:
        plan = plan.with_(statistics=statistics.digest)
    settings, progress = settings or RunSettings(), progress or Progress()
    work = settings.work or Workspace(folder=settings.work_dir, memory=settings.memory)
    problems = Problems(strict=settings.strict, folder=work.folder)
    try:
        job = Job(plan, sources, work, columns or InputColumns(), problems, progress, settings.threads)
        corpus = read_corpus(job, statistics if plan.counts else None)
        if (warning := work.memory.too_little(len(corpus))) is not None:
            progress.note(warning)
        found = settings.references and settings.references(corpus, progress, settings.threads)
        if found is not None:
            found = replace(found, within=settings.within)
            everything = np.full(len(corpus), not settings.within)
            corpus = replace(corpus, referenced=found.mask(len(corpus)) | everything)
        matches = find_matches(plan, corpus, progress, settings.threads)
        decisions = decided(plan, corpus, matches, progress, settings.threads, settings.people)
        decisions = without_referenced(decisions, found)
    except BaseException:
        work.close(keep=True)
        raise
    corpus.kept = None  # writing needs memory, too
    return LocalRun(plan, settings, corpus, matches, decisions, progress)


def read_corpus(job: Job, statistics: Statistics | None = None) -> Corpus:
    """The corpus, represented: one pass over the input, and one more over distinct texts where the plan needs it."""
    check_statistics(job.plan, statistics)
    corpus = read(job, represent_now=not needs_distinct_texts_first(job.plan))
    return represented(job, corpus, frequencies(job, corpus, statistics))


def decided(
    plan: Plan,
    corpus: Corpus,
    matches: Matches,
    progress: Progress,
    threads: int,
    people: Sequence[StandingDecision] | None = None,
) -> Decisions:
    """Clusters and what to keep of them; pairs that candidates left out are measured where decisions need them."""
    measure = ShownMeasure(Measurer(plan, corpus, threads, matches.hot), progress)

    def report(reason: str, action: str) -> None:
        corpus.problems.add(corpus.sources[0].name, reason, action=action)

    with progress.stage("clusters"):
        decisions = decide(plan, corpus, matches.representative, matches.pairs, measure, report)
        if people is not None:
            from neardup.engines.core.person_decisions import follow

            decisions = follow(plan, corpus, partial(_text_digests, corpus), decisions, people, measure)
        matches.hot = None
        return without_empty(plan, corpus, np.flatnonzero(corpus.tokens == 0), decisions)


@dataclass(frozen=True)
class ShownMeasure:
    """Measures pairs that decisions ask for, as a stage of the run."""

    measurer: Measurer
    progress: Progress

    def __call__(self, left: Numbers, right: Numbers) -> Pairs:
        """The evidence of any pairs."""
        return self._shown(self.measurer.measure, left, right)

    def tiles(self, texts: Numbers) -> Iterator[tuple[Numbers, Measure]]:
        """The texts in tiles, with a measure for each that makes features once."""
        for some, measure in self.measurer.tiles(texts):
            yield some, partial(self._shown, measure)

    @contextmanager
    def search(self, texts: Numbers, threshold: float) -> Iterator[LeaderSearch | None]:
        """A search for the leaders of a component, shown as one stage."""
        with self.progress.stage("verify clusters"):
            yield self.measurer.search(texts, threshold)

    def _shown(self, measure: Measure, left: Numbers, right: Numbers) -> Pairs:
        with self.progress.stage("verify clusters", len(left)):
            return measure(left, right)


def _text_digests(corpus: Corpus, numbers: Numbers) -> list[bytes]:
    """The digests of the texts of some documents, as decisions of people store them."""
    from neardup.decisions.rules import text_digest

    texts = corpus.spool.read(numbers).to_arrow(pa.large_string())
    return [text_digest(text.as_py()) for text in texts]


@dataclass
class LocalRun:
    """A finished run: what was read, found and decided."""

    plan: Plan
    settings: RunSettings
    corpus: Corpus
    matches: Matches
    decisions: Decisions
    progress: Progress

    @property
    def outcome(self) -> Outcome:
        """What tables are made of."""
        return Outcome(self.plan, self.corpus, self.decisions)

    def rethreshold(self, threshold: float) -> LocalRun:
        """The run that another threshold would have given, from the evidence that is stored."""
        self._check_evidence(threshold)
        plan, threads = self.plan.with_(threshold=threshold), self.settings.threads
        inside = self.matches.inside + self.decisions.compared
        known = self.matches.pairs if self.plan.pairs == "all" else self.decisions.measured
        matches = replace(self.matches, pairs=known, inside=inside)
        if threshold > self.plan.threshold:
            matches = find_more(plan, self.corpus, matches, self.progress, threads)
        quiet = replace(self.corpus, problems=Problems())  # they were counted the first time
        decisions = decided(plan, quiet, matches, self.progress, threads, self.settings.people)
        return LocalRun(plan, self.settings, self.corpus, matches, decisions, self.progress)

    def _check_evidence(self, threshold: float) -> None:
        """Refuse a threshold for which the evidence is not complete."""
        if self.settings.references is not None:
            raise EvidenceError(
                "Documents were removed against a reference: run again with the other threshold."
            )
        if self.plan.check.level == "none":
            raise EvidenceError("Nothing was measured (verify=none): run again with the other threshold.")
        floor = self.matches.floor
        if threshold < floor:
            found = self.plan.found(floor)
            chance = (
                ""
                if found is None or found == 1
                else f", where the bands still find {found:.0%} of the pairs"
            )
            raise EvidenceError(
                f"The stored evidence reaches down to a similarity of {floor:.3f}{chance}; "
                f"for {threshold:g} run again with threshold={threshold:g}."
            )
