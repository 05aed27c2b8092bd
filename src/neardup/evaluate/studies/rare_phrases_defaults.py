"""The choice of rare_phrases' defaults: on several collections, and on random halves of the larger ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench
from neardup.evaluate.splits import halves
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.edited_news import REUTERS, edited_news
from neardup.evaluate.studies.held_out_choice import take_part
from neardup.evaluate.studies.rare_phrases import DEFAULT, MAIL, PAGES, PAPER, WEBIS, Scorer
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.evaluate.studies.spotsigs import GOLD, shingles
from neardup.evaluate.studies.views import best
from neardup.weights.phrases import PhraseWeight

REPEATS = 3  # times that a collection is halved at random
CHOICES: Mapping[str, PhraseWeight] = {
    "default": DEFAULT,
    "default, rare = 0.9": replace(DEFAULT, rare=0.9),
    "default, rare = 0.7": replace(DEFAULT, rare=0.7),
    "default, rare = 0.5": replace(DEFAULT, rare=0.5),
    "default, common_above = 20": replace(DEFAULT, common_above=20),
    "default, function = df": replace(DEFAULT, function="df"),
    "default, function = uniform": replace(DEFAULT, function="uniform"),
    "news-pages": PAGES,
    "news-2013": PAPER,
}


@study("Rare phrases: the choice of defaults", GOLD, WEBIS, MAIL, REUTERS)
def rare_phrases_defaults(data: DataFolder) -> list[StudyTable]:
    """Max F1 of options on several collections: the mean over random halves and the least of them."""
    figures: dict[str, dict[str, list[float]]] = {}
    for name, bench in _collections(data):
        for choice, result in _results(bench).items():
            figures.setdefault(choice, {}).setdefault(name, []).append(best(result)[3])
    names = list(next(iter(figures.values())))
    rows: list[list[Cell]] = []
    for choice, by_collection in figures.items():
        means = [float(np.mean(by_collection[name])) for name in names]
        cells = [
            f"{mean:.3f} ({min(by_collection[name]):.3f})" if len(by_collection[name]) > 1 else f"{mean:.3f}"
            for name, mean in zip(names, means, strict=True)
        ]
        rows.append([choice, *cells, float(np.mean(means))])
    notes = [
        f"halves: {REPEATS} random halvings of the clusters, frequencies counted in each half alone: mean (least)",
        "Reuters: 1,500 news bodies, 300 of them with one to three edited versions",
    ]
    return [StudyTable("Max F1 of rare phrases by options", ["options", *names, "mean of all"], rows, notes)]


def _results(bench: Bench) -> dict[str, MethodResult]:
    scorer = Scorer(bench)
    found = {f"{n}-shingles": scorer.view_scorer.score("", shingles(n)) for n in (1, 3, 5)}
    return found | {name: scorer.score(weight) for name, weight in CHOICES.items()}


def _collections(data: DataFolder) -> Iterator[tuple[str, Bench]]:
    for name, how in (("article text", "article"), ("whole pages", "visible")):
        documents = data.documents(GOLD, "html", how)  # type: ignore[arg-type]
        yield from _with_halves(data, name, documents, data.clusters(GOLD, documents))
    yield "webis pairs", data.judged(WEBIS)
    mail = data.documents(MAIL)
    yield from _with_halves(data, "mail", mail, data.clusters(MAIL, mail))
    yield "Reuters, edited", data.bench_of(*edited_news(data))


def _with_halves(
    data: DataFolder, name: str, documents: Documents, truth: Truth
) -> Iterator[tuple[str, Bench]]:
    """A collection, and its halves."""
    yield name, data.bench_of(documents, truth)
    for pair in halves(truth, REPEATS, seed=7):
        for half in pair:
            yield f"{name}, halves", data.bench_of(*take_part(documents, truth, half))
