"""Figures 1, 2, 4 and 5 of the ANDD paper: bits, min-hashes, active words, training documents."""

from __future__ import annotations

import numpy as np

from neardup.columns import Features
from neardup.evaluate.studies import andd_scores
from neardup.evaluate.studies.andd_data import GOLD, HALF, MAIL, OURS, Experiment, mail, news
from neardup.evaluate.studies.andd_scores import WORD, estimates, f1, fixed, learned, plain, vectors
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.plan import View
from neardup.signatures.quantised import QuantisedMinHash
from neardup.signatures.sign_bits import SignBits
from neardup.weights.checks import keep_only
from neardup.weights.frequency import TfIdf

SEEDS = range(1, 6)  # of the projections


@study("ANDD, figure 1", GOLD)
def andd_figure_1(data: DataFolder) -> list[StudyTable]:
    """Max F1 of sign bits of learned weights, by their number."""
    experiment = news(data)
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
    return [StudyTable("ANDD, figure 1: news", columns, rows, notes, plot=True)]


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
def andd_figure_2(data: DataFolder) -> list[StudyTable]:
    """Max F1 of min-hashes of learned weights, by their number."""
    experiment = news(data)
    found = list(andd_scores.learned_vectors(experiment, experiment.setup(similarity="jaccard")))
    raw = f1([experiment.score(vectors(features, "jaccard", data.threads), test) for features, test in found])
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
    return [StudyTable("ANDD, figure 2: news", ["min-hashes", "max F1", "loss"], rows, notes, plot=True)]


@study("ANDD, figure 4", MAIL)
def andd_figure_4(data: DataFolder) -> list[StudyTable]:
    """Max F1 on mail with the heaviest words of each message alone."""
    experiment = mail(data)
    found = list(andd_scores.learned_vectors(experiment, experiment.setup()))
    idf = experiment.represent(View(WORD, (TfIdf(WORD),)))
    rows: list[list[Cell]] = []
    for most in (5, 10, 20, 40, 80, None):
        ours = [
            experiment.score(vectors(heaviest(x, most), "cosine", data.threads), test) for x, test in found
        ]
        theirs = experiment.best(vectors(heaviest(idf, most), "cosine", data.threads))
        rows.append([most or "all", float(f1(ours).mean()), float(f1(theirs).mean())])
    spots = f1(plain(experiment, fixed()["SpotSigs"], "cosine"))
    rows.append(["SpotSigs", float(spots.mean()), None])
    notes = [OURS, "the paper: 0.621 and 0.525 with 5 words"]
    return [StudyTable("ANDD, figure 4: mail", ["active words", "ANDD", "TF-IDF"], rows, notes, plot=True)]


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
def andd_figure_5(data: DataFolder) -> list[StudyTable]:
    """Max F1 on unseen clusters, by the number of training documents."""
    experiment = news(data)
    rows: list[list[Cell]] = [["none (initial weights)", _initial(experiment, data.threads), 0.856]]
    full = float(f1(learned(experiment, experiment.setup())).mean())
    for most in (20, 40, 60, 120, 250):
        mean = float(f1(learned(experiment, experiment.setup(), most)).mean())
        rows.append([most, mean, 0.953 if most == 60 else None])
    rows.append(["all", full, 0.956])
    columns = ["training documents", "max F1", "paper"]
    return [StudyTable("ANDD, figure 5: news, article text", columns, rows, [HALF], plot=True)]


def _initial(experiment: Experiment, threads: int) -> float:
    setup = experiment.setup()
    features = experiment.prepared(setup).weigh(setup.initial_weights, "clip")
    return float(f1(experiment.best(vectors(features, "cosine", threads))).mean())
