"""The tables and figures of M. Theobald, J. Siddharth and A. Paepcke, SpotSigs (SIGIR 2008), on the gold set."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from neardup.candidates.allpairs import Kind
from neardup.evaluate.labels import pack_pairs
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench
from neardup.evaluate.studies.data import DataFolder, found
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.evaluate.studies.views import (
    ViewScorer,
    at_threshold,
    best,
    distinct_features,
    keys_megabytes,
    megabytes,
)
from neardup.features.antecedents import PRESETS
from neardup.features.shingles import Shingles
from neardup.features.spots import Spots
from neardup.plan import Feature, View, Weight
from neardup.registry import get_method
from neardup.weights.counts import Counts
from neardup.weights.frequency import IdfRange, TfIdf

GOLD = "spotsigs_gold"
HALF = "our half of the gold set has 1,092 pages in 33 clusters, the paper's whole 2,160 in 68"
# Best on whole pages and on article text.
KEYS = {"spotsigs_lsh": 32, "imatch": 1, "imatch_spots": 1}  # of a document
CURVE = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.44, 0.5, 0.6, 0.7, 0.8, 0.9)
PAPERS = {"distance": 2, "chain": 3}
BETTER: dict[str, Any] = {"antecedents": "is_the_said_was_there", "distance": 1, "chain": 2}
OWN_TEXT = (
    "pages are read as their visible text, parsed by an HTML5 parser; the paper does not say how it read them"
)


def texts(data: DataFolder) -> Iterator[tuple[str, Bench]]:
    """The gold set read in two ways: the whole page, and the article alone."""
    for how in ("visible", "article"):
        yield {"visible": "whole page", "article": "article text"}[how], data.bench(GOLD, "html", how)


def spots(low: float = 0.0, high: float = 1.0, **options: Any) -> View:
    """Counted spot signatures inside an idf range."""
    feature = Spots(**options)
    limits = () if (low, high) == (0.0, 1.0) else (IdfRange(feature, low, high),)
    return View(feature, (*limits, Counts()))


def shingles(width: int, low: float = 0.0, high: float = 1.0) -> View:
    """Sets of shingles inside an idf range."""
    feature = Shingles(width)
    return View(feature, () if (low, high) == (0.0, 1.0) else (IdfRange(feature, low, high),))


@study("SpotSigs, table 1", GOLD)
def spotsigs_table_1(data: DataFolder) -> list[StudyTable]:
    """SpotSigs beside shingles, LSH-S and I-Match: best threshold, features, memory, precision, recall, F1."""
    return [_table_1(name, bench) for name, bench in texts(data)]


def _table_1(name: str, bench: Bench) -> StudyTable:
    view_scorer = ViewScorer(bench)
    views: list[tuple[str, View, int, str]] = [
        ("SpotSigs [0.2,0.85]", spots(0.2, 0.85), 4, "6,848 · 2.5 · 0.44 · 0.96 / 0.92 / 0.94"),
        ("1-shingles [0.2,0.85]", shingles(1, 0.2, 0.85), 4, "16,097 · 24.8 · 0.4 · 0.81 / 0.64 / 0.71"),
        ("3-shingles [0.2,0.85]", shingles(3, 0.2, 0.85), 4, "65,453 · 18.6 · 0.4 · 0.73 / 0.65 / 0.69"),
        ("SpotSigs, all", spots(), 4, ""),
        ("SpotSigs is … there, distance 1, chain 2 [0.2,0.85]", spots(0.2, 0.85, **BETTER), 4, ""),
        ("1-shingles, all", shingles(1), 4, ""),
        ("3-shingles, all", shingles(3), 4, ""),
        ("5-shingles, all", shingles(5), 4, ""),
    ]
    rows: list[list[Cell]] = []
    for title, view, pointer, paper in views:
        start = time.process_time()
        features, result = view_scorer.features(view), view_scorer.score(title, view)
        seconds = time.process_time() - start
        size = megabytes(features, pointer, features.weights is not None)
        rows.append([title, distinct_features(features), size, seconds, *best(result), paper])
    window = {"idf_low": 0.4, "idf_high": 0.75}
    methods: dict[str, tuple[str, dict[str, Any]]] = {
        "LSH-S [0.2,0.85] k=6 l=32": (
            "spotsigs_lsh",
            {"idf_low": 0.2, "idf_high": 0.85, "threshold": 0.09, "bands": 32, "rows": 6, **PAPERS},
        ),
        "I-Match [0.4,0.75]": ("imatch", window),
        "I-Match-S [0.4,0.75]": ("imatch_spots", window),
        "I-Match-S, 10 lexicons": ("imatch_spots", {**window, "lexicons": 10, "drop": 0.33}),
    }
    papers = ["6,848 · 2.0 · 0.44 · 0.96 / 0.90 / 0.93", "9,473 · 0.1 · – · 1.00 / 0.03 / 0.05"]
    papers += ["4,575 · 0.1 · – · 0.96 / 0.23 / 0.37", ""]
    for (title, (method, options)), paper in zip(methods.items(), papers, strict=True):
        view = get_method(method).plan(**options).view
        features, start = view_scorer.features(replace(view, signature=None)), time.process_time()
        result = found(bench, method, **options)
        seconds = time.process_time() - start
        size = keys_megabytes(len(features), KEYS[method] * options.get("lexicons", 1))
        rows.append([title, distinct_features(features), size, seconds, *at_threshold(result), paper])
    columns = ["method", "features", "MB", "CPU s", "τ", "precision", "recall", "F1"]
    columns.append("paper: features · MB · τ · P / R / F1")
    own = "LSH-S and I-Match at their own threshold; the others at the one with the best F1"
    accounts = (
        "MB as section 5.4.1 counts: 4 bytes a feature, 2 its count, 4 a pointer; for LSH-S and I-Match 4 bytes a "
        "key and 4 a pointer, without the features that verify candidates"
    )
    timing = (
        "CPU s: all pairs by brute force for shingles and SpotSigs, the whole method for LSH-S and I-Match"
    )
    notes = [HALF, OWN_TEXT, own, accounts, timing]
    return StudyTable(f"SpotSigs, table 1, on the {name}", columns, rows, notes)


@study("SpotSigs, figure 4", GOLD)
def spotsigs_figure_4(data: DataFolder) -> Iterator[StudyTable]:
    """The average cosine (words, tf·idf) within each cluster of the gold set."""
    for name, bench in texts(data):
        view = View(Shingles(1), (TfIdf(Shingles(1)),))
        pairs = ViewScorer(bench).score("cosine", view, "cosine").pairs
        clusters = bench.truth.clusters
        assert clusters is not None
        inside = pairs.positive
        total = np.bincount(clusters[pairs.left[inside]], pairs.score[inside], len(bench.truth.names))
        sizes = bench.truth.sizes
        each = total / np.maximum(sizes * (sizes - 1) / 2, 1)
        rows: list[list[Cell]] = [
            [bench.truth.names[k], int(sizes[k]), float(each[k]), None] for k in np.argsort(-each)
        ]
        rows.append(["macro-average", int(sizes.sum()), float(each[sizes > 1].mean()), 0.64])
        yield StudyTable(
            f"SpotSigs, figure 4, on the {name}", ["cluster", "pages", "cosine", "paper"], rows, [HALF]
        )


@study("SpotSigs, figure 5", GOLD)
def spotsigs_figure_5(data: DataFolder) -> Iterator[StudyTable]:
    """Best F1 of spot signatures, 3-shingles and words, by Jaccard and by cosine."""
    for name, bench in texts(data):
        view_scorer = ViewScorer(bench)
        rows: list[list[Cell]] = []
        results: dict[str, MethodResult] = {}
        paper = {("spots", "jaccard"): 0.94, ("3-shingles", "jaccard"): 0.69, ("words", "jaccard"): 0.71}
        paper |= {("spots", "cosine"): 0.89, ("3-shingles", "cosine"): 0.53}
        features: dict[str, Feature] = {"spots": Spots(), "3-shingles": Shingles(3), "words": Shingles(1)}
        for title, feature in features.items():
            limits = IdfRange(feature, 0.2, 0.85)
            counted: tuple[Weight, ...] = (Counts(),) if title == "spots" else ()
            views: dict[Kind, View] = {
                "jaccard": View(feature, (limits, *counted)),
                "cosine": View(feature, (limits, TfIdf(feature))),
            }
            for kind, view in views.items():
                result = results[f"{title}, {kind}"] = view_scorer.score(title, view, kind)
                rows.append([title, kind, *best(result), paper.get((title, kind))])
        columns = ["features [0.2,0.85]", "similarity", "τ", "precision", "recall", "F1", "paper's best F1"]
        notes = [HALF, "the text gives 0.71 to 3-shingles and table 1 to words; we follow the table"]
        yield StudyTable(f"SpotSigs, figure 5, on the {name}", columns, rows, notes)
        yield curves(f"SpotSigs, figure 5, on the {name}: F1 by threshold", results)


@study("SpotSigs, figure 6", GOLD)
def spotsigs_figure_6(data: DataFolder) -> Iterator[StudyTable]:
    """Best F1 of spot signatures for each set of antecedents."""
    for name, bench in texts(data):
        view_scorer = ViewScorer(bench)
        results = {preset: view_scorer.score(preset, spots(antecedents=preset)) for preset in PRESETS}
        rows: list[list[Cell]] = [[preset, *best(result)] for preset, result in results.items()]
        columns = ["antecedents", "τ", "precision", "recall", "F1"]
        notes = [HALF, "figure 6 has no figures to read off but the best, 0.94 with the paper's set"]
        yield StudyTable(f"SpotSigs, figure 6, on the {name}", columns, rows, notes)
        yield curves(f"SpotSigs, figure 6, on the {name}: F1 by threshold", results)


def curves(title: str, results: Mapping[str, MethodResult]) -> StudyTable:
    """F1 by threshold, to be drawn."""
    rows: list[list[Cell]] = [
        [threshold, *(result.curve.at(threshold).f1 for result in results.values())] for threshold in CURVE
    ]
    return StudyTable(title, ["threshold", *results], rows, [HALF], plot=True, measure="F1")


@study("SpotSigs, 5.3.2", GOLD)
def spotsigs_sweeps(data: DataFolder) -> Iterator[StudyTable]:
    """Best F1 against chain length, spot distance and, for LSH-S, the number of bands."""
    for name, bench in texts(data):
        view_scorer = ViewScorer(bench)
        rows: list[list[Cell]] = []
        for chain in (1, 2, 3, 4, 5):
            rows.append(["chain", chain, *best(view_scorer.score("", spots(chain=chain)))])
        for distance in (1, 2, 3, 4, 5):
            rows.append(["distance", distance, *best(view_scorer.score("", spots(distance=distance)))])
        for bands in (8, 16, 32, 64):
            result = found(bench, "spotsigs_lsh", bands=bands, rows=6, threshold=0.09, **PAPERS)
            rows.append(["bands (l), k = 6", bands, *at_threshold(result)])
        notes = [
            HALF,
            "the paper: chain 3 and distance 2 are better by about one point each; l = 64 reaches full recall",
        ]
        columns = ["what", "value", "τ", "precision", "recall", "F1"]
        yield StudyTable(f"SpotSigs, sweeps, on the {name}", columns, rows, notes)


@study("SpotSigs, figure 7 (right)", GOLD)
def spotsigs_relative_recall(data: DataFolder) -> Iterator[StudyTable]:
    """Recall of SpotSigs and LSH-S relative to what I-Match-S finds, against the threshold."""
    for name, bench in texts(data):
        window: dict[str, Any] = {"idf_low": 0.4, "idf_high": 0.75}
        base = found(bench, "imatch_spots", **window)
        reference_pairs = pack_pairs(base.pairs.left, base.pairs.right)
        rows: list[list[Cell]] = []
        for threshold in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
            row: list[Cell] = [threshold]
            for method in ("spotsigs", "spotsigs_lsh"):
                pairs = found(bench, method, threshold=threshold, **window, **PAPERS).pairs
                reach = pairs.score >= threshold - 1e-9
                share = (
                    np.isin(reference_pairs, pack_pairs(pairs.left, pairs.right)[reach]).mean()
                    if len(reference_pairs)
                    else None
                )
                row.append(None if share is None else float(share))
            rows.append([*row, {0.9: "0.96 / 0.97", 1.0: "0.95 / 0.95"}.get(threshold, "")])
        columns = ["τ", "SpotSigs", "LSH-S", "paper (WT10g)"]
        notes = [
            f"{len(reference_pairs):,} pairs of I-Match-S; the paper's figures are for WT10g, which we do not have"
        ]
        title = f"Recall relative to I-Match-S, on the {name}"
        yield StudyTable(title, columns, rows, notes, plot=True, measure="recall")
