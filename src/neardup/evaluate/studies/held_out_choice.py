"""How well the command that `tune` prints does on documents that it has not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Mask, Truth
from neardup.evaluate.recommendation import default_specs, tune
from neardup.evaluate.removals import OutcomeScores, by_cluster, sampling_units, sum_up
from neardup.evaluate.run import Bench
from neardup.evaluate.splits import halves
from neardup.evaluate.studies.andd_data import GOLD, MAIL
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.learn.training.data import renumbered

SPLITS = 5
COLUMNS = ("half", "choice", "F1 promised", "F1", "wrong removals", "duplicates removed")


@study("none: the promise of neardup tune", GOLD, MAIL)
def held_out_choice(data: DataFolder) -> list[StudyTable]:
    """`tune` on half of the labelled clusters, its command on the documents of the other half, five times."""
    news = data.documents(GOLD, "html", "article")
    mail = data.documents(MAIL, "text")
    return [
        _table("News articles", data, news, data.clusters(GOLD, news)),
        _table("Mail", data, mail, data.clusters(MAIL, mail)),
    ]


def _table(name: str, data: DataFolder, documents: Documents, truth: Truth) -> StudyTable:
    rows: list[list[Cell]] = []
    figures = []
    for number, (own, other) in enumerate(halves(truth, SPLITS, seed=1), 1):
        promised, choice, score = _try_half(
            data, take_part(documents, truth, own), take_part(documents, truth, other)
        )
        figures.append((promised, score.f1, score.wrong_share, score.duplicates_removed))
        rows.append([number, choice, *figures[-1]])
    rows.append(["mean", "", *np.mean(figures, axis=0).tolist()])
    notes = [
        "promised: by tune, on clusters of its half that did not make the choice; F1 of pairs in clusters"
    ]
    return StudyTable(f"{name}: tune on one half, run on the other", COLUMNS, rows, notes)


def _try_half(
    data: DataFolder, own: tuple[Documents, Truth], other: tuple[Documents, Truth]
) -> tuple[float, str, OutcomeScores]:
    """The F1 that `tune` promises, its choice, and the scores of the choice on the other documents."""
    bench = data.bench_of(*own, splits=SPLITS)
    found = tune(bench, default_specs(), len(own[0]))
    assert found.best is not None
    held_out = found.held_out
    promised = float(np.mean(held_out.f1)) if held_out else found.best.value
    target: Bench = data.bench_of(*other)
    decisions, _ = target.run(found.best.setting.plan)
    scores = sum_up(by_cluster(target.truth, sampling_units(target.truth), decisions))
    return promised, found.best.setting.name, scores


def take_part(documents: Documents, truth: Truth, chosen: Mask) -> tuple[Documents, Truth]:
    """Some documents with their labels."""
    mask = pa.array(chosen)
    fields = {name: column.filter(mask) for name, column in documents.fields.items()}
    part = replace(
        documents, ids=documents.ids.filter(mask), texts=documents.texts.filter(mask), fields=fields
    )
    return part, renumbered(truth, np.flatnonzero(chosen))
