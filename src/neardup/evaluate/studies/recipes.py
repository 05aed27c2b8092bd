"""The recommended command for each kind of data beside others: what a run removes, with intervals over clusters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.evaluate.intervals import interval
from neardup.evaluate.removals import OutcomeScores, by_cluster, sampling_units, sum_up
from neardup.evaluate.run import Bench
from neardup.evaluate.scores import Floats
from neardup.evaluate.specs import make_specs
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.edited_news import REUTERS, edited_news
from neardup.evaluate.studies.made_versions import python_functions, short_notices
from neardup.evaluate.studies.rare_phrases import MAIL
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.evaluate.studies.spotsigs import GOLD
from neardup.verify.numbers import separate_numbers

LONG = ("minhash", "minhash:threshold=0.5", "rare_phrases", "news-pages", "andd", "cosine", "spotsigs")
SHORT = (
    "minhash", "minhash:ngram=2", "minhash:ngram=2; numbers=separate", "minhash:ngram=2,threshold=0.5",
    "minhash:ngram=2,threshold=0.6", "minhash:ngram=3,threshold=0.5", "minhash:ngram=3,threshold=0.6",
    "minhash:tokens=characters,ngram=8,threshold=0.6", "andd", "cosine",
)  # fmt: skip
CODE = ("minhash", "code", "code:threshold=0.5", "minhash:threshold=0.5", "cosine")
SEPARATE = "; numbers=separate"  # an option of `dedup`, and of no method
REPEATS = 1_000  # bootstrap samples of the clusters


@study("none: the recipes of docs/thresholds.md", GOLD, MAIL, REUTERS)
def recipes(data: DataFolder) -> Iterator[StudyTable]:
    """The share of duplicates that a run removes, and of its removals that are wrong, for each kind of data."""
    for kind, bench, names in _kinds(data):
        units = sampling_units(bench.truth)
        weights = _draws(int(units.max()) + 1)
        rows: list[list[Cell]] = []
        for name in names:
            (spec,), separate = make_specs([name.partition(";")[0]]), name.endswith(SEPARATE)
            decisions, _ = bench.run(separate_numbers(spec.plan) if separate else spec.plan)
            table = by_cluster(bench.truth, units, decisions)
            samples = [sum_up(table, one) for one in weights]
            rows.append([name, *_cells(sum_up(table), samples)])
        sizes = bench.truth.sizes
        note = f"{len(bench.documents):,} documents, {int((sizes > 1).sum()):,} clusters of two or more"
        columns = ["command", "duplicates removed", "removals that are wrong", "F1 of pairs in clusters"]
        yield StudyTable(
            f"Recipes: {kind}", columns, rows, [note, f"95 % of {REPEATS:,} bootstrap samples of clusters"]
        )


def _kinds(data: DataFolder) -> Iterator[tuple[str, Bench, tuple[str, ...]]]:
    """Each kind of data, and the commands to try."""
    yield "articles", data.bench(GOLD, "html", "article"), LONG
    yield "articles, made versions", data.bench_of(*edited_news(data)), LONG
    yield "web pages with their boilerplate", data.bench(GOLD, "html", "visible"), LONG
    yield "mail", data.bench(MAIL), LONG
    yield "short notices, made versions", data.bench_of(*short_notices(data)), SHORT
    yield "source code, made versions", data.bench_of(*python_functions()), CODE


def _draws(units: int) -> Floats:
    """How often each cluster is in each bootstrap sample."""
    chances = np.full(units, 1 / units)
    return np.random.default_rng(1).multinomial(units, chances, REPEATS).astype(np.float64)


def _cells(scores: OutcomeScores, samples: list[OutcomeScores]) -> list[Cell]:
    """Each figure with its interval."""
    cells: list[Cell] = []
    for name in ("duplicates_removed", "wrong_share", "f1"):
        ends = interval(np.array([getattr(one, name) for one in samples]))
        cells.append(f"{getattr(scores, name):.3f} [{ends.low:.3f}, {ends.high:.3f}]")
    return cells
