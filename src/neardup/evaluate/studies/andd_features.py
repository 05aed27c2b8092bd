"""The features of ANDD's table 1 that need more than a text: InTitle, InURL and query frequency."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents import Problems, open_inputs
from neardup.evaluate.studies.andd_data import GOLD, HALF, MAIL, OURS, Experiment, mail, news
from neardup.evaluate.studies.andd_scores import f1, learned, models, wins_and_p_values
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.learn.training.query_files import pack_texts

REUTERS, ENRON = "reuters21578", "enron_spam"
ADDRESS = re.compile(r"https?://[^\s<>\"']+", re.IGNORECASE)
TEXT = "text alone"
AS_IT_IS: dict[str, Any] = {"initial": "front", "regularizations": (0.3,)}  # the defaults, without a choice
COLUMNS = (
    "features",
    "parameters",
    "held-out F1",
    "max F1, mean",
    "least",
    "better than text alone in (paired / corrected)",
)
NOTES = [
    "held-out F1: on folds of the training part; max F1: on the test part of five runs",
    "every row: initial weights and regularization are the defaults, without a choice",
    "QF: no log of queries belongs to these collections; the titles of another one stand in for it",
]


@study("ANDD, table 1", GOLD, MAIL, REUTERS, ENRON)
def andd_table_1(data: DataFolder) -> Iterator[StudyTable]:
    """Max F1 with and without the features for titles, addresses and queries: news as whole pages, and mail."""
    headlines, subjects = (titles_as_queries(data, name) for name in (REUTERS, ENRON))
    pages = with_fields(news(data, "visible"), title=read_column(data, GOLD, "title"))
    title: dict[str, Any] = {"fields": ("title",)}
    yield features_table(
        "ANDD, table 1: news, whole pages",
        pages,
        {TEXT: {}, "and InTitle": title, "and QF (Reuters headlines)": {"queries": headlines},
         "and InTitle, QF": {**title, "queries": headlines}},
        [HALF, *NOTES, "InURL: these pages come without their addresses"],
    )  # fmt: skip
    messages = with_fields(mail(data), subject=read_column(data, MAIL, "subject"), url=first_addresses(data))
    yield features_table(
        "ANDD, table 1: mail",
        messages,
        {TEXT: {}, "and InTitle (subject)": {"fields": ("subject",)}, "and InURL (first link)": {"fields": ("url",)},
         "and QF (Enron subjects)": {"queries": subjects},
         "and InTitle, InURL, QF": {"fields": ("subject", "url"), "queries": subjects}},
        [OURS, *NOTES, "InURL: mail has no address; that of its first link stands in for it"],
    )  # fmt: skip


def features_table(
    title: str, experiment: Experiment, setups: dict[str, dict[str, Any]], notes: list[str]
) -> StudyTable:
    """Figures for each choice of features, beside those of the text alone."""
    rows: list[list[Cell]] = []
    base = f1(learned(experiment, experiment.setup(**AS_IT_IS)))
    for name, options in setups.items():
        setup = experiment.setup(**AS_IT_IS, **options)
        found = f1(learned(experiment, setup))
        held_out = float(np.mean([model.training["f1"] for model in models(experiment, setup)]))
        tests = wins_and_p_values(found, base) if options else ""
        rows.append([name, len(setup.names), held_out, float(found.mean()), float(found.min()), tests])
    return StudyTable(title, COLUMNS, rows, notes)


def with_fields(experiment: Experiment, **fields: list[str]) -> Experiment:
    """The same documents and splits, with more columns."""
    columns = {
        name: pa.chunked_array([pa.array(values, pa.large_string())]) for name, values in fields.items()
    }
    return Experiment(
        replace(experiment.documents, fields=columns), experiment.truth, experiment.splits, experiment.threads
    )


def titles_as_queries(data: DataFolder, collection: str) -> str:
    """Packed frequencies of the words of a collection's titles, which stand in for a log of queries."""
    titles = read_column(data, collection, "title")
    return pack_texts(titles, np.ones(len(titles)))


def first_addresses(data: DataFolder) -> list[str]:
    """The address of the first link of each message, in its text or its HTML."""
    found = []
    for text, html in zip(read_column(data, MAIL, "text"), read_column(data, MAIL, "html"), strict=True):
        address = ADDRESS.search(text) or ADDRESS.search(html)
        found.append(address[0] if address else "")
    return found


def read_column(data: DataFolder, collection: str, name: str) -> list[str]:
    """A column of a collection; nulls are empty."""
    source = open_inputs([data.require(collection) / "documents.jsonl.gz"])
    batches = [batch for one in source for batch in one.read([name], Problems())]
    return [value or "" for batch in batches for value in batch.columns.column(name).to_pylist()]
