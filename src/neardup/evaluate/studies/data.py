"""The labelled collections of studies: their folder and their files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neardup.documents import open_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import InputError
from neardup.evaluate.corpus import Documents, read_documents, run_plan
from neardup.evaluate.goals import Goal
from neardup.evaluate.label_files import read_labels, read_scores
from neardup.evaluate.labels import Truth
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench, Protocol
from neardup.evaluate.similarities import Similarities, candidate_scores
from neardup.evaluate.specs import Spec
from neardup.text.article import HtmlText
from neardup.workers import default_threads

VARIABLE = "NEARDUP_DATA"
FORMS = {
    "spotsigs_gold": "the SpotSigs 'Gold Set': documents.jsonl.gz (id, title, html) and clusters.csv (id, cluster)",
    "webis_pairs": "judged pairs: documents.jsonl.gz (id, text) and pairs.csv (id_a, id_b, label, s3, corpus)",
    "email_campaigns": "mails: documents.jsonl.gz (id, subject, from, date, text, html), clusters.csv (id, cluster) "
    "and borderline_cluster_pairs.csv (cluster_a, cluster_b)",
    "article_extraction": "pages with their article: documents.jsonl.gz (id, url, html, gold)",
    "reuters21578": "news bodies: documents.jsonl.gz (id, title, text, date)",
    "enron_spam": "mails: documents.jsonl.gz (id, title, text, date, group)",
}


def default_folder() -> Path:
    """The folder of labelled data: $NEARDUP_DATA, or ../shared/data."""
    return Path(os.environ.get(VARIABLE, "../shared/data"))


@dataclass
class DataFolder:
    """A folder of labelled collections, each read once."""

    path: Path = field(default_factory=default_folder)
    threads: int = field(default_factory=default_threads)
    progress: Progress = field(default_factory=Progress)
    _known: dict[str, Any] = field(default_factory=dict, repr=False)

    def missing(self, name: str) -> bool:
        """Whether a collection is missing."""
        return not (self.path / name / "documents.jsonl.gz").exists()

    def require(self, name: str) -> Path:
        """The folder of a collection, or an error that says what to provide."""
        if self.missing(name):
            raise InputError(
                f"This study needs the collection {name!r} in {self.path / name}: {FORMS[name]}. Set the folder with "
                f"--data or ${VARIABLE}."
            )
        return self.path / name

    def documents(self, name: str, column: str = "text", how: HtmlText = "visible") -> Documents:
        """The documents of a collection; HTML as its visible text, or as the text of the article."""
        key = f"{name} {column} {how}"
        if key not in self._known:
            source = open_inputs([self.require(name) / "documents.jsonl.gz"])
            columns = InputColumns(text=column, id="id", html=column == "html", html_text=how)
            self._known[key] = read_documents(source, columns, self.progress)
        documents: Documents = self._known[key]
        return documents

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """The value of `make`, computed once for all studies of a run."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def clusters(self, name: str, documents: Documents, undecided: bool = False) -> Truth:
        """The labels of a collection."""
        folder = self.require(name)
        borderline = folder / "borderline_cluster_pairs.csv" if undecided else None
        return read_labels(folder / "clusters.csv", documents.ids, undecided=borderline)

    def bench(
        self,
        name: str,
        column: str = "text",
        how: HtmlText = "visible",
        undecided: bool = False,
        **protocol: Any,
    ) -> Bench:
        """A collection for evaluating methods; borderline pairs are negatives, or excluded if undecided."""
        documents = self.documents(name, column, how)
        return self.bench_of(documents, self.clusters(name, documents, undecided), **protocol)

    def judged(self, name: str, **protocol: Any) -> Bench:
        """A collection of judged pairs for evaluating methods."""
        documents = self.documents(name)
        return self.bench_of(
            documents, read_labels(self.require(name) / "pairs.csv", documents.ids), **protocol
        )

    def scored(self, name: str, column: str) -> MethodResult:
        """The evaluation of the scores in a column of judged pairs."""
        bench = self.judged(name)
        found = read_scores(self.require(name) / "pairs.csv", bench.documents.ids, column)
        return bench.score(column, None, Similarities(*found))

    def bench_of(self, documents: Documents, truth: Truth, **protocol: Any) -> Bench:
        """Documents and labels for evaluating methods."""
        settings = {"threads": self.threads, "splits": 0, "bootstrap": 0, **protocol}
        return Bench(documents, truth, Protocol(Goal(), **settings), self.progress)


def found(bench: Bench, method: str, **options: Any) -> MethodResult:
    """The scores of the pairs that a method finds; other pairs count as missed."""
    plan = Spec(method, options).plan.with_(pairs="all")
    settings = (bench.protocol.threads, bench.protocol.work_dir, bench.progress)
    run, _ = run_plan(plan, bench.documents, *settings)
    run.corpus.work.close()
    return bench.score(method, plan, candidate_scores(plan, run.matches))
