"""A sample of pairs for labelling, spread evenly over the range of similarity.

Alonso, Fetterly and Manasse (MSR-TR-2013-60), section 4.1: nearly all random pairs share nothing. Pairs are drawn among
documents that share a phrase which is neither common nor unique, in proportion to the pairs of each phrase; of these,
about equally many are taken for each similarity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Features, Numbers
from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.identity import distinct_texts
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Job
from neardup.engines.local.representations import spooled_chunks
from neardup.engines.local.run import read_corpus
from neardup.errors import InputError, ParameterError
from neardup.plan import Plan
from neardup.registry import get_method
from neardup.sorted_sets import distinct, run_starts
from neardup.verify.jaccard import Jaccard
from neardup.workers import ordered_map

MOST_PHRASES = 1 << 26  # of more phrases, a sample by hash is used
BINS = 20


@dataclass(frozen=True)
class PairSampling:
    """Options of a sample of pairs."""

    pairs: int = 456
    drawn: int = 100_000  # pairs to draw and measure, of which `pairs` are taken
    ngram: int = 7
    idf_low: float = 0.2
    idf_high: float = 0.85
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("pairs", "drawn", "ngram"):
            if getattr(self, name) < 1:
                raise ParameterError(name, "sample", "a whole number of at least 1", getattr(self, name))
        if not 0 <= self.idf_low <= self.idf_high <= 1:
            given = (self.idf_low, self.idf_high)
            raise ParameterError("idf", "sample", "two numbers from 0 to 1, the lower first", given)


@dataclass(frozen=True)
class PairSample:
    """Pairs to label with their similarity, and how even the sample is."""

    table: pa.Table
    phrases: int  # shared phrases that pairs were drawn from
    drawn: int  # distinct pairs
    distance: float  # the earth mover's distance of the similarities from an even spread
    distance_before: float  # … of all drawn pairs


def sample_pairs(
    sources: Sequence[Source],
    columns: InputColumns,
    sampling: PairSampling,
    progress: Progress,
    threads: int,
    work_dir: Any = None,
    problems: Problems | None = None,
) -> PairSample:
    """Pairs of a corpus to label."""
    random = np.random.default_rng(sampling.seed)
    plan = get_method("minhash").plan(ngram=sampling.ngram, bands=1, rows=1)
    with Workspace(folder=work_dir) as work:
        job = Job(plan, sources, work, columns, problems or Problems(), progress, threads)
        corpus = read_corpus(job)
        representatives, _ = distinct_texts(corpus.digests, corpus.id_hashes)
        representatives = representatives[corpus.present[representatives]]
        with progress.stage("group by phrase"):
            one_in = 1 + int(corpus.features[representatives].sum()) // MOST_PHRASES
            features = _features(plan, work.spool, representatives, one_in, threads)
            documents, starts, sizes = _groups(features, len(representatives), sampling)
        if len(sizes) == 0:
            raise InputError(
                f"No two documents share a phrase of {sampling.ngram} words with an idf in "
                f"[{sampling.idf_low:g}, {sampling.idf_high:g}]. Widen --idf, or shorten --ngram."
            )
        left, right = _draw(documents, starts, sizes, sampling.drawn, random)
        with progress.stage("measure", len(left)):
            whole = features if one_in == 1 else _features(plan, work.spool, representatives, 1, threads)
            measured = Jaccard().measure(whole, left, right)
    similarity = measured.similarity
    chosen = even(similarity, sampling.pairs, random)
    ids = corpus.ids.take(pa.array(representatives))
    table = pa.table(
        {
            "id_a": ids.take(pa.array(left[chosen])),
            "id_b": ids.take(pa.array(right[chosen])),
            "label": pa.array([""] * len(chosen), pa.string()),
            "jaccard": similarity[chosen].round(6),
            "containment": measured.containment[chosen].round(6),
        }
    )
    return PairSample(table, len(sizes), len(left), unevenness(similarity[chosen]), unevenness(similarity))


def _features(plan: Plan, spool: Spool, representatives: Numbers, one_in: int, threads: int) -> Features:
    """The distinct phrases of some documents, or one phrase in `one_in` of them."""
    from neardup.columns import make_distinct
    from neardup.weights.checks import keep_only

    def work(some: Numbers) -> Features:
        features = make_distinct(plan.view.features(plan.text(spool.read(some), details=False)))
        return keep_only(features, features.hashes % np.uint64(one_in) == 0) if one_in > 1 else features

    return Features.concatenate(list(ordered_map(work, spooled_chunks(spool, representatives), threads)))


def _groups(features: Features, n: int, sampling: PairSampling) -> tuple[Numbers, Numbers, Numbers]:
    """The documents of every phrase inside the idf interval, phrase by phrase: documents, starts, sizes."""
    order = np.argsort(features.hashes, kind="stable")
    starts = run_starts(features.hashes[order])
    sizes, starts = np.diff(starts), starts[:-1]
    idf = np.log(n / sizes) / np.log(max(n, 2))
    inside = (sizes >= 2) & (idf >= sampling.idf_low) & (idf <= sampling.idf_high)
    numbers = np.repeat(np.arange(len(features)), features.sizes)
    return numbers[order], starts[inside], sizes[inside]


def _draw(
    documents: Numbers, starts: Numbers, sizes: Numbers, count: int, random: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Distinct pairs: a phrase in proportion to its pairs, then two of its documents."""
    many = sizes.astype(np.float64) * (sizes - 1) / 2
    group = np.searchsorted(np.cumsum(many) / many.sum(), random.random(count), "right")
    group = np.minimum(group, len(sizes) - 1)
    first = random.integers(0, sizes[group])
    second = (first + random.integers(1, sizes[group])) % sizes[group]
    a, b = documents[starts[group] + first], documents[starts[group] + second]
    n = int(documents.max()) + 1
    packed = distinct(np.minimum(a, b) * n + np.maximum(a, b))
    return packed // n, packed % n


def even(similarity: np.ndarray, count: int, random: np.random.Generator) -> Numbers:
    """`count` positions, spread as evenly over the range of similarity as the pairs allow."""
    bins = np.minimum((similarity * BINS).astype(np.int64), BINS - 1)
    order = random.permutation(len(similarity))
    order = order[np.argsort(bins[order], kind="stable")]
    sizes = np.bincount(bins, minlength=BINS)
    turn = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # each bin gives one in turn
    chosen = order[np.lexsort((random.random(len(order)), turn))[:count]]
    return np.sort(chosen)


def unevenness(similarity: np.ndarray) -> float:
    """The earth mover's distance of similarities from the even spread over [0, 1]: 0.5 where all are 0."""
    if len(similarity) == 0:
        return 0.0
    ordered = np.sort(similarity)
    ideal = (np.arange(len(ordered)) + 0.5) / len(ordered)
    return float(np.abs(ordered - ideal).mean())
