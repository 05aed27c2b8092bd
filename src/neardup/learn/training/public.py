"""Learning as the library offers it: documents and labels in, a model out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from neardup.api import as_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import ParameterError
from neardup.evaluate.corpus import read_documents
from neardup.evaluate.goals import parse_goal
from neardup.evaluate.label_files import read_labels
from neardup.evaluate.public import clusters_in_memory
from neardup.learn.model.file import Model
from neardup.learn.model.gram_features import get_features
from neardup.learn.model.weight import STARTS
from neardup.learn.training.queries import read_queries
from neardup.learn.training.setup import TrainingSetup
from neardup.learn.training.train import learn
from neardup.workers import checked_threads


def train_model(
    documents: Any,
    labels: Any,
    *,
    positive_from: float = 1.0,
    text_column: str | None = None,
    id_column: str | None = None,
    html: bool | None = None,
    format: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Model:
    """The model that labelled documents teach; `model.write(path)` makes the file that `andd` takes.

    `documents` and `labels` as for `evaluation`; `options` are those of `neardup learn`: ngram, tokens, similarity,
    fields, tags, queries, features, start, negative, aim, goal, seed, threads.
    """
    lesson = make_lesson(**options)
    inputs, _ = as_inputs(documents, format)
    columns = InputColumns(text_column, id_column, html)
    read = read_documents(inputs, columns, progress or Progress(), stages=[lesson.text])
    if isinstance(labels, (str, os.PathLike)):
        truth = read_labels(labels, read.ids, positive_from=positive_from)
    else:
        truth = clusters_in_memory(labels, read.ids)
    return learn(read, truth, lesson, progress)


def make_lesson(
    *,
    ngram: int = 1,
    tokens: Any = "words",
    similarity: Any = "cosine",
    fields: str | Sequence[str] | None = None,
    tags: bool = False,
    queries: str | os.PathLike[str] | None = None,
    features: str | Sequence[str] | None = None,
    start: str = "auto",
    negative: Any = "auto",
    aim: Any = "vectors",
    goal: str = "f1",
    seed: int = 1,
    threads: int | None = None,
) -> TrainingSetup:
    """The lesson that options describe; an unknown feature, start or column name is refused here."""
    names = None if features is None else _names(features)
    if names is not None and not names:
        raise ParameterError("features", "learn", "one name at least", features)
    get_features(names or ())
    if start != "auto" and start not in STARTS:
        raise ParameterError("start", "learn", "auto or one of " + ", ".join(STARTS), start)
    lesson = TrainingSetup(
        ngram=ngram,
        tokens=tokens,
        similarity=similarity,
        fields=() if fields is None else _names(fields),
        markup=tags,
        queries="" if queries is None else read_queries(queries, ngram, tokens),
        features=names,
        begin=start,
        negative=negative,
        aim=aim,
        goal=parse_goal(goal),
        seed=seed,
        threads=checked_threads(threads),
    )
    _ = lesson.text  # fields that do not fit are refused here
    return lesson


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(name.strip() for name in parts if name.strip()))
