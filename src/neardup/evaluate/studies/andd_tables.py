"""Tables 2 to 5 of H. Hajishirzi, W. Yih and A. Kołcz, Adaptive near-duplicate detection (SIGIR 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neardup.evaluate.scores import Floats, ScoredPairs, make_curve
from neardup.evaluate.studies import andd_scores
from neardup.evaluate.studies.andd_data import GOLD, HALF, MAIL, OURS, Experiment, mail, news
from neardup.evaluate.studies.andd_scores import LEXICON, WORD, by_cluster, f1, fixed, learned, plain
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.features.shingles import Shingles
from neardup.learn.training.loss import Similarity
from neardup.plan import View
from neardup.signatures.minhash import MinHash
from neardup.signatures.quantised import QuantisedMinHash
from neardup.signatures.set_hash import SetHash
from neardup.signatures.sign_bits import SignBits
from neardup.weights.counts import Counts
from neardup.weights.frequency import IdfRange

PAPER_2: dict[str, tuple[float | None, ...]] = {
    "ANDD": (0.956, 0.952, 0.936, 0.910),
    "TF-IDF": (0.884, 0.874, 0.875, 0.873),
}
PAPER_2 |= {"binary": (0.861, 0.852, 0.869, 0.867), "SpotSigs": (0.953, 0.952, None, None)}
PAPER_4 = {
    "ANDD": (0.674, 0.700),
    "TF-IDF": (0.625, 0.626),
    "binary": (0.622, 0.622),
    "SpotSigs": (0.257, 0.258),
}
KINDS: tuple[Similarity, ...] = ("cosine", "jaccard")


def raw_table(
    experiment: Experiment, title: str, widths: Sequence[int], paper: dict[str, Any], notes: list[str]
) -> StudyTable:
    """Tables 2 and 4: learned weights beside fixed ones, on all pairs."""
    rows: list[list[Cell]] = []
    place = 0
    for width in widths:
        for kind in KINDS:
            ours = f1(learned(experiment, experiment.setup(ngram=width, similarity=kind)))
            ways = {"ANDD": ours} | {name: f1(plain(experiment, v, kind)) for name, v in fixed(width).items()}
            for name, found in ways.items():
                tests = "" if found is ours else andd_scores.wins_and_p_values(ours, found)
                figures = [float(found.mean()), float(found.min()), paper[name][place], tests]
                rows.append([f"{name}, k = {width}, {kind}", *figures])
            place += 1
    columns = ["weights", "max F1, mean", "least", "paper", "ANDD is better in (paired t-test / corrected)"]
    return StudyTable(title, columns, rows, notes)


@study("ANDD, table 2", GOLD)
def andd_table_2(data: DataFolder) -> list[StudyTable]:
    """Max F1 of learned, tf-idf, binary and SpotSigs vectors of news, by cosine and extended Jaccard."""
    return [raw_table(news(data), "ANDD, table 2: news, article text", (1, 3), PAPER_2, [HALF])]


@study("ANDD, table 4", MAIL)
def andd_table_4(data: DataFolder) -> list[StudyTable]:
    """Max F1 of learned, tf-idf, binary and SpotSigs vectors of mail, with borderline campaigns and without."""
    notes = [OURS, "the runs split the campaigns at 40, 45, 50, 55 and 60 % of their first dates"]
    return [
        raw_table(
            mail(data), "ANDD, table 4: mail, borderline pairs count as different", (1,), PAPER_4, notes
        ),
        raw_table(mail(data, True), "ANDD, table 4: mail, borderline pairs excluded", (1,), PAPER_4, notes),
        campaigns_table(mail(data)),
    ]


def campaigns_table(experiment: Experiment) -> StudyTable:
    """The mean F1 over campaigns, each at the threshold that is best for all pairs."""
    ways = mail_ways(experiment)
    rows: list[list[Cell]] = []
    ours: Floats | None = None
    for name, scores in ways.items():
        each = [by_cluster(experiment, k, pairs).f1 for k, pairs in enumerate(scores)]
        values = np.array([one.mean() for one in each])
        ours = values if ours is None else ours
        rows.append(
            [
                name,
                float(values.mean()),
                "" if values is ours else andd_scores.wins_and_p_values(ours, values),
            ]
        )
    columns = ["weights", "F1, mean over campaigns", "ANDD is better in (paired t-test / corrected)"]
    return StudyTable("Mail, by campaign", columns, rows, ["campaigns of two or more messages"])


def mail_ways(experiment: Experiment) -> dict[str, list[ScoredPairs]]:
    """The scores of all methods on mail, the learned weights first."""
    ways = {"ANDD": learned(experiment, experiment.setup())}
    ways |= {name: plain(experiment, view, "cosine") for name, view in fixed().items()}
    ways["shingles, k = 5"] = plain(experiment, View(Shingles(5)), "jaccard")
    ways["I-Match"] = andd_scores.estimated(experiment, LEXICON, SetHash(), 2)
    return ways


def signature_table(
    experiment: Experiment, title: str, paper: dict[str, str], window: bool, notes: list[str]
) -> StudyTable:
    """Tables 3 and 5: signatures."""
    limits = (IdfRange(WORD, 0.2, 0.85),) if window else ()
    ways: dict[str, tuple[int, list[ScoredPairs]]] = {
        "ANDD-LSH-Cos": (
            48,
            andd_scores.signed(experiment, experiment.setup(aim="signatures"), SignBits(384)),
        ),
        "ANDD-LSH-Jacc": (
            320,
            andd_scores.signed(experiment, experiment.setup(similarity="jaccard"), QuantisedMinHash(80)),
        ),
        "Shingles": (336, andd_scores.estimated(experiment, View(WORD, limits), MinHash(84))),
        "Charikar": (48, andd_scores.estimated(experiment, View(WORD, (*limits, Counts())), SignBits(384))),
        "1-Shingles": (48, andd_scores.estimated(experiment, View(WORD, limits), MinHash(84), 14)),
        "I-Match": (8, andd_scores.estimated(experiment, LEXICON, SetHash(), 2)),
    }
    rows: list[list[Cell]] = []
    ours = f1(ways["ANDD-LSH-Cos"][1])
    for name, (size, scores) in ways.items():
        values = f1(scores)
        counts = [curve.at(andd_scores.best_threshold(curve)) for curve in map(make_curve, scores)]
        precision, recall = (
            float(np.nanmean([getattr(c, k) for c in counts])) for k in ("precision", "recall")
        )
        better = "" if name == "ANDD-LSH-Cos" else andd_scores.wins_and_p_values(ours, values)
        rows.append([name, size, precision, recall, float(values.mean()), paper[name], better])
    columns = ["method", "bytes", "precision", "recall", "max F1", "paper: P / R / F1"]
    columns.append("ANDD-LSH-Cos is better in")
    return StudyTable(title, columns, rows, notes)


@study("ANDD, table 3", GOLD)
def andd_table_3(data: DataFolder) -> list[StudyTable]:
    """Signatures of learned weights beside shingles, Charikar's bits, super-shingles and I-Match, on news."""
    paper = {"ANDD-LSH-Cos": "0.965 / 0.923 / 0.943", "ANDD-LSH-Jacc": "0.957 / 0.907 / 0.931"}
    paper |= {"Shingles": "0.886 / 0.867 / 0.876", "Charikar": "0.868 / 0.777 / 0.820"}
    paper |= {"1-Shingles": "0.994 / 0.013 / 0.026", "I-Match": "0.983 / 0.001 / 0.002"}
    return [signature_table(news(data), "ANDD, table 3: news, article text", paper, True, [HALF])]


@study("ANDD, table 5", MAIL)
def andd_table_5(data: DataFolder) -> list[StudyTable]:
    """Signatures as in table 3, on mail: later campaigns after training on earlier ones."""
    paper = {"ANDD-LSH-Cos": "0.723 / 0.599 / 0.656", "ANDD-LSH-Jacc": "0.821 / 0.532 / 0.646"}
    paper |= {"Shingles": "0.752 / 0.502 / 0.602", "Charikar": "0.972 / 0.425 / 0.591"}
    paper |= {"1-Shingles": "0.827 / 0.410 / 0.548", "I-Match": "0.874 / 0.382 / 0.532"}
    return [signature_table(mail(data), "ANDD, table 5: mail", paper, False, [OURS])]
