"""Whether the probabilities and the removals of a learned model hold up on later mail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neardup.columns import Numbers
from neardup.evaluate.removals import by_cluster, sampling_units, sum_up
from neardup.evaluate.scores import score_pairs
from neardup.evaluate.studies.andd_data import MAIL, OURS, Experiment, Split, mail
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.learn.training.calibration import calibration_error
from neardup.learn.training.data import LabelledDocuments, some_documents
from neardup.learn.training.decision import replay_pairs
from neardup.learn.training.learner import learn_from

SIMILAR = 0.3  # the similarity from which a pair is looked at
COLUMNS = ("learned from", "learned / tested", "calibration error", "of them at the threshold", "threshold",
           "F1 of clusters", "wrong removals", "duplicates removed")  # fmt: skip


@study("ANDD, section 4.2: later mail", MAIL)
def andd_calibration(data: DataFolder) -> list[StudyTable]:
    """Probabilities, clusters and removals of a learned model on later mail, and on earlier mail."""
    experiment = mail(data)
    prepared = experiment.prepared(experiment.setup())
    turned = [(later, earlier) for earlier, later in experiment.splits]
    rows = [
        *_rows("earlier mail", experiment, prepared, experiment.splits),
        *_rows("later mail", experiment, prepared, turned),
    ]
    notes = [
        f"calibration error: over pairs with a similarity of at least {SIMILAR:g}, in ten bins of probability",
        OURS,
    ]
    return [StudyTable("A model learned from one part of the mail, on the other", COLUMNS, rows, notes)]


def _rows(
    name: str, experiment: Experiment, prepared: LabelledDocuments, splits: Sequence[Split]
) -> list[list[Cell]]:
    """The figures of each split, and their means."""
    figures = [_figures(experiment, prepared, own, other) for own, other in splits]
    rows: list[list[Cell]] = [
        [name, f"{len(own)} / {len(other)}", *one] for (own, other), one in zip(splits, figures, strict=True)
    ]
    return [*rows, [f"{name}, mean", "", *np.mean(figures, axis=0).tolist()]]


def _figures(
    experiment: Experiment, prepared: LabelledDocuments, own: Numbers, other: Numbers
) -> tuple[float, ...]:
    """Calibration errors, threshold, and the scores of clusters and removals on the other documents."""
    setup = experiment.setup()
    model, test = learn_from(some_documents(prepared, own), setup), some_documents(prepared, other)
    weights = np.array([model.weights.get(name, 0.0) for name in test.names])
    similar = test.similar(weights, model.negative, setup.similarity)
    pairs = score_pairs(test.truth, similar.left, similar.right, similar.score)
    assert model.probability is not None
    probability = model.probability.of(pairs.score)
    errors = [
        calibration_error(probability[some], pairs.positive[some])
        for some in (pairs.score >= SIMILAR, pairs.score >= model.threshold)
    ]
    decisions = replay_pairs(test, pairs).decide(model.threshold, model.clusters)
    score = sum_up(by_cluster(test.truth, sampling_units(test.truth), decisions))
    return (*errors, model.threshold, score.f1, score.wrong_share, score.duplicates_removed)
