"""Tables 2 to 5 of H. Hajishirzi, W. Yih and A. Kołcz, Adaptive near-duplicate detection (SIGIR 2010)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from neardup.evaluate.scores import Floats, ScoredPairs, make_curve
from neardup.evaluate.studies import andd_scores
from neardup.evaluate.studies.andd_baselines import (
    Baseline,
    charikar_forms,
    fixed_baselines,
    shingle_forms,
    tuned_signatures,
    tuned_vectors,
)
from neardup.evaluate.studies.andd_data import GOLD, HALF, MAIL, OURS, Experiment, mail, news_settings
from neardup.evaluate.studies.andd_scores import LEXICON, WORD, by_cluster, f1, learned
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.learn.training.loss import Similarity
from neardup.plan import View
from neardup.signatures.minhash import MinHash
from neardup.signatures.quantised import QuantisedMinHash
from neardup.signatures.set_hash import SetHash
from neardup.signatures.sign_bits import SignBits
from neardup.weights.frequency import IdfRange

Paper = dict[str, tuple[float | None, ...]]
PAPER_2: Paper = {
    "ANDD": (0.956, 0.952, 0.936, 0.910),
    "TF-IDF, best form": (0.884, 0.874, 0.875, 0.873),
    "binary": (0.861, 0.852, 0.869, 0.867),
    "SpotSigs, best form": (0.953, 0.952, None, None),
}
PAPER_4: Paper = {
    "ANDD": (0.674, 0.700),
    "TF-IDF, best form": (0.625, 0.626),
    "binary": (0.622, 0.622),
    "SpotSigs, best form": (0.257, 0.258),
}
TUNED = "best form: of those in the rows below it or named, the best on the training part of each run"
KINDS: tuple[Similarity, ...] = ("cosine", "jaccard")


def raw_table(
    experiment: Experiment, title: str, widths: Sequence[int], paper: Paper, notes: list[str]
) -> StudyTable:
    """Tables 2 and 4: learned weights beside fixed ones, on all pairs."""
    rows: list[list[Cell]] = []
    place = 0
    for width in widths:
        for kind in KINDS:
            learner = learned(experiment, experiment.setup(ngram=width, similarity=kind))
            ways = {"ANDD": Baseline(learner)} | fixed_baselines(experiment, kind, width)
            ours = f1(learner)
            for name, way in ways.items():
                found = f1(way.scores)
                tests = "" if name == "ANDD" else andd_scores.wins_and_p_values(ours, found)
                theirs = paper[name][place] if name in paper else None
                figures = [float(found.mean()), float(found.min()), theirs, tests]
                rows.append([f"{name}, k = {width}, {kind}", way.forms, *figures])
            place += 1
    columns = ["weights", "form chosen", "max F1, mean", "least", "paper"]
    columns.append("ANDD is better in (paired t-test / corrected)")
    return StudyTable(title, columns, rows, [*notes, TUNED])


@study("ANDD, table 2", GOLD)
def andd_table_2(data: DataFolder) -> Iterator[StudyTable]:
    """Max F1 of learned, tf-idf, binary and SpotSigs vectors of news, by cosine and extended Jaccard."""
    for name, experiment in news_settings(data):
        yield raw_table(experiment, f"ANDD, table 2: news, {name}", (1, 3), PAPER_2, [HALF])


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
    ways |= {name: found.scores for name, found in fixed_baselines(experiment, "cosine").items()}
    ways["shingles, best k"] = tuned_vectors(experiment, shingle_forms(), "jaccard").scores
    ways["I-Match"] = tuned_signatures(experiment, {"": LEXICON}, SetHash(), 2).scores
    return ways


def signature_table(
    experiment: Experiment, title: str, paper: dict[str, str], window: bool, notes: list[str]
) -> StudyTable:
    """Tables 3 and 5: signatures."""
    limits = (IdfRange(WORD, 0.2, 0.85),) if window else ()
    bits, forms = SignBits(384), charikar_forms()
    cosine = andd_scores.signed(experiment, experiment.setup(aim="signatures"), bits)
    jaccard = andd_scores.signed(experiment, experiment.setup(similarity="jaccard"), QuantisedMinHash(80))
    shingles = {"k = 1": View(WORD, limits)}
    ways: dict[str, tuple[int, Baseline]] = {
        "ANDD-LSH-Cos": (48, Baseline(cosine)),
        "ANDD-LSH-Jacc": (320, Baseline(jaccard)),
        "Shingles": (336, tuned_signatures(experiment, shingle_forms(*limits), MinHash(84))),
        "… k = 1": (336, tuned_signatures(experiment, shingles, MinHash(84))),
        "Charikar": (48, tuned_signatures(experiment, forms, bits)),
        **{
            f"… {name}": (48, tuned_signatures(experiment, {name: view}, bits))
            for name, view in forms.items()
        },
        "1-Shingles": (48, tuned_signatures(experiment, shingles, MinHash(84), 14)),
        "I-Match": (8, tuned_signatures(experiment, {"": LEXICON}, SetHash(), 2)),
    }
    rows: list[list[Cell]] = []
    ours = f1(cosine)
    for name, (size, way) in ways.items():
        values = f1(way.scores)
        counts = [curve.at(andd_scores.best_threshold(curve)) for curve in map(make_curve, way.scores)]
        precision, recall = (
            float(np.nanmean([getattr(c, k) for c in counts])) for k in ("precision", "recall")
        )
        better = "" if name == "ANDD-LSH-Cos" else andd_scores.wins_and_p_values(ours, values)
        figures = [size, precision, recall, float(values.mean()), paper.get(name), better]
        rows.append([name, way.forms, *figures])
    columns = ["method", "form chosen", "bytes", "precision", "recall", "max F1", "paper: P / R / F1"]
    columns.append("ANDD-LSH-Cos is better in")
    return StudyTable(title, columns, rows, [*notes, TUNED, BYTES])


BYTES = "80 min-hashes of 4 bytes are 320, where the paper packs them in 200"


@study("ANDD, table 3", GOLD)
def andd_table_3(data: DataFolder) -> Iterator[StudyTable]:
    """Signatures of learned weights beside shingles, Charikar's bits, super-shingles and I-Match, on news."""
    paper = {"ANDD-LSH-Cos": "0.965 / 0.923 / 0.943", "ANDD-LSH-Jacc": "0.957 / 0.907 / 0.931"}
    paper |= {"Shingles": "0.886 / 0.867 / 0.876", "Charikar": "0.868 / 0.777 / 0.820"}
    paper |= {"1-Shingles": "0.994 / 0.013 / 0.026", "I-Match": "0.983 / 0.001 / 0.002"}
    for name, experiment in news_settings(data):
        yield signature_table(experiment, f"ANDD, table 3: news, {name}", paper, True, [HALF])


@study("ANDD, table 5", MAIL)
def andd_table_5(data: DataFolder) -> list[StudyTable]:
    """Signatures as in table 3, on mail: later campaigns after training on earlier ones."""
    paper = {"ANDD-LSH-Cos": "0.723 / 0.599 / 0.656", "ANDD-LSH-Jacc": "0.821 / 0.532 / 0.646"}
    paper |= {"Shingles": "0.752 / 0.502 / 0.602", "Charikar": "0.972 / 0.425 / 0.591"}
    paper |= {"1-Shingles": "0.827 / 0.410 / 0.548", "I-Match": "0.874 / 0.382 / 0.532"}
    return [signature_table(mail(data), "ANDD, table 5: mail", paper, False, [OURS])]
