"""A detector from the labels: the same method with another threshold, and a learned similarity.

Both are compared with the run on labels that did not choose them: the documents that labelled pairs connect are divided
into folds, a fold is decided by what the others teach, and the decisions of all folds make one F1. Its interval, and
that of the difference, are percentiles over bootstrap samples of connected documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.columns import Numbers
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.measure import Measurer
from neardup.engines.local.read import Job
from neardup.engines.local.run import read_corpus
from neardup.errors import InputError, NeardupError
from neardup.evaluate.corpus import PLAIN, Documents
from neardup.evaluate.intervals import Interval
from neardup.evaluate.label_words import DUPLICATES
from neardup.evaluate.labels import Truth
from neardup.evaluate.specs import Spec
from neardup.labelling.answers import answers_of
from neardup.labelling.pair_samples import has_threshold
from neardup.labelling.states import LABELLED
from neardup.labelling.store import LabelStore
from neardup.labelling.suggestion import PoolScore
from neardup.labelling.tags import tagged_pairs
from neardup.learn.model.file import Model
from neardup.learn.training.data import LabelledDocuments, prepare, some_documents
from neardup.learn.training.learner import learn_from
from neardup.learn.training.setup import TrainingSetup
from neardup.plan import Plan
from neardup.plurals import counted

__all__ = [
    "DetectorScore",
    "LearningResult",
    "labelled_pairs",
    "learn_from_labels",
    "missing_labels",
    "pool_scores",
]

OTHERS = 20_000  # documents without a label that document frequencies are counted over
FOLDS = 5
SAMPLES = 1_000
LEAST_PAIRS = 4
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class DetectorScore:
    """A detector on held-out labels."""

    name: str
    threshold: float
    f1: float
    interval: Interval
    precision: float
    recall: float
    difference: float = 0.0  # of F1, from the run
    difference_interval: Interval = field(default_factory=lambda: Interval(0.0, 0.0))
    changed: int = 0  # labelled pairs that it decides otherwise than the run
    note: str = ""


@dataclass(frozen=True)
class LearningResult:
    """What was learned: detectors in order (the run, another threshold, the model), and the model."""

    pairs: int
    positives: int
    units: int  # groups of documents that labelled pairs connect
    scored: list[DetectorScore]
    model: Model | None
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, without the model."""
        return {
            "pairs": self.pairs, "positives": self.positives, "units": self.units, "notes": self.notes,
            "scored": [asdict(one) for one in self.scored],
        }  # fmt: skip


def labelled_pairs(store: LabelStore) -> dict[tuple[str, str], bool]:
    """All labelled pairs, and whether they are near-duplicates; a label of a pair wins over a tagged cluster."""
    labels = {one.name: one.label for one in answers_of("pair", store.settings.scheme)}
    found = tagged_pairs(store)
    for one in store.items("kind = 'pair'"):
        label = labels.get(one.answer or "")
        if one.state in LABELLED and label is not None:
            if label in DUPLICATES:
                found[one.a, one.b] = True
            elif label in ("near", "different"):
                found[one.a, one.b] = False
    return found


def missing_labels(labels: Mapping[tuple[str, str], bool]) -> str:
    """What has to be labelled before anything can be learned; empty if that is enough."""
    yes, no = sum(labels.values()), len(labels) - sum(labels.values())
    needed = []
    if yes == 0:
        needed.append("a pair of near-duplicates")
    if no == 0:
        needed.append("a pair that is near or different")
    if len(labels) < LEAST_PAIRS:
        needed.append(f"{counted(LEAST_PAIRS - len(labels), 'more pair')} in all")
    return f"Label {' and '.join(needed)} first." if needed else ""


def truth_of(labels: Mapping[tuple[str, str], bool], ids: pa.Array) -> Truth:
    """The truth of labelled pairs among documents with these ids."""
    place = {id: k for k, id in enumerate(ids.to_pylist())}
    pairs = np.array([(place[a], place[b]) for a, b in labels], np.int64).reshape(-1, 2)
    return Truth.of_pairs(pairs[:, 0], pairs[:, 1], np.array(list(labels.values()), np.bool_))


def learn_from_labels(
    documents: Documents, labels: Mapping[tuple[str, str], bool], plan: Plan, *, seed: int = 1, threads: int = 1,
    progress: Progress | None = None,
) -> LearningResult:  # fmt: skip
    """The detectors, scored on held-out labels; the model is None if the labels are too few for one."""
    progress = progress or Progress()
    if said := missing_labels(labels):
        raise InputError(said)
    truth = truth_of(labels, documents.ids)
    assert truth.left is not None and truth.right is not None and truth.judged is not None
    with progress.stage("compare labelled pairs"):
        score = measure(documents, plan, truth.left, truth.right, threads)
    units = truth.units[truth.left]
    folds = _folds(units, truth.judged, seed)
    base = score >= plan.threshold
    decisions = {"run": base, "threshold": _by_threshold(score, truth.judged, folds, plan.threshold)}
    notes: list[str] = []
    model, thresholds = (
        None,
        {"run": plan.threshold, "threshold": _best_threshold(score, truth.judged, plan.threshold)},
    )
    try:
        setup = TrainingSetup(seed=seed, threads=threads)
        with progress.stage("read words"):
            data = prepare(documents, truth, setup.weight, setup.text, threads)
        with progress.stage("learn", len(folds) + 1):
            model = learn_from(data, setup)
            progress.advance(1)
            decisions["model"] = _by_model(data, setup, folds, progress)
        thresholds["model"] = model.threshold
        notes += model.training["warnings"]
    except NeardupError as error:
        notes.append(f"No similarity was learned: {error}")
    if len(folds) < 2:
        notes.append(
            "no labels are held out: label pairs of other documents, so that two groups have near-duplicates"
        )
    names = {
        "run": f"the run: {plan.method} at {plan.threshold:g}",
        "threshold": f"{plan.method}, threshold from labels",
    }
    names["model"] = "learned similarity"
    scored = [
        _scored(names[key], thresholds[key], found, base, truth.judged, units, seed)
        for key, found in decisions.items()
    ]
    return LearningResult(len(labels), int(truth.judged.sum()), len(np.unique(units)), scored, model, notes)


def measure(documents: Documents, plan: Plan, left: Numbers, right: Numbers, threads: int) -> Floats:
    """The similarities of pairs under a plan, with document frequencies of these documents."""
    if not has_threshold(plan):
        raise InputError(
            f"The method {plan.method} has no threshold to learn: run dedup with another method."
        )
    plan = plan.with_(statistics="")  # frequencies are counted over these documents
    with Workspace() as work:
        corpus = read_corpus(Job(plan, documents.sources(), work, PLAIN, threads=threads))
        pairs = Measurer(plan, corpus, threads).measure(left, right)
        copies = (corpus.digests[left] == corpus.digests[right]).all(axis=1)
    return np.where(copies, 1.0, np.nan_to_num(pairs.similarity))


def _folds(units: Numbers, judged: Mask, seed: int) -> list[Mask]:
    """Which pairs are in each fold; documents that pairs connect stay together, near-duplicates are spread."""
    rng = np.random.default_rng(seed)
    names = np.unique(units)
    positive = np.isin(names, units[judged])
    count = min(FOLDS, int(positive.sum()))
    fold = dict.fromkeys(names.tolist(), 0)
    for some in (names[positive], names[~positive]):
        for k, unit in enumerate(rng.permutation(some).tolist()):
            fold[unit] = k % max(count, 1)
    number = np.array([fold[unit] for unit in units.tolist()])
    return [number == k for k in range(count)]


def _best_threshold(score: Floats, judged: Mask, usual: float) -> float:
    """The threshold with the highest F1 on these pairs, in the middle between two scores; of equal ones, the nearest to
    the usual."""
    levels = np.unique(score)
    between = (levels[1:] + levels[:-1]) / 2
    tried = np.unique(np.concatenate([between, [usual]]))
    f1 = np.array([_f1(score >= one, judged) for one in tried])
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    found = float(tried[best[np.abs(tried[best] - usual).argmin()]])
    below, above = levels[levels < found], levels[levels >= found]
    rounded = round(found, 3)
    inside = (not len(below) or below[-1] < rounded) and (not len(above) or rounded <= above[0])
    return rounded if inside and rounded > 0 else found


def _by_threshold(score: Floats, judged: Mask, folds: Sequence[Mask], usual: float) -> Mask:
    found = score >= _best_threshold(score, judged, usual)
    for part in folds if len(folds) > 1 else ():
        found[part] = score[part] >= _best_threshold(score[~part], judged[~part], usual)
    return found


def _by_model(
    data: LabelledDocuments, setup: TrainingSetup, folds: Sequence[Mask], progress: Progress
) -> Mask:
    truth = data.truth
    assert truth.left is not None and truth.right is not None
    found = np.zeros(len(truth.left), np.bool_)
    for part in folds if len(folds) > 1 else [np.ones(len(found), np.bool_)]:
        inside = np.unique(np.concatenate([truth.left[part], truth.right[part]]))
        rest = np.setdiff1d(np.arange(len(data)), inside) if len(folds) > 1 else np.arange(len(data))
        model = learn_from(some_documents(data, rest), setup)
        found[part] = _model_scores(data, model, truth.left[part], truth.right[part]) >= model.threshold
        progress.advance(1)
    return found


def _model_scores(data: LabelledDocuments, model: Model, left: Numbers, right: Numbers) -> Floats:
    """The similarities of pairs of labelled documents under a model."""
    weights = np.array([model.weights.get(name, 0.0) for name in data.names])
    similar = data.similar(weights, model.negative, model.similarity)
    known = dict(
        zip(
            zip(similar.left.tolist(), similar.right.tolist(), strict=True),
            similar.score.tolist(),
            strict=True,
        )
    )
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return np.array([known.get((min(pair), max(pair)), 0.0) for pair in pairs])


def _f1(found: Mask, judged: Mask, weight: Floats | None = None) -> float:
    one = np.ones(len(found)) if weight is None else weight
    right = float((one * (found & judged)).sum())
    total = float((one * found).sum() + (one * judged).sum())
    return 2 * right / total if total else 0.0


def _scored(
    name: str, threshold: float, found: Mask, base: Mask, judged: Mask, units: Numbers, seed: int
) -> DetectorScore:
    """The scores of decisions, with bootstrap intervals over connected documents."""
    rng = np.random.default_rng(seed)
    names, place = np.unique(units, return_inverse=True)
    f1s, differences = [], []
    for _ in range(SAMPLES):
        weight = rng.multinomial(len(names), np.full(len(names), 1 / len(names))).astype(np.float64)[place]
        if not (weight * judged).any():
            continue
        f1s.append(_f1(found, judged, weight))
        differences.append(f1s[-1] - _f1(base, judged, weight))
    right = int((found & judged).sum())
    return DetectorScore(
        name, threshold, _f1(found, judged), _interval(f1s),
        right / int(found.sum()) if found.any() else float("nan"), right / int(judged.sum()),
        _f1(found, judged) - _f1(base, judged), _interval(differences), int((found != base).sum()),
    )  # fmt: skip


def _interval(values: list[float]) -> Interval:
    if not values:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(low), float(high))


def pool_scores(
    documents: Documents, plan: Plan, model: Model, path: Path, pairs: Sequence[tuple[str, str]], threads: int
) -> list[PoolScore]:
    """Each pair under the plan of the run, and under a model that is stored at `path`."""
    place = {id: k for k, id in enumerate(documents.ids.to_pylist())}
    some = [(a, b) for a, b in pairs if a in place and b in place]
    if not some:
        return []
    ends = np.array([(place[a], place[b]) for a, b in some], np.int64)
    score = measure(documents, Spec("andd", {"model": str(path)}).plan, ends[:, 0], ends[:, 1], threads)
    similarity = measure(documents, plan, ends[:, 0], ends[:, 1], threads)
    shown = model.probability.of(score) if model.probability else np.clip(0.5 + score - model.threshold, 0, 1)
    columns = (similarity.tolist(), score.tolist(), shown.tolist())
    return [PoolScore(a, b, *values) for (a, b), *values in zip(some, *columns, strict=True)]
