"""A corpus with the representations of its documents: features, signatures and keys."""

from __future__ import annotations

from dataclasses import replace

from neardup.columns import Numbers, Signatures
from neardup.engines.core.compare import compares_view
from neardup.engines.core.identity import distinct_texts
from neardup.engines.core.represent import needs_distinct_texts_first
from neardup.engines.local.join_blocks import DistinctFeatures
from neardup.engines.local.kept_features import KeptFeatures
from neardup.engines.local.read import Corpus, Job
from neardup.engines.local.representations import Representations, represent_distinct_texts, sampling_bands
from neardup.statistics import Statistics


def represented(
    job: Job,
    corpus: Corpus,
    statistics: Statistics | None = None,
    texts: tuple[Numbers, Numbers] | None = None,
) -> Corpus:
    """The corpus with its representations, made now unless they were made while it was read.

    `texts` are the representatives of distinct texts and the place of each document's own, where they are known.
    """
    if texts is None and not needs_distinct_texts_first(job.plan):
        return _with(corpus, Representations(job.work.rows("read")))
    distinct, places = texts or distinct_texts(corpus.digests, corpus.id_hashes)
    corpus.kept = kept_features(job, corpus.kept, statistics)
    rows = represent_distinct_texts(
        job.plan, job.work, distinct, statistics, job.progress, job.threads, corpus.kept
    )
    found = _with(corpus, Representations(rows, places, sampling_bands(job.plan)), statistics)
    if job.plan.candidates.level == "features":
        found.distinct_features = DistinctFeatures(distinct, found.features[distinct], Representations(rows))
    return found


def kept_features(job: Job, kept: KeptFeatures | None, statistics: Statistics | None) -> KeptFeatures | None:
    """Where the plan's features are kept: with what is there, if the plan prepares the same features.

    None if no check compares them, or if candidates come from features, which are rows of their own.
    """
    plan = job.plan
    if kept is not None and kept.fits(plan.view, statistics):
        return kept
    if statistics is None or not compares_view(plan) or plan.candidates.level == "features":
        return None
    return KeptFeatures(plan.view, statistics, job.work.memory.counters)


def _with(corpus: Corpus, stored: Representations, statistics: Statistics | None = None) -> Corpus:
    present, slots = stored.numbers("present"), stored.slots()
    return replace(
        corpus,
        tokens=stored.numbers("tokens"),
        features=stored.numbers("features"),
        present=present,
        keys=stored,
        signatures=None if slots is None else Signatures(slots, present),
        statistics=statistics,
    )
