"""Figures 1, 2, 4 and 5 of the ANDD paper: bits, min-hashes, active words, training documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.columns import Features
from neardup.evaluate.studies import andd_scores
from neardup.evaluate.studies.andd_baselines import spot_forms, tf_idf_forms, tuned_vectors
from neardup.evaluate.studies.andd_data import GOLD, HALF, MAIL, OURS, Experiment, mail, news_settings
from neardup.evaluate.studies.andd_scores import estimates, f1, learned, vectors
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.learn.training.setup import TrainingSetup
from neardup.signatures.quantised import QuantisedMinHash
from neardup.signatures.sign_bits import SignBits
from neardup.weights.checks import keep_only

SEEDS = range(1, 6)  # of the projections


@study("ANDD, figure 1", GOLD)
def andd_figure_1(data: DataFolder) -> Iterator[StudyTable]:
    """Max F1 of sign bits of learned weights, by their number."""
    for name, experiment in news_settings(data):
        yield _figure_1(name, experiment)


def _figure_1(setting: str, experiment: Experiment) -> StudyTable:
    found = {
        aim: list(andd_scores.learned_vectors(experiment, experiment.setup(aim=aim)))
        for aim in ("vectors", "signatures")
    }
    raw = _vectors(experiment, found["vectors"])
    rows: list[list[Cell]] = []
    for bits in (64, 128, 256, 384, 512, 1024, 2048, 4096):
        seeds = SEEDS if bits <= 512 else (1,)
        means = {
            aim: np.mean([_bits(experiment, some, bits, s) for s in seeds]) for aim, some in found.items()
        }
        best = float(means["signatures"])
        rows.append([bits, float(means["vectors"]), best, raw - best])
    rows.append(["vectors", raw, _vectors(experiment, found["signatures"]), 0.0])
    columns = ["bits", "learned for vectors", "learned for signatures", "loss"]
    notes = [HALF, "the paper: 0.943 at 384 bits", "up to 512 bits: the mean of five draws of the projections",
             "loss: of weights learned for signatures, against vectors learned for vectors"]  # fmt: skip
    return StudyTable(f"ANDD, figure 1: news, {setting}", columns, rows, notes, plot=True)


def _bits(experiment: Experiment, found: list[tuple[Features, np.ndarray]], bits: int, seed: int) -> float:
    scores = [
        experiment.score(estimates(SignBits(bits, seed), features, test), test) for features, test in found
    ]
    return float(f1(scores).mean())


def _vectors(experiment: Experiment, found: list[tuple[Features, np.ndarray]]) -> float:
    scores = [
        experiment.score(vectors(features, "cosine", experiment.threads), test) for features, test in found
    ]
    return float(f1(scores).mean())


@study("ANDD, figure 2", GOLD)
def andd_figure_2(data: DataFolder) -> Iterator[StudyTable]:
    """Max F1 of min-hashes of learned weights, by their number."""
    for name, experiment in news_settings(data):
        yield _figure_2(name, experiment)


def _figure_2(setting: str, experiment: Experiment) -> StudyTable:
    found = list(andd_scores.learned_vectors(experiment, experiment.setup(similarity="jaccard")))
    raw = f1(
        [experiment.score(vectors(features, "jaccard", experiment.threads), test) for features, test in found]
    )
    rows: list[list[Cell]] = []
    for slots in (8, 16, 32, 48, 80, 128, 256):
        signature = QuantisedMinHash(slots)
        values = f1([experiment.score(estimates(signature, some, test), test) for some, test in found])
        rows.append([slots, float(values.mean()), float((raw - values).mean())])
    rows.append(["vectors", float(raw.mean()), 0.0])
    notes = [
        HALF,
        "the paper: 0.931 with 80 min-hashes; they estimate Σ min / Σ max, not the extended Jaccard",
    ]
    columns = ["min-hashes", "max F1", "loss"]
    return StudyTable(f"ANDD, figure 2: news, {setting}", columns, rows, notes, plot=True)


@study("ANDD, figure 4", MAIL)
def andd_figure_4(data: DataFolder) -> list[StudyTable]:
    """Max F1 on mail with the heaviest words of each message alone."""
    experiment = mail(data)
    found = list(andd_scores.learned_vectors(experiment, experiment.setup()))
    idf = {name: experiment.represent(view) for name, view in tf_idf_forms().items()}
    rows: list[list[Cell]] = []
    for most in (5, 10, 20, 40, 80, None):
        ours = [
            experiment.score(vectors(heaviest(x, most), "cosine", data.threads), test) for x, test in found
        ]
        theirs = [experiment.best(vectors(heaviest(x, most), "cosine", data.threads)) for x in idf.values()]
        means = [float(f1(scores).mean()) for scores in (ours, *theirs)]
        rows.append([most or "all", *means])
    spots = f1(tuned_vectors(experiment, spot_forms(), "cosine").scores)
    rows.append(["SpotSigs", float(spots.mean()), *(None for _ in idf)])
    notes = [OURS, "the paper: 0.621 and 0.525 with 5 words"]
    return [StudyTable("ANDD, figure 4: mail", ["active words", "ANDD", *idf], rows, notes, plot=True)]


def heaviest(features: Features, most: int | None) -> Features:
    """The heaviest features of each document."""
    if most is None or features.weights is None:
        return features
    documents = np.repeat(np.arange(len(features)), features.sizes)
    order = np.lexsort((features.hashes, -features.weights, documents))
    position = np.arange(len(order)) - np.repeat(features.offsets[:-1] - features.offsets[0], features.sizes)
    kept = np.zeros(len(order), np.bool_)
    kept[order[position < most]] = True
    return keep_only(features, kept)


@study("ANDD, figure 5", GOLD)
def andd_figure_5(data: DataFolder) -> Iterator[StudyTable]:
    """Max F1 on unseen clusters, by the number of training documents, from chosen and from random weights."""
    for name, experiment in news_settings(data):
        yield _figure_5(name, experiment)


def _figure_5(setting: str, experiment: Experiment) -> StudyTable:
    rows: list[list[Cell]] = []
    paper = {None: 0.856, 60: 0.953, "all": 0.956}
    for most in (None, 20, 40, 60, 120, 250, "all"):
        means: list[Cell] = []
        for initial in ("auto", "random"):
            setup = experiment.setup(initial=initial)
            if most is None:
                means.append(_initial(experiment, setup))
            else:
                found = learned(experiment, setup, most if isinstance(most, int) else None)
                means.append(float(f1(found).mean()))
        rows.append(["none (initial weights)" if most is None else most, *means, paper.get(most)])
    columns = ["training documents", "max F1", "from random weights", "paper"]
    notes = [HALF, "the paper starts from tf-idf"]
    return StudyTable(f"ANDD, figure 5: news, {setting}", columns, rows, notes, plot=True)


def _initial(experiment: Experiment, setup: TrainingSetup) -> float:
    features = experiment.prepared(setup).weigh(setup.initial_weights, "clip")
    return float(f1(experiment.best(vectors(features, "cosine", experiment.threads))).mean())
