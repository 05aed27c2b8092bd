"""The labelled collections that studies run on: where they are expected, and in which form."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.documents import open_inputs
from neardup.engines.progress import Progress
from neardup.engines.reading import Columns
from neardup.errors import InputError
from neardup.evaluate.corpus import Documents, read_documents, run_plan
from neardup.evaluate.goals import Goal
from neardup.evaluate.label_files import read_labels
from neardup.evaluate.labels import Truth
from neardup.evaluate.measure import candidate_scores
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench, Protocol
from neardup.evaluate.specs import Spec
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
    """Where labelled data is looked for: $NEARDUP_DATA, or shared/data beside the working folder's parent."""
    return Path(os.environ.get(VARIABLE, "../shared/data"))


@dataclass
class DataFolder:
    """A folder of labelled collections, each read once."""

    path: Path = field(default_factory=default_folder)
    threads: int = field(default_factory=default_threads)
    progress: Progress = field(default_factory=Progress)
    _known: dict[str, Any] = field(default_factory=dict, repr=False)

    def missing(self, name: str) -> bool:
        """Whether a collection is not there."""
        return not (self.path / name / "documents.jsonl.gz").exists()

    def require(self, name: str) -> Path:
        """The folder of a collection, or an error that says what to provide."""
        if self.missing(name):
            raise InputError(
                f"This study needs the collection {name!r}: {FORMS[name]}, in {self.path / name}; name another "
                f"folder with --data or ${VARIABLE}."
            )
        return self.path / name

    def documents(self, name: str, column: str = "text", how: str = "visible") -> Documents:
        """The documents of a collection; HTML as its visible text, or as the text of the article."""
        key = f"{name} {column} {how}"
        if key not in self._known:
            source = open_inputs([self.require(name) / "documents.jsonl.gz"])
            columns = Columns(text=column, id="id", html=column == "html" and how == "visible")
            found = read_documents(source, columns, self.progress)
            self._known[key] = (
                found if how == "visible" else replace(found, texts=_articles(found.texts, how))
            )
        documents: Documents = self._known[key]
        return documents

    def clusters(self, name: str, documents: Documents, undecided: bool = False) -> Truth:
        """The labels of a collection."""
        folder = self.require(name)
        borderline = folder / "borderline_cluster_pairs.csv" if undecided else None
        return read_labels(folder / "clusters.csv", documents.ids, undecided=borderline)

    def bench(self, name: str, column: str = "text", how: str = "visible", **protocol: Any) -> Bench:
        """A collection ready to evaluate methods on."""
        documents = self.documents(name, column, how)
        settings = {"threads": self.threads, "splits": 0, "bootstrap": 0, **protocol}
        return Bench(documents, self.clusters(name, documents), Protocol(Goal(), **settings), self.progress)


def _articles(texts: pa.ChunkedArray, how: Any) -> pa.ChunkedArray:
    """The article text of every page, by an extractor's name."""
    from neardup.text.article import article_text

    pages = (page.as_py() or "" for chunk in texts.chunks for page in chunk)
    return pa.chunked_array([pa.array([article_text(page, how) for page in pages], pa.large_string())])


def found(bench: Bench, method: str, **options: Any) -> MethodResult:
    """The scores of the pairs that a method really finds; what its candidates miss counts as missed."""
    plan = Spec(method, options).plan.with_(pairs="all")
    settings = (bench.protocol.threads, bench.protocol.work_dir, bench.progress)
    run, _ = run_plan(plan, bench.documents, *settings)
    run.corpus.work.close()
    return bench.score(method, plan, candidate_scores(plan, run.matches))
