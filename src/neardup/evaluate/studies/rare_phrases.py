"""The tables of O. Alonso, D. Fetterly and M. Manasse, Duplicate News Story Detection Revisited (MSR-TR-2013-60).

Their collection (ClueWeb09 news, judged pairs) is not public; the gold set of SpotSigs, on which section 4.8 reports,
is what we have. Phrases are counted once per cluster of a first pass, as `neardup dedup --method rare_phrases` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from neardup.candidates.allpairs import all_pairs
from neardup.clusters.graph import components
from neardup.columns import Features
from neardup.engines.core.first_pass import FIRST_THRESHOLD
from neardup.engines.core.template_groups import sample_groups, split_template_groups, unique_shares
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.evaluate.studies.spotsigs import BETTER, GOLD, HALF, shingles, spots, texts
from neardup.evaluate.studies.views import ViewScorer, best
from neardup.plan import View, stage_json
from neardup.registry import get_method, presets
from neardup.statistics import Statistics, count_features
from neardup.weights.phrases import Function, PhraseWeight

ANTECEDENTS = {  # table 5
    "is": 0.6720, "the": 0.7868, "is_the": 0.7851, "is_the_said": 0.7901, "is_the_said_was": 0.7896,
    "is_the_said_was_there": 0.7886, "is_the_said_was_there_a": 0.7918, "is_the_said_was_there_a_it": 0.7967,
    "the_a_can_be_will_have_do": 0.7734, "stopwords": 0.7572,
}  # fmt: skip
MAX_F1 = {  # table 6, where log DF² … ⁴ must be df² … ⁴: the logarithm of a power is only a scale
    "uniform": 0.8352, "df": 0.8275, "ln_df": 0.8429, "ln_idf": 0.8093, "df2": 0.8505, "df3": 0.8449, "df4": 0.8470,
    "ln_df2": 0.8352, "ln_df3": 0.8288, "ln_df4": 0.8257, "ln_df10": 0.8307,
}  # fmt: skip
PEARSON = {"df2": 0.7564, "df3": 0.7550, "df4": 0.7530, "df": 0.7447, "ln_df10": 0.7437}  # table 7, rare 50 %
BEST_SPOTSIGS = 0.5517  # section 4.6: its largest r
SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def weighting(preset: str | None = None, **options: Any) -> PhraseWeight:
    """The weight stage of the method with these options."""
    known = {name: value for name, value in presets(preset).items() if name != "method"} if preset else {}
    (weight,) = get_method("rare_phrases").plan(**known, **options).view.weights
    assert isinstance(weight, PhraseWeight)
    return weight


PAPER, DEFAULT, PAGES = weighting("news-2013"), weighting(), weighting("news-pages")
WEIGHTINGS = {"first word, as in the paper": PAPER, "words around, the default": DEFAULT, "news-pages": PAGES}
OTHER_DATA = (
    "the paper's figures are for its own collection of judged pairs, ours for all pairs of the gold set"
)
NOTES = [HALF, OTHER_DATA]


@dataclass
class Scorer:
    """Scores weightings of phrases on the gold set; frequencies are counted once for each."""

    bench: Bench
    view_scorer: ViewScorer = field(init=False)
    _known: dict[PhraseWeight, Statistics] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.view_scorer = ViewScorer(self.bench)

    def score(self, weight: PhraseWeight) -> MethodResult:
        """The scores of all pairs by the weighted Jaccard similarity of their phrases."""
        first = weight.first_pass
        if first not in self._known:
            self._known[first] = self._statistics(first)
        found = View(weight.phrases, (weight,)).represent(self.view_scorer.tokens, self._known[first])
        return self.view_scorer.score_features(weight.function, found)

    def _statistics(self, weight: PhraseWeight) -> Statistics:
        """Frequencies of words, and of phrases once per cluster of a first pass."""
        view = View(weight.phrases, (weight,))
        plain = self.view_scorer.statistics(view)
        similar = all_pairs(view.represent(self.view_scorer.tokens, plain), "jaccard", least=FIRST_THRESHOLD)
        labels = components(len(self.view_scorer.tokens), similar.left, similar.right)
        if weight.around:
            sampled = sample_groups(labels, np.arange(len(labels), dtype=np.uint64))
            labels = split_template_groups(
                labels,
                sampled,
                unique_shares(view, view.represent(self.view_scorer.tokens, plain), plain)[sampled],
            )
        order = np.argsort(labels, kind="stable")
        phrases = weight.phrases(self.view_scorer.tokens).take(order)
        ends = np.append(np.flatnonzero(np.diff(labels[order])) + 1, len(order))
        joined = Features(np.concatenate([[0], phrases.offsets[ends]]), phrases.hashes)
        tables = {**plain.tables, stage_json(weight.phrases): count_features(joined)}
        return Statistics(len(ends), plain.text, tables, "clusters")


@study("Duplicate News Story Detection Revisited, table 5", GOLD)
def rare_phrases_table_5(data: DataFolder) -> Iterator[StudyTable]:
    """Maximum F1 of SpotSigs by antecedents, beside plain shingles and rare phrases."""
    for name, bench in texts(data):
        scorer = Scorer(bench)
        view_scorer = scorer.view_scorer
        rows: list[list[Cell]] = [
            [preset, best(view_scorer.score(preset, spots(antecedents=preset)))[3], paper]
            for preset, paper in ANTECEDENTS.items()
        ]
        other = best(view_scorer.score("", spots(0.2, 0.85, **BETTER)))[3]
        rows.append(["is … there, distance 1, chain 2, idf 0.2-0.85: the best of all", other, None])
        rows += [[f"{n}-shingles", best(view_scorer.score("", shingles(n)))[3], None] for n in (1, 3, 5, 7)]
        rows += [[f"rare phrases, {kind}", best(scorer.score(w))[3], None] for kind, w in WEIGHTINGS.items()]
        yield StudyTable(f"Table 5 on the {name}", ["antecedents", "max F1", "paper"], rows, NOTES)


@study("Duplicate News Story Detection Revisited, table 6", GOLD)
def rare_phrases_table_6(data: DataFolder) -> Iterator[StudyTable]:
    """Maximum F1 of rare phrases by weighting function."""
    return _by_function(data, "Table 6", MAX_F1, lambda result: best(result)[3])


@study("Duplicate News Story Detection Revisited, table 7", GOLD)
def rare_phrases_table_7(data: DataFolder) -> Iterator[StudyTable]:
    """Pearson's r of rare phrases with the labels by weighting function, and that of the best SpotSigs."""
    tables = _by_function(data, "Table 7", PEARSON, lambda result: result.pearson)
    for table, (_, bench) in zip(tables, texts(data), strict=True):
        found = ViewScorer(bench).score("", spots(antecedents="is_the_said_was_there")).pearson
        table.rows.append(["SpotSigs, is … there", found, None, None, BEST_SPOTSIGS])  # type: ignore[attr-defined]
        yield table


def _by_function(
    data: DataFolder, title: str, paper: Mapping[str, float], figure: Callable[[MethodResult], float]
) -> Iterator[StudyTable]:
    """A figure for each function of table 4 and each weighting, beside the paper's."""
    for name, bench in texts(data):
        scorer = Scorer(bench)
        rows: list[list[Cell]] = []
        for function in get_args(Function):
            ours = [
                figure(scorer.score(replace(weight, function=function))) for weight in WEIGHTINGS.values()
            ]
            rows.append([function, *ours, paper.get(function)])
        yield StudyTable(f"{title} on the {name}", ["function", *WEIGHTINGS, "paper"], rows, NOTES)


@study("Duplicate News Story Detection Revisited, section 4.5", GOLD)
def rare_phrases_shares(data: DataFolder) -> Iterator[StudyTable]:
    """Maximum F1 by the share of phrases that count as rare, or by the absolute rule of section 3."""
    for name, bench in texts(data):
        scorer = Scorer(bench)
        rows: list[list[Cell]] = []
        for share, rule in RULES.items():
            found = [best(scorer.score(replace(weight, **rule)))[3] for weight in WEIGHTINGS.values()]
            rows.append([share, *found])
        yield StudyTable(f"Rare phrases on the {name}", ["rare", *WEIGHTINGS], rows, NOTES)


RULES: dict[str, dict[str, Any]] = {
    **{f"bottom {share:.0%}": {"rare": share, "common_above": 10**9} for share in SHARES},
    "in at most 42": {"rare": 1.0, "common_above": 42},
}
INVERSES: dict[str, dict[str, Any]] = {
    "f(df of the first word)": {"inverse": False},
    "f(df of the first word) / df of the phrase": {"inverse": True},
    "f(df of the first word / df of the phrase)": {"inverse": True, "inside": True},
}


@study("Duplicate News Story Detection Revisited, sections 4.3 to 4.5", GOLD)
def rare_phrases_grid(data: DataFolder) -> Iterator[StudyTable]:
    """Maximum F1 of the paper's whole grid on whole pages: function × share of rare phrases × inverse df."""
    scorer = Scorer(data.bench(GOLD, "html"))
    for title, inverse in INVERSES.items():
        rows: list[list[Cell]] = []
        for function in get_args(Function):
            weights = [replace(PAPER, function=function, **inverse, **rule) for rule in RULES.values()]
            rows.append([function, *(best(scorer.score(weight))[3] for weight in weights)])
        yield StudyTable(title, ["function", *RULES], rows, NOTES)


@study("Duplicate News Story Detection Revisited, figure 6", GOLD)
def rare_phrases_figure_6(data: DataFolder) -> Iterator[StudyTable]:
    """Matthews' correlation coefficient by threshold for the best variant of each method."""
    for name, bench in texts(data):
        scorer = Scorer(bench)
        view_scorer = scorer.view_scorer
        uniform = replace(PAPER, function="uniform")
        results = {
            "7-shingles": view_scorer.score("", shingles(7)),
            "spotsigs": view_scorer.score("", spots(antecedents="is_the_said_was_there")),
            "inverse df of the phrase": scorer.score(replace(uniform, rare=1.0, inverse=True)),
            "rare, uniform": scorer.score(uniform),
            **{f"rare, {kind}": scorer.score(weight) for kind, weight in WEIGHTINGS.items()},
        }
        thresholds = [0.01, 0.02, 0.05, *np.arange(0.1, 1.0, 0.1).round(1).tolist()]
        rows: list[list[Cell]] = [
            [threshold, *(result.curve.at(threshold).mcc for result in results.values())]
            for threshold in thresholds
        ]
        title = f"Figure 6 on the {name}"
        yield StudyTable(title, ["threshold", *results], rows, NOTES, plot=True, measure="MCC")


WEBIS, MAIL = "webis_pairs", "email_campaigns"


@study("Rare phrases, other collections", WEBIS, MAIL)
def rare_phrases_elsewhere(data: DataFolder) -> list[StudyTable]:
    """Maximum F1 on judged pairs of web pages and on mail campaigns, borderline pairs as negatives, or excluded."""
    strict, lenient = (Scorer(data.bench(MAIL, undecided=undecided)) for undecided in (False, True))
    pages = Scorer(data.judged(WEBIS))
    views = {f"{n}-shingles": shingles(n) for n in (1, 3, 5, 7)}
    views["spotsigs"] = spots(antecedents="is_the_said_was_there")
    rows: list[list[Cell]] = [
        ["the score in the collection", best(data.scored(WEBIS, "s3"))[3], None, None, None]
    ]
    for name, view in views.items():
        rows.append(
            [name, *_figures(*(scorer.view_scorer.score(name, view) for scorer in (pages, strict, lenient)))]
        )
    weights = {**WEIGHTINGS, "words around, uniform": replace(DEFAULT, function="uniform")}
    for name, weight in weights.items():
        rows.append(
            [f"rare, {name}", *_figures(*(scorer.score(weight) for scorer in (pages, strict, lenient)))]
        )
    columns = ["", "238 pairs of pages", "mail", "… borderline excluded", "… mean of campaigns"]
    note = "mean of campaigns: of the F1 of each, at the threshold that is best for all pairs"
    return [StudyTable("Max F1 on other collections", columns, rows, [note])]


def _figures(pages: MethodResult, strict: MethodResult, lenient: MethodResult) -> list[Cell]:
    """Max F1 on each collection; and on mail the mean of the campaigns at the best threshold."""
    each = strict.by_cluster.macro["f1"] if strict.by_cluster else None
    return [best(pages)[3], best(strict)[3], best(lenient)[3], each]
