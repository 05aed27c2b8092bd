"""The library function `neardup.evaluation` (neardup.evaluate is this package)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents.given import as_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import InputError
from neardup.evaluate.corpus import read_documents
from neardup.evaluate.goals import parse_goal
from neardup.evaluate.label_files import read_labels
from neardup.evaluate.label_words import DUPLICATES
from neardup.evaluate.labels import Truth
from neardup.evaluate.results import Evaluation
from neardup.evaluate.run import Protocol, evaluate
from neardup.evaluate.specs import make_specs
from neardup.plan import Plan
from neardup.plurals import counted
from neardup.text.article import HtmlText, check_html_text
from neardup.workers import checked_threads


def evaluation(
    documents: Any,
    labels: Any,
    methods: Sequence[str | Plan] | str | Plan = ("minhash",),
    *,
    goal: str = "f1",
    splits: int = 5,
    bootstrap: int = 200,
    seed: int = 1,
    positive_from: float = 1.0,
    duplicates: str | Sequence[str] = DUPLICATES,
    document_labels: str | os.PathLike[str] | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    html: bool | None = None,
    html_text: HtmlText = "article",
    format: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Scores of methods on labelled documents.

    Args:
        documents: As for `dedup`.
        labels: A file or folder (see `neardup evaluate`), a mapping from id to cluster, or one cluster for each
            document in order; None leaves a document out.
        methods: Names with options ("minhash:ngram=3,threshold=0.6"), or plans.
        goal: The goal of the best threshold: f1, mcc, precision=P or recall=R.
        splits: Halvings of the clusters; the threshold of one half is applied to the other.
        bootstrap: Samples of clusters for the 95 % intervals; 0 leaves them out.
        seed: The seed of splits and samples.
        positive_from: The least grade of a near-duplicate, if judged pairs have grades.
        duplicates: Labels of pairs that count as near-duplicates: duplicate, containment, near.
        document_labels: A table of labels that say which documents are relevant (see `neardup evaluate`).
        text_column: As for `dedup`.
        id_column: As for `dedup`.
        html: As for `dedup`.
        html_text: As for `dedup`.
        format: As for `dedup`.
        threads: Threads to use; None uses all processors.
        progress: An object that is notified of stages and progress.
    """
    check_html_text(html_text, "evaluation")
    inputs, _ = as_inputs(documents, format, html_text=html_text)
    protocol = Protocol(parse_goal(goal), splits, bootstrap, seed, threads=checked_threads(threads))
    several = [methods] if isinstance(methods, (str, Plan)) else list(methods)
    plans = [
        one for method in several for one in ([method] if isinstance(method, Plan) else make_specs([method]))
    ]
    stages = [one.text if isinstance(one, Plan) else one.plan.text for one in plans]
    columns = InputColumns(text_column, id_column, html, html_text=html_text)
    read = read_documents(inputs, columns, progress or Progress(), stages=stages)
    truth = labels_of(labels, read.ids, positive_from, duplicates, document_labels).require("the labels")
    return evaluate(read, truth, plans, protocol, progress)


def labels_of(
    labels: Any,
    ids: pa.Array,
    positive_from: float,
    duplicates: str | Sequence[str] = DUPLICATES,
    documents: str | os.PathLike[str] | None = None,
) -> Truth:
    """The truth of a label file, or of labels in memory."""
    if isinstance(labels, (str, os.PathLike)):
        how: dict[str, Any] = {"positive_from": positive_from, "duplicates": duplicates}
        return read_labels(labels, ids, documents=documents, **how)
    return clusters_in_memory(labels, ids)


def clusters_in_memory(labels: Any, ids: pa.Array) -> Truth:
    """The truth of a mapping from id to cluster, or of one cluster for each document."""
    known = ids.to_pylist()
    if isinstance(labels, Mapping):
        unknown = [one for one in labels if one not in set(known)]
        if unknown:
            raise InputError(
                f"no document has the id {unknown[0]!r} of the labels ({counted(len(unknown), 'unknown id')})"
            )
        values = [labels.get(one) for one in known]
    else:
        values = list(labels.to_pylist() if hasattr(labels, "to_pylist") else labels)
    if len(values) != len(known):
        raise InputError(
            f"{counted(len(values), 'label')} for {counted(len(known), 'document')}: give one label for each"
        )
    names: dict[Any, int] = {}
    numbers = [-1 if value is None else names.setdefault(value, len(names)) for value in values]
    return Truth(np.array(numbers, np.int64), names=tuple(map(str, names)))
