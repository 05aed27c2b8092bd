"""The whole protocol of the ANDD paper, choices inside the training halves, and senders by campaign."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parseaddr

import numpy as np

from neardup.evaluate.comparison import paired_t_test
from neardup.evaluate.scores import Floats, ScoredPairs
from neardup.evaluate.studies import andd_scores
from neardup.evaluate.studies.andd_baselines import fixed_baselines
from neardup.evaluate.studies.andd_data import (
    GOLD,
    HALF,
    MAIL,
    OURS,
    RUNS,
    SETTINGS,
    Experiment,
    column,
    mail,
    news_settings,
)
from neardup.evaluate.studies.andd_scores import by_cluster, f1, learned, models
from neardup.evaluate.studies.andd_tables import TUNED, mail_ways
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.learn.training.setup import TrainingSetup

PROTOCOL = "halves of the clusters, balanced instances, 80,000 preference pairs, all pairs of the other half"


@study("ANDD, section 4", GOLD, MAIL)
def andd_protocol(data: DataFolder) -> Iterator[StudyTable]:
    """Five runs of learned and fixed weights on unseen news and later mail, with paired tests."""
    for name, experiment in news_settings(data):
        ways = {"ANDD": learned(experiment, experiment.setup())}
        ways |= {name: found.scores for name, found in fixed_baselines(experiment, "cosine").items()}
        yield runs_table(f"ANDD on news, {name}", ways, [PROTOCOL, HALF, TUNED])
        yield choices_table(f"News, {name}: chosen inside each training half", experiment)
    mails = mail(data)
    found = mail_ways(mails)
    yield runs_table("ANDD on mail, later campaigns after earlier ones", found, [OURS, TUNED])
    yield campaigns_test(mails, found)
    yield choices_table("Mail: chosen on the earlier campaigns", mails)


def runs_table(title: str, ways: dict[str, list[ScoredPairs]], notes: list[str]) -> StudyTable:
    """Max F1 of every run, and the tests against the first."""
    rows: list[list[Cell]] = []
    ours: Floats | None = None
    for name, scores in ways.items():
        values = f1(scores)
        ours = values if ours is None else ours
        tests = "" if values is ours else andd_scores.wins_and_p_values(ours, values)
        rows.append([name, *values.tolist(), float(values.mean()), tests])
    runs = [f"run {number}" for number in range(1, RUNS + 1)]
    heading = "ANDD is better in (paired t-test / corrected for overlap)"
    return StudyTable(title, ["weights", *runs, "mean max F1", heading], rows, notes)


def campaigns_test(experiment: Experiment, ways: dict[str, list[ScoredPairs]], split: int = 2) -> StudyTable:
    """The F1 of each campaign of the later half: a paired test whose samples do not overlap."""
    each = {name: by_cluster(experiment, split, scores[split]).f1 for name, scores in ways.items()}
    ours = next(iter(each.values()))
    rows: list[list[Cell]] = []
    for name, values in each.items():
        test = "" if values is ours else f"p = {paired_t_test(ours, values).p_value:.2g}"
        rows.append(
            [name, float(values.mean()), int((ours > values).sum()), int((ours < values).sum()), test]
        )
    columns = ["weights", "F1, mean over campaigns", "ANDD is better in", "worse in", "paired t-test"]
    notes = [f"{len(ours)} campaigns of two or more messages, after learning from the earlier half"]
    return StudyTable("Mail, campaign by campaign", columns, rows, notes)


def choices_table(title: str, experiment: Experiment) -> StudyTable:
    """The choices of training, made on the labels of the training half alone."""
    rows: list[list[Cell]] = []
    for number, model in enumerate(models(experiment, experiment.setup()), 1):
        training = model.training
        initial, regularizations = (
            ", ".join(f"{name} {value:.3f}" for name, value in training[f"f1_by_{choice}"].items())
            for choice in ("initial_weights", "regularization")
        )
        regularization = "none" if training["regularization"] is None else f"{training['regularization']:g}"
        chosen = [training["initial_weights"], initial, regularization, regularizations]
        rows.append([number, *chosen, model.negative, training.get("f1")])
    columns = ["run", "initial weights", "F1 of each", "regularization", "F1 by regularization"]
    columns += ["weights below zero", "held-out F1"]
    notes = ["F1 on folds of the training half; other choices than the defaults must be clearly better"]
    return StudyTable(title, columns, rows, notes)


SETUPS: dict[str, dict[str, object]] = {
    "default": {},
    "scale 5": {"scale": 5.0},
    "scale 20": {"scale": 20.0},
    "random negatives": {"hard": 0.0},
    "hard negatives only": {"hard": 1.0},
    "initial weights: even": {"initial": "even"},
    "initial weights: binary": {"initial": "binary"},
    "k = 2": {"ngram": 2},
    "extended Jaccard": {"similarity": "jaccard"},
}


@study("ANDD, training setups", GOLD, MAIL)
def andd_choices(data: DataFolder) -> list[StudyTable]:
    """Held-out F1 of alternative training setups, inside the training halves."""
    rows: list[list[Cell]] = []
    for name, options in SETUPS.items():
        experiments = (*(experiment for _, experiment in news_settings(data)), mail(data))
        rows.append([name, *(_held_out(one, one.setup(**options)) for one in experiments)])
    columns = ["training setup", *(f"news, {name}" for name in SETTINGS), "mail"]
    return [
        StudyTable("ANDD: held-out F1 inside the training halves, mean of five", columns, rows, [HALF, OURS])
    ]


def _held_out(experiment: Experiment, setup: TrainingSetup) -> float:
    return float(np.mean([model.training["f1"] for model in models(experiment, setup)]))


@study("ANDD, section 4.2", MAIL)
def andd_senders(data: DataFolder) -> list[StudyTable]:
    """The largest campaigns and their senders: newsletters have one sender, spam and hijacked accounts many."""
    return [senders_table(data)]


def senders_table(data: DataFolder) -> StudyTable:
    """Messages and distinct senders of the largest campaigns."""
    documents = data.documents(MAIL, "text")
    truth = data.clusters(MAIL, documents)
    assert truth.clusters is not None
    senders = np.array([parseaddr(value or "")[1].lower() for value in column(data, "from")])
    rows: list[list[Cell]] = []
    several = np.flatnonzero(truth.sizes > 1)
    counts = {int(k): len(np.unique(senders[truth.clusters == k])) for k in several}
    for k in several[np.argsort(-truth.sizes[several], kind="stable")][:15].tolist():
        rows.append([truth.names[k], int(truth.sizes[k]), counts[k]])
    one = sum(count == 1 for count in counts.values())
    notes = [f"{one} of {len(counts)} campaigns of two or more messages have one sender"]
    return StudyTable("Mail: distinct senders by campaign", ["campaign", "messages", "senders"], rows, notes)
