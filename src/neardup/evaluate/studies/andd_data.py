"""Data of the ANDD studies: documents, labels, and splits into training and test documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from neardup.columns import Features, Numbers, Pairs, Texts, make_distinct
from neardup.documents import Problems, open_inputs
from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import Floats, ScoredPairs, score_pairs
from neardup.evaluate.splits import halves
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.times import parse_times
from neardup.learn.training.data import LabelledDocuments, prepare
from neardup.learn.training.setup import TrainingSetup
from neardup.plan import View, stage_json
from neardup.statistics import Statistics, count_features
from neardup.text import HtmlText
from neardup.text.words import Words

GOLD, MAIL = "spotsigs_gold", "email_campaigns"
RUNS = 5
HALF = "our half of the gold set: 1,092 pages in 33 clusters; the paper's whole has 2,160 in 68"
SETTINGS: dict[str, HtmlText] = {"whole pages, as in the paper": "visible", "article text": "article"}
OURS = "our mail is the SpamAssassin corpus, labelled by campaign; the paper's is Hotmail's outbound mail"
Split = tuple[Numbers, Numbers]  # training and test documents


@dataclass
class Experiment:
    """Documents, labels, and splits into training and test documents."""

    documents: Documents
    truth: Truth
    splits: list[Split]
    threads: int
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)  # learned models and pairs

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of `make`, computed once for all tables of a run."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    @cached_property
    def tokens(self) -> Any:
        """The tokens of all documents."""
        return Words()(Texts.from_arrow(self.documents.texts.combine_chunks()))

    def represent(self, view: View) -> Features:
        """The features of every document under a view, with the frequencies of all documents."""
        tables = {stage_json(feature): count_features(feature(self.tokens)) for feature in view.counts}
        found = view.represent(self.tokens, Statistics(len(self.tokens), stage_json(Words()), tables))
        return found if found.distinct else make_distinct(found)

    def setup(self, **options: Any) -> TrainingSetup:
        """A training setup."""
        return TrainingSetup(threads=self.threads, **options)

    def prepared(self, setup: TrainingSetup) -> LabelledDocuments:
        """All labelled documents, prepared for training on any part of them."""
        return prepare(self.documents, self.truth, setup.weight, setup.text, self.threads)

    def score(self, pairs: Pairs, part: Numbers) -> ScoredPairs:
        """Scores of pairs inside a part."""
        inside = np.zeros(len(self.documents), np.bool_)
        inside[part] = True
        chosen = inside[pairs.left] & inside[pairs.right]
        return score_pairs(
            self.truth.only(inside),
            pairs.left[chosen],
            pairs.right[chosen],
            np.maximum(pairs.similarity[chosen], 0),
        )

    def best(self, pairs: Pairs) -> list[ScoredPairs]:
        """The scores of pairs of test documents, for every split."""
        return [self.score(pairs, test) for _, test in self.splits]


def news(data: DataFolder, how: HtmlText = "article") -> Experiment:
    """The gold set, prepared once for all studies of a run."""
    return data.once(f"andd news {how}", lambda: _news(data, how))


def news_settings(data: DataFolder) -> Iterator[tuple[str, Experiment]]:
    """The gold set as whole pages and as article text."""
    for name, how in SETTINGS.items():
        yield name, news(data, how)


def mail(data: DataFolder, undecided: bool = False) -> Experiment:
    """The mail collection, prepared once for all studies of a run."""
    return data.once(f"andd mail {undecided}", lambda: _mail(data, undecided))


def _news(data: DataFolder, how: HtmlText) -> Experiment:
    """Half of the clusters for training, the other half for testing, five times (section 4.1.1)."""
    documents = data.documents(GOLD, "html", how)
    truth = data.clusters(GOLD, documents)
    splits = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in halves(truth, RUNS, seed=1)]
    return Experiment(documents, truth, splits, data.threads)


def _mail(data: DataFolder, undecided: bool) -> Experiment:
    """Earlier campaigns for training, later ones for testing (section 4.2.1), split at five dates."""
    documents = data.documents(MAIL, "text")
    truth = data.clusters(MAIL, documents, undecided)
    assert truth.clusters is not None
    first = np.full(len(truth.names), np.inf)
    np.minimum.at(first, truth.clusters, sent(data))
    order = np.argsort(first, kind="stable")
    splits = []
    for share in (0.4, 0.45, 0.5, 0.55, 0.6):
        early = np.zeros(len(truth.names), np.bool_)
        early[order[: round(share * len(order))]] = True
        splits.append((np.flatnonzero(early[truth.clusters]), np.flatnonzero(~early[truth.clusters])))
    return Experiment(documents, truth, splits, data.threads)


def sent(data: DataFolder) -> Floats:
    """The time each message was sent; 0 if unknown."""
    return np.nan_to_num(parse_times(column(data, "date")), nan=0.0)


def column(data: DataFolder, name: str) -> list[Any]:
    """A column of the mail collection."""
    source = open_inputs([data.require(MAIL) / "documents.jsonl.gz"])
    batches = [batch for one in source for batch in one.read([name], Problems())]
    return [value for batch in batches for value in batch.columns.column(name).to_pylist()]
