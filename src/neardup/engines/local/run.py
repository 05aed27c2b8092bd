"""One machine: read and sign, find copies and candidates, verify, cluster, decide. Texts stay on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from neardup.documents import Problems, Source
from neardup.engines.core.decide import Decisions, decide
from neardup.engines.core.progress import Progress
from neardup.engines.local.candidates import find_matches, find_more
from neardup.engines.local.checkpoint.budget import MemoryBudget
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.documents import InputColumns
from neardup.engines.local.matches import Matches
from neardup.engines.local.read import Corpus, Job, read_corpus
from neardup.errors import EvidenceError
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.workers import default_threads


@dataclass(frozen=True)
class Settings:
    """How to run: nothing here changes the result."""

    threads: int = field(default_factory=default_threads)
    strict: bool = False
    work_dir: str | os.PathLike[str] | None = None
    memory: MemoryBudget = field(default_factory=MemoryBudget)
    work: Workspace | None = None  # a work folder with a name, from which the run can be resumed


@dataclass
class LocalRun:
    """A finished run: what was read, found and decided."""

    plan: Plan
    settings: Settings
    corpus: Corpus
    matches: Matches
    decisions: Decisions
    progress: Progress

    def rethreshold(self, threshold: float) -> LocalRun:
        """The run that another threshold would have given, from the evidence that is stored."""
        if self.plan.check.level == "none":
            raise EvidenceError("Nothing was measured (verify=none): run again with the other threshold.")
        floor = self.matches.floor
        if threshold < floor:
            found = self.plan.found(floor)
            sure = (
                ""
                if found is None or found == 1
                else f", where the bands still find {found:.0%} of the pairs"
            )
            raise EvidenceError(
                f"The stored evidence reaches down to a similarity of {floor:.3f}{sure}; "
                f"for {threshold:g} run again with threshold={threshold:g}."
            )
        plan, threads = self.plan.with_(threshold=threshold), self.settings.threads
        matches = replace(self.matches)
        if threshold > self.plan.threshold:
            matches = find_more(plan, self.corpus, matches, self.progress, threads)
        quiet = replace(self.corpus, problems=Problems())  # they were counted the first time
        decisions = decide(plan, quiet, matches, self.progress, threads)
        return LocalRun(plan, self.settings, self.corpus, matches, decisions, self.progress)


def run(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    statistics: Statistics | None = None,
) -> LocalRun:
    """The whole pipeline up to the decisions; nothing is written but the work folder.

    Statistics that are given become part of the plan by their digest.
    """
    if statistics is not None and plan.counts:
        plan = plan.with_(statistics=statistics.digest)
    settings, progress = settings or Settings(), progress or Progress()
    work = settings.work or Workspace(folder=settings.work_dir, memory=settings.memory)
    problems = Problems(strict=settings.strict, folder=work.folder)
    try:
        job = Job(plan, sources, work, columns or InputColumns(), problems, progress, settings.threads)
        corpus = read_corpus(job, statistics if plan.counts else None)
        if (said := work.memory.too_little(len(corpus))) is not None:
            progress.note(said)
        matches = find_matches(plan, corpus, progress, settings.threads)
        decisions = decide(plan, corpus, matches, progress, settings.threads)
    except BaseException:
        work.close(keep=True)
        raise
    return LocalRun(plan, settings, corpus, matches, decisions, progress)
