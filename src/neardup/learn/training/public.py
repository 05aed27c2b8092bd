"""The library function `train_model`: documents and labels in, a model out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from neardup.documents.given import as_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import ParameterError
from neardup.evaluate.corpus import read_documents
from neardup.evaluate.goals import parse_goal
from neardup.evaluate.label_words import DUPLICATES
from neardup.evaluate.public import labels_of
from neardup.evaluate.times import AUTO, times_of
from neardup.evaluate.times import time_column as dated
from neardup.learn.model.file import Model
from neardup.learn.model.gram_features import get_features
from neardup.learn.model.weight import INITIAL_CHOICES
from neardup.learn.training.learner import learn
from neardup.learn.training.query_files import read_queries
from neardup.learn.training.setup import RANDOM, REGULARIZATIONS, TrainingSetup
from neardup.workers import checked_threads


def train_model(
    documents: Any,
    labels: Any,
    *,
    positive_from: float = 1.0,
    duplicates: str | Sequence[str] = DUPLICATES,
    document_labels: str | os.PathLike[str] | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    html: bool | None = None,
    format: str | None = None,
    time_column: str | None = AUTO,
    progress: Progress | None = None,
    **options: Any,
) -> Model:
    """The model learned from labelled documents; `model.write(path)` writes the file for `andd`.

    Args:
        documents: As for `dedup`.
        labels: As for `evaluation`.
        positive_from: The least grade of a near-duplicate, if judged pairs have grades.
        duplicates: Labels of pairs that count as near-duplicates: duplicate, containment, near.
        document_labels: A table of labels that say which documents are relevant (see `neardup evaluate`).
        text_column: As for `dedup`.
        id_column: As for `dedup`.
        html: As for `dedup`.
        format: As for `dedup`.
        time_column: A column of dates: labels are held out by time, and the figures are those of later documents;
            "auto" takes a column with a usual name, such as date, and None none.
        progress: An object that is notified of stages and progress.
        options: The options of `neardup learn`: ngram, tokens, similarity, fields, tags, queries, features,
            initial_weights, regularization, negative, aim, goal, seed, threads.
    """
    setup = training_setup(**options)
    inputs, _ = as_inputs(documents, format)
    columns = InputColumns(text_column, id_column, html)
    column = dated(time_column, inputs)
    also = () if column is None else (column,)
    read = read_documents(inputs, columns, progress or Progress(), stages=[setup.text], also=also)
    truth = labels_of(labels, read.ids, positive_from, duplicates, document_labels)
    return learn(read, truth, setup, progress, times_of(read, column), asked=time_column != AUTO)


def training_setup(
    *,
    ngram: int = 1,
    tokens: Any = "words",
    similarity: Any = "cosine",
    fields: str | Sequence[str] | None = None,
    tags: bool = False,
    queries: str | os.PathLike[str] | None = None,
    features: str | Sequence[str] | None = None,
    initial_weights: str = "auto",
    regularization: str | float = "auto",
    negative: Any = "auto",
    aim: Any = "vectors",
    goal: str = "f1",
    seed: int = 1,
    threads: int | None = None,
) -> TrainingSetup:
    """The training setup of these options; unknown features and initial weights are refused."""
    names = None if features is None else _names(features)
    if names is not None and not names:
        raise ParameterError("features", "learn", "at least one name", features)
    get_features(names or ())
    if initial_weights not in ("auto", RANDOM, *INITIAL_CHOICES):
        choices = f"auto, {RANDOM} or one of " + ", ".join(INITIAL_CHOICES)
        raise ParameterError("initial_weights", "learn", choices, initial_weights)
    setup = TrainingSetup(
        ngram=ngram,
        tokens=tokens,
        similarity=similarity,
        fields=() if fields is None else _names(fields),
        markup=tags,
        queries="" if queries is None else read_queries(queries, ngram, tokens),
        features=names,
        initial=initial_weights,
        regularizations=_strengths(regularization),
        highest=regularization == "best",
        negative=negative,
        aim=aim,
        goal=parse_goal(goal),
        seed=seed,
        threads=checked_threads(threads),
    )
    _ = setup.text  # invalid fields are refused here
    return setup


def _strengths(regularization: str | float) -> tuple[float, ...]:
    """The strengths to choose from; a number is the only one."""
    if regularization in ("auto", "best"):
        return REGULARIZATIONS
    try:
        strength = float(regularization)
    except ValueError:
        strength = -1.0
    if not 0 <= strength < float("inf"):
        raise ParameterError("regularization", "learn", "auto, best or a number from 0", regularization)
    return (strength,)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(name.strip() for name in parts if name.strip()))
