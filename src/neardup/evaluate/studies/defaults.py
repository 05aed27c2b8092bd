"""The choice of the defaults of rare_phrases and spotsigs: on several collections, and on halves of the larger ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from neardup.evaluate.corpus import Documents
from neardup.evaluate.intervals import interval, resample
from neardup.evaluate.labels import Truth
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench
from neardup.evaluate.scores import Floats
from neardup.evaluate.splits import halves
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.edited_news import REUTERS, edited_news
from neardup.evaluate.studies.held_out_choice import take_part
from neardup.evaluate.studies.rare_phrases import DEFAULT, MAIL, PAGES, PAPER, WEBIS, Scorer
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.evaluate.studies.spotsigs import BETTER, GOLD, PAPERS, shingles, spots
from neardup.evaluate.studies.views import ViewScorer, best
from neardup.plan import View
from neardup.weights.phrases import PhraseWeight

REPEATS = 3  # times that a collection is halved at random
BOOTSTRAP = 200  # samples of the clusters
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

ResultsOf = Callable[[Bench], dict[str, MethodResult]]
SPOT_CHOICES: Mapping[str, View] = {
    "default": spots(distance=1, chain=2),
    "distance = 2, chain = 3 (the paper)": spots(**PAPERS),
    "distance = 1, chain = 1": spots(distance=1, chain=1),
    "antecedents = is … there": spots(**BETTER),
    "antecedents = is … there, distance = 2, chain = 3": spots(antecedents=BETTER["antecedents"], **PAPERS),
    "idf 0.2-0.85": spots(0.2, 0.85, distance=1, chain=2),
}


@study("Rare phrases: the choice of defaults", GOLD, WEBIS, MAIL, REUTERS)
def rare_phrases_defaults(data: DataFolder) -> list[StudyTable]:
    """Max F1 of options on several collections, with bootstrap intervals over clusters, and on random halves."""
    return _tables(data, "rare phrases", _results)


@study("SpotSigs: the choice of defaults", GOLD, WEBIS, MAIL, REUTERS)
def spotsigs_defaults(data: DataFolder) -> list[StudyTable]:
    """Max F1 of options on several collections, with bootstrap intervals over clusters, and on random halves."""
    return _tables(data, "SpotSigs", _spot_results)


def _tables(data: DataFolder, what: str, results_of: ResultsOf) -> list[StudyTable]:
    """A table of the whole collections, and one of their halves."""
    whole: dict[str, dict[str, str]] = {}
    figures: dict[str, dict[str, list[float]]] = {}
    for name, bench in _collections(data):
        results = results_of(bench)
        for choice, result in results.items():
            figures.setdefault(choice, {}).setdefault(name, []).append(best(result)[3])
        if not name.endswith("halves"):
            samples = {choice: _samples(bench, result) for choice, result in results.items()}
            for choice, result in results.items():
                whole.setdefault(choice, {})[name] = _cell(choice, result, samples)
    names = list(whole["default"])
    rows: list[list[Cell]] = [[choice, *(cells[name] for name in names)] for choice, cells in whole.items()]
    notes = [
        f"of the default the 95 % interval over {BOOTSTRAP} bootstrap samples of the clusters; of other options the "
        "interval of the difference from the default in the same samples: one that holds 0 is no difference",
        "Reuters: 1,500 news bodies, 300 of them with one to three edited versions",
    ]
    title = f"Max F1 of {what} by options"
    return [StudyTable(title, ["options", *names], rows, notes), _halves(what, figures)]


def _samples(bench: Bench, result: MethodResult) -> Floats:
    """The best F1 of bootstrap samples; pairs far below the best threshold, nearly all, are left out."""
    kept = result.pairs.score >= best(result)[0] / 3
    return resample(bench.truth, result.pairs.take(kept, bench.truth), 1.0, BOOTSTRAP, 1)["best_f1"]


def _cell(choice: str, result: MethodResult, samples: Mapping[str, Floats]) -> str:
    """The best F1, and its interval or that of the difference from the default."""
    if choice == "default":
        found = interval(samples[choice])
        return f"{best(result)[3]:.3f} [{found.low:.3f}, {found.high:.3f}]"
    found = interval(samples[choice] - samples["default"])
    return f"{best(result)[3]:.3f} ({found.low:+.3f}, {found.high:+.3f})"


def _halves(what: str, figures: Mapping[str, Mapping[str, list[float]]]) -> StudyTable:
    """The mean and the least of random halves, and the mean over all collections."""
    names = list(next(iter(figures.values())))
    rows: list[list[Cell]] = []
    for choice, found in figures.items():
        parts = [f"{np.mean(found[n]):.3f} ({min(found[n]):.3f})" for n in names if len(found[n]) > 1]
        rows.append([choice, *parts, float(np.mean([np.mean(found[name]) for name in names]))])
    halved = [name for name in names if name.endswith("halves")]
    notes = [
        f"{REPEATS} random halvings of the clusters, frequencies counted in each half alone: mean (least)",
        "mean of all: of these and of the whole collections",
    ]
    return StudyTable(f"Max F1 of {what} on halves", ["options", *halved, "mean of all"], rows, notes)


def _results(bench: Bench) -> dict[str, MethodResult]:
    scorer = Scorer(bench)
    found = {f"{n}-shingles": scorer.view_scorer.score("", shingles(n)) for n in (1, 3, 5)}
    return found | {name: scorer.score(weight) for name, weight in CHOICES.items()}


def _spot_results(bench: Bench) -> dict[str, MethodResult]:
    scorer = ViewScorer(bench)
    found = {name: scorer.score("", view) for name, view in SPOT_CHOICES.items()}
    return found | {"1-shingles": scorer.score("", shingles(1))}


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
