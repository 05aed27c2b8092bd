"""The tables of O. Alonso, D. Fetterly and M. Manasse, Duplicate News Story Detection Revisited (MSR-TR-2013-60).

Their collection (ClueWeb09 news, judged pairs) is not public; the gold set of SpotSigs, on which section 4.8 reports,
is what we have. Phrases are counted once per cluster of a first run, as `neardup dedup --method rare_phrases` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np

from neardup.candidates.allpairs import all_pairs
from neardup.clusters.graph import components
from neardup.columns import Features
from neardup.engines.populations import FIRST_THRESHOLD
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, Table, study
from neardup.evaluate.studies.spotsigs import GOLD, HALF, shingles, spots, texts
from neardup.evaluate.studies.views import Looker, best
from neardup.features.passages import PassageWords
from neardup.features.shingles import Shingles
from neardup.plan import View, stage_json
from neardup.statistics import Statistics, count_features
from neardup.weights.phrases import Function, PhraseWeight

ANTECEDENTS = {  # table 5
    "is": 0.6720, "the": 0.7868, "is_the": 0.7851, "is_the_said": 0.7901, "is_the_said_was": 0.7896,
    "is_the_said_was_there": 0.7886, "is_the_said_was_there_a": 0.7918, "is_the_said_was_there_a_it": 0.7967,
    "the_a_can_be_will_have_do": 0.7734, "stopwords": 0.7572,
}  # fmt: skip
MAX_F1 = {  # table 6, where log DF² … ⁴ must be df² … ⁴: the logarithm of a power is only a scale
    "uniform": 0.8352, "df": 0.8275, "ln_df": 0.8429, "idf": 0.8093, "df2": 0.8505, "df3": 0.8449, "df4": 0.8470,
    "ln_df2": 0.8352, "ln_df3": 0.8288, "ln_df4": 0.8257, "ln_df10": 0.8307,
}  # fmt: skip
PEARSON = {"df2": 0.7564, "df3": 0.7550, "df4": 0.7530, "df": 0.7447, "ln_df10": 0.7437}  # table 7, rare 50 %
SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
PAPER = PhraseWeight(Shingles(7), Shingles(1), around=0, rare=0.5)
OURS = PhraseWeight(Shingles(3), PassageWords(50))
OTHER_DATA = (
    "the paper's figures are for its own collection of judged pairs, ours for all pairs of the gold set"
)
NOTES = [HALF, OTHER_DATA]


@dataclass
class Scorer:
    """Scores weightings of phrases on one reading of the gold set; frequencies are counted once for each."""

    bench: Bench
    looker: Looker = field(init=False)
    _known: dict[PhraseWeight, Statistics] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.looker = Looker(self.bench)

    def score(self, weight: PhraseWeight) -> MethodResult:
        """The scores of all pairs by the weighted Jaccard similarity of their phrases."""
        first = replace(weight, rare=1.0, inverse=False)
        if first not in self._known:
            self._known[first] = self._statistics(first)
        found = View(weight.phrases, (weight,)).look(self.looker.tokens, self._known[first])
        return self.looker.score_features(weight.function, found)

    def _statistics(self, weight: PhraseWeight) -> Statistics:
        """Frequencies of words, and of phrases once per cluster of a first run."""
        view = View(weight.phrases, (weight,))
        plain = self.looker.statistics(view)
        similar = all_pairs(view.look(self.looker.tokens, plain), "jaccard", least=FIRST_THRESHOLD)
        labels = components(len(self.looker.tokens), similar.left, similar.right)
        order = np.argsort(labels, kind="stable")
        phrases = weight.phrases(self.looker.tokens).take(order)
        ends = np.append(np.flatnonzero(np.diff(labels[order])) + 1, len(order))
        joined = Features(np.concatenate([[0], phrases.offsets[ends]]), phrases.hashes)
        tables = {**plain.tables, stage_json(weight.phrases): count_features(joined)}
        return Statistics(len(ends), plain.text, tables, "clusters")


@study("Duplicate News Story Detection Revisited, table 5", GOLD)
def rare_phrases_table_5(data: DataFolder) -> list[Table]:
    """Maximum F1 of SpotSigs by antecedents, beside plain shingles."""
    tables = []
    for name, bench in texts(data):
        looker = Looker(bench)
        rows: list[list[Cell]] = [
            [preset, best(looker.score(preset, spots(antecedents=preset)))[3], paper]
            for preset, paper in ANTECEDENTS.items()
        ]
        rows += [[f"{n}-shingles", best(looker.score("", shingles(n)))[3], None] for n in (1, 3, 5, 7)]
        tables.append(Table(f"Table 5 on the {name}", ["antecedents", "max F1", "paper"], rows, NOTES))
    return tables


@study("Duplicate News Story Detection Revisited, tables 6 and 7", GOLD)
def rare_phrases_table_6(data: DataFolder) -> list[Table]:
    """Maximum F1 and Pearson's r of rare phrases by weighting function, as in the paper and with the words around."""
    tables = []
    for name, bench in texts(data):
        scorer = Scorer(bench)
        rows: list[list[Cell]] = []
        for function in get_args(Function):
            theirs = scorer.score(replace(PAPER, function=function))
            ours = scorer.score(replace(OURS, function=function))
            figures = [best(theirs)[3], theirs.pearson, best(ours)[3], ours.pearson]
            rows.append([function, *figures, MAX_F1[function], PEARSON.get(function)])
        columns = ["function", "max F1", "r", "with words around: max F1", "r", "paper: max F1", "r"]
        tables.append(Table(f"Tables 6 and 7 on the {name}", columns, rows, NOTES))
    return tables


@study("Duplicate News Story Detection Revisited, section 4.5", GOLD)
def rare_phrases_shares(data: DataFolder) -> list[Table]:
    """Maximum F1 by the share of phrases that count as rare, with and without the inverse frequency of the phrase."""
    tables = []
    for name, bench in texts(data):
        scorer, rows = Scorer(bench), []
        for share in SHARES:
            row: list[Cell] = [f"{share:.0%}"]
            for weight in (PAPER, OURS):
                for inverse in (False, True):
                    row.append(best(scorer.score(replace(weight, rare=share, inverse=inverse)))[3])
            rows.append(row)
        columns = [
            "rare",
            "df² of the first word",
            "… / df(phrase)",
            "df² of the words around",
            "… / df(phrase)",
        ]
        tables.append(Table(f"Rare phrases on the {name}", columns, rows, NOTES))
    return tables


@study("Duplicate News Story Detection Revisited, figure 6", GOLD)
def rare_phrases_figure_6(data: DataFolder) -> list[Table]:
    """Matthews' correlation coefficient by threshold for the best of each kind."""
    tables = []
    for name, bench in texts(data):
        scorer = Scorer(bench)
        looker = scorer.looker
        results = {
            "7-shingles": looker.score("", shingles(7)),
            "spotsigs": looker.score("", spots(antecedents="is_the_said_was_there")),
            "inverse df of the phrase": scorer.score(
                replace(PAPER, function="uniform", rare=1.0, inverse=True)
            ),
            "rare, uniform": scorer.score(replace(PAPER, function="uniform")),
            "rare, df² of the first word": scorer.score(PAPER),
            "rare, df² of the words around": scorer.score(OURS),
        }
        thresholds = [0.01, 0.02, 0.05, *np.arange(0.1, 1.0, 0.1).round(1).tolist()]
        rows: list[list[Cell]] = [
            [threshold, *(result.curve.at(threshold).mcc for result in results.values())]
            for threshold in thresholds
        ]
        tables.append(Table(f"Figure 6 on the {name}", ["threshold", *results], rows, NOTES))
    return tables
