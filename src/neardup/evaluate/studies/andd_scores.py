"""Max F1 of learned and fixed weights, as vectors and as signatures, in every run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from neardup.candidates.inverted import Inverted
from neardup.columns import Features, Numbers, Pairs
from neardup.evaluate.comparison import corrected_t_test, paired_t_test
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import ClusterScores, Curve, Floats, ScoredPairs, make_curve, score_clusters
from neardup.evaluate.studies.andd_data import Experiment
from neardup.features.shingles import Shingles
from neardup.learn.model.file import Model
from neardup.learn.training.data import some_documents
from neardup.learn.training.learner import learn_from
from neardup.learn.training.loss import Similarity
from neardup.learn.training.setup import TrainingSetup
from neardup.plan import Signature, View
from neardup.signatures.sign_bits import SignBits
from neardup.verify.bits import BitAgreement
from neardup.verify.jaccard import SlotAgreement
from neardup.weights.frequency import IdfRange

WORD = Shingles(1)
LEXICON = View(WORD, (IdfRange(WORD, 0.4, 0.75),))  # of I-Match


def f1(scores: Sequence[ScoredPairs]) -> Floats:
    """The max F1 of each run."""
    return np.array([curve.at(best_threshold(curve)).f1 for curve in map(make_curve, scores)])


def best_threshold(curve: Curve) -> float:
    """The threshold of the maximum F1, above 0."""
    choices = np.flatnonzero(curve.thresholds > 0)
    return float(curve.thresholds[choices[curve.f1[choices].argmax()]]) if len(choices) else 1.0


def vectors(features: Features, kind: Similarity, threads: int) -> Pairs:
    """All pairs of weighted documents."""
    weights = np.ones(len(features.hashes), np.float32) if features.weights is None else features.weights
    search = Inverted("cosine" if kind == "cosine" else "extended_jaccard")
    return search.pairs(replace(features, weights=weights), 0.0, threads)


def learned_vectors(
    experiment: Experiment, setup: TrainingSetup, most: int | None = None
) -> Iterator[tuple[Features, Numbers]]:
    """For every run, the vectors of its model over all labelled documents, and the test documents."""
    data = experiment.prepared(setup)
    place = np.full(len(experiment.documents), -1)
    place[data.numbers] = np.arange(len(data))
    for model, (_, test) in zip(models(experiment, setup, most), experiment.splits, strict=True):
        weights = np.array([model.weights.get(name, 0.0) for name in setup.names])
        yield data.weigh(weights, model.negative), place[test]


def models(experiment: Experiment, setup: TrainingSetup, most: int | None = None) -> list[Model]:
    """The model of every run; each setup is trained once."""

    def train() -> list[Model]:
        data = experiment.prepared(setup)
        place = np.full(len(experiment.documents), -1)
        place[data.numbers] = np.arange(len(data))
        known = [some_clusters(data.truth, place[train], most) for train, _ in experiment.splits]
        return [learn_from(some_documents(data, some), setup) for some in known]

    found: list[Model] = experiment.once(("models", setup, most), train)
    return found


def some_clusters(truth: Truth, documents: Numbers, most: int | None) -> Numbers:
    """Whole clusters of these documents, drawn at random, up to about `most` documents."""
    if most is None or most >= len(documents):
        return np.sort(documents)
    assert truth.clusters is not None
    rng = np.random.default_rng(most)
    chosen: list[int] = []
    for cluster in rng.permutation(np.unique(truth.clusters[documents])).tolist():
        members = documents[truth.clusters[documents] == cluster]
        chosen += rng.permutation(members)[: max(2, most // 8)].tolist()  # no cluster dominates
        if len(chosen) >= most:
            break
    return np.sort(np.array(chosen))


def learned(experiment: Experiment, setup: TrainingSetup, most: int | None = None) -> list[ScoredPairs]:
    """Vectors of learned weights (ANDD-Raw)."""
    return [
        experiment.score(vectors(features, setup.similarity, experiment.threads), test)
        for features, test in learned_vectors(experiment, setup, most)
    ]


def signed(experiment: Experiment, setup: TrainingSetup, signature: Signature) -> list[ScoredPairs]:
    """Estimates from signatures of learned weights (ANDD-LSH)."""
    return [
        experiment.score(estimates(signature, features, test), test)
        for features, test in learned_vectors(experiment, setup)
    ]


def estimates(signature: Signature, features: Features, some: Numbers, width: int = 1) -> Pairs:
    """The agreement of all pairs of some documents' signatures, in groups of `width` slots."""
    i, j = np.triu_indices(len(some), 1)
    check = BitAgreement(signature.bits) if isinstance(signature, SignBits) else SlotAgreement(width)
    pairs: Pairs = check.measure(signature(features), some[i], some[j])
    return pairs.take(pairs.similarity > 0)


def signature_pairs(signature: Signature, features: Features, width: int = 1) -> Pairs:
    """The agreement of all pairs of signatures."""
    return estimates(signature, features, np.arange(len(features)), width)


def wins_and_p_values(first: Floats, second: Floats) -> str:
    """Runs won, and the p-values of the paired and the corrected t-test."""
    wins, tests = int((first > second).sum()), (paired_t_test(first, second), corrected_t_test(first, second))
    return f"{wins} of {len(first)}, p = {tests[0].p_value:.2g} / {tests[1].p_value:.2g}"


def by_cluster(experiment: Experiment, split: int, pairs: ScoredPairs) -> ClusterScores:
    """Scores of each cluster, at the threshold that is best for all pairs."""
    curve = make_curve(pairs)
    inside = np.zeros(len(experiment.documents), np.bool_)
    inside[experiment.splits[split][1]] = True
    return score_clusters(experiment.truth.only(inside), pairs, best_threshold(curve))
