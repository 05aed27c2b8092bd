"""The ANDD paper's protocol in one go, what was chosen inside the training halves, and senders by campaign."""

from __future__ import annotations

from email.utils import parseaddr

import numpy as np

from neardup.evaluate.scores import Floats, ScoredPairs
from neardup.evaluate.studies.andd_ground import GOLD, HALF, MAIL, OURS, RUNS, Ground, column, mail, news
from neardup.evaluate.studies.andd_scores import by_cluster, f1, fixed, learned, models, plain, versus
from neardup.evaluate.studies.andd_tables import mail_ways
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, Table, study
from neardup.evaluate.versus import paired_t_test
from neardup.learn.training.setup import TrainingSetup


@study("ANDD, section 4", GOLD, MAIL)
def andd_protocol(data: DataFolder) -> list[Table]:
    """Section 4 in one go: five runs of learned and fixed weights on unseen news and later mail, with paired tests."""
    ground, letters = news(data), mail(data)
    ways = {"ANDD": learned(ground, ground.setup())}
    ways |= {name: plain(ground, view, "cosine") for name, view in fixed().items()}
    title = "halves of the clusters, balanced instances, 80,000 preference pairs, all pairs of the other half"
    found = mail_ways(letters)
    return [
        runs_table("ANDD on news, article text", ways, [title, HALF]),
        runs_table("ANDD on mail, later campaigns after earlier ones", found, [OURS]),
        campaigns_test(letters, found),
        choices_table("News: chosen inside each training half", ground),
        choices_table("Mail: chosen on the earlier campaigns", letters),
        senders_table(data),
    ]


def runs_table(title: str, ways: dict[str, list[ScoredPairs]], notes: list[str]) -> Table:
    """Max F1 of every run, and the tests against the first."""
    rows: list[list[Cell]] = []
    ours: Floats | None = None
    for name, scores in ways.items():
        values = f1(scores)
        ours = values if ours is None else ours
        told = "" if values is ours else versus(ours, values)
        rows.append([name, *values.tolist(), float(values.mean()), told])
    runs = [f"run {number}" for number in range(1, RUNS + 1)]
    tests = "ANDD is better in (paired t-test / corrected for overlap)"
    return Table(title, ["weights", *runs, "mean max F1", tests], rows, notes)


def campaigns_test(ground: Ground, ways: dict[str, list[ScoredPairs]], cut: int = 2) -> Table:
    """The F1 of each campaign of the later half: a paired test whose samples do not overlap."""
    each = {name: by_cluster(ground, cut, scores[cut]).f1 for name, scores in ways.items()}
    ours = next(iter(each.values()))
    rows: list[list[Cell]] = []
    for name, values in each.items():
        told = [""] if values is ours else [f"p = {paired_t_test(ours, values).p_value:.2g}"]
        rows.append(
            [name, float(values.mean()), int((ours > values).sum()), int((ours < values).sum()), *told]
        )
    columns = ["weights", "F1, mean over campaigns", "ANDD is better in", "worse in", "paired t-test"]
    notes = [f"{len(ours)} campaigns of two messages and more, after learning from the earlier half"]
    return Table("Mail, campaign by campaign", columns, rows, notes)


def choices_table(title: str, ground: Ground) -> Table:
    """What learning decided by labels of the training half alone: no test half has a say."""
    rows: list[list[Cell]] = []
    for number, model in enumerate(models(ground, ground.setup()), 1):
        told = model.training
        starts = ", ".join(f"{name} {value:.3f}" for name, value in told["f1_by_initial_weights"].items())
        regularizations = ", ".join(
            f"{name} {value:.3f}" for name, value in told["f1_by_regularization"].items()
        )
        regularization = "stay" if told["regularization"] is None else f"{told['regularization']:g}"
        rows.append(
            [
                number,
                told["initial_weights"],
                starts,
                regularization,
                regularizations,
                model.negative,
                told.get("f1"),
            ]
        )
    columns = [
        "run",
        "start",
        "F1 of each start",
        "regularization",
        "F1 of each regularization",
        "weights below zero",
        "held-out F1",
    ]
    notes = [
        "folds of the training half's clusters; another start or regularization than the usual must be clearly better"
    ]
    return Table(title, columns, rows, notes)


LESSONS: dict[str, dict[str, object]] = {
    "as it is": {},
    "scale 5": {"scale": 5.0},
    "scale 20": {"scale": 20.0},
    "negatives at random": {"hard": 0.0},
    "only the most similar negatives": {"hard": 1.0},
    "start: even": {"initial": "even"},
    "start: binary": {"initial": "binary"},
    "k = 2": {"ngram": 2},
    "extended Jaccard": {"similarity": "jaccard"},
}


@study("ANDD, what else might be chosen", GOLD, MAIL)
def andd_choices(data: DataFolder) -> list[Table]:
    """Other ways to learn, by their F1 on labels held out inside the training halves."""
    rows: list[list[Cell]] = []
    for name, told in LESSONS.items():
        rows.append([name, *(_held_out(ground, ground.setup(**told)) for ground in (news(data), mail(data)))])
    columns = ["way to learn", "news", "mail"]
    return [Table("ANDD: held-out F1 inside the training halves, mean of five", columns, rows, [HALF, OURS])]


def _held_out(ground: Ground, setup: TrainingSetup) -> float:
    return float(np.mean([model.training["f1"] for model in models(ground, setup)]))


@study("ANDD, section 4.2", MAIL)
def andd_senders(data: DataFolder) -> list[Table]:
    """The largest campaigns and their senders: one sends a newsletter, many send spam or from hijacked accounts."""
    return [senders_table(data)]


def senders_table(data: DataFolder) -> Table:
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
    notes = [f"{one} of {len(counts)} campaigns of several messages have one sender"]
    return Table("Mail: distinct senders by campaign", ["campaign", "messages", "senders"], rows, notes)
