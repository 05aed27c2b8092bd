"""Labelled documents for training: k-grams, their features, and similarities under given weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from neardup.candidates.inverted import Inverted
from neardup.columns import Features, Numbers, Texts
from neardup.engines.core.represent import chunks
from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth
from neardup.learn.model.gram_features import compute_features
from neardup.learn.model.weight import LearnedWeight
from neardup.learn.training.loss import Entries, Floats, Similarity
from neardup.learn.training.sample import SimilarPairs
from neardup.plan import Feature, Text, stage_json
from neardup.statistics import Frequencies, Statistics, add_up, count_features
from neardup.workers import ordered_map

LEAST = 0.05  # lower similarities count as 0


@dataclass(frozen=True)
class LabelledDocuments:
    """Documents with labels; documents without a label contribute to the statistics alone."""

    entries: Entries
    names: tuple[str, ...]  # of the features
    truth: Truth
    statistics: Statistics
    numbers: Numbers  # among all documents
    threads: int = 1
    times: Floats | None = None  # of the documents; None: folds are drawn at random

    def __len__(self) -> int:
        return len(self.entries)

    def weigh(self, weights: Floats, negative: str) -> Features:
        """Document vectors."""
        values: Floats = np.einsum("gj,j->g", self.entries.values, weights)
        values = np.maximum(values, 0) if negative == "clip" else values
        return Features(self.entries.offsets, self.entries.hashes, values.astype(np.float32), distinct=True)

    def similar(self, weights: Floats, negative: str, kind: Similarity, least: float = LEAST) -> SimilarPairs:
        """The similarities of all pairs of documents that share a k-gram."""
        search = Inverted("cosine" if kind == "cosine" else "extended_jaccard")
        pairs = search.pairs(self.weigh(weights, negative), least, self.threads)
        return SimilarPairs(pairs.left, pairs.right, pairs.similarity)


def prepare(
    documents: Documents, truth: Truth, weight: LearnedWeight, text: Text, threads: int = 1
) -> LabelledDocuments:
    """The labelled documents, with document frequencies over all documents, labelled or not."""
    texts = Texts.from_arrow(documents.texts_with(weight.fields))
    statistics = count_statistics(texts, weight.counts, text, threads)
    numbers = np.flatnonzero(truth.units >= 0)
    chosen = [texts.document(number) for number in numbers.tolist()]
    entries = _entries(Texts.from_strings(chosen), weight, text, statistics, threads)
    return LabelledDocuments(
        entries, weight.features, renumbered(truth, numbers), statistics, numbers, threads
    )


def count_statistics(texts: Texts, features: Sequence[Feature], text: Text, threads: int) -> Statistics:
    """Document frequencies of some texts."""
    tables: list[list[Frequencies]] = [[] for _ in features]

    def work(chunk: tuple[int, Texts]) -> list[Frequencies]:
        tokens = text(chunk[1])
        return [count_features(feature(tokens)) for feature in features]

    for found in ordered_map(work, chunks(texts), threads):
        for table, one in zip(tables, found, strict=True):
            table.append(one)
    named = {stage_json(feature): add_up(table) for feature, table in zip(features, tables, strict=True)}
    return Statistics(len(texts), stage_json(text), named)


def _entries(
    texts: Texts, weight: LearnedWeight, text: Text, statistics: Statistics, threads: int
) -> Entries:
    def work(chunk: tuple[int, Texts]) -> Entries:
        tokens = text(chunk[1])
        grams = weight.grams(weight.of(tokens), tokens, statistics)
        return Entries(grams.offsets, grams.hashes, compute_features(grams, weight.features))

    parts = list(ordered_map(work, chunks(texts), threads))
    starts = np.cumsum([0, *(len(part.hashes) for part in parts)])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
    return Entries(
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        np.concatenate([part.hashes for part in parts]),
        np.ascontiguousarray(np.concatenate([part.values for part in parts])),
    )


def some_documents(data: LabelledDocuments, some: Numbers) -> LabelledDocuments:
    """Some of the labelled documents (in ascending order), with the statistics of all."""
    sizes = np.diff(data.entries.offsets)
    chosen = np.repeat(np.isin(np.arange(len(data)), some), sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes[some])]).astype(np.int64)
    entries = Entries(offsets, data.entries.hashes[chosen], np.ascontiguousarray(data.entries.values[chosen]))
    times = None if data.times is None else data.times[some]
    return replace(
        data, entries=entries, truth=renumbered(data.truth, some), numbers=data.numbers[some], times=times
    )


def renumbered(truth: Truth, numbers: Numbers) -> Truth:
    """The truth of these documents alone (in ascending order), renumbered."""
    if truth.clusters is not None:
        return replace(truth, clusters=truth.clusters[numbers])
    assert truth.left is not None and truth.right is not None and truth.judged is not None
    both = np.isin(truth.left, numbers) & np.isin(truth.right, numbers)
    left, right = np.searchsorted(numbers, truth.left[both]), np.searchsorted(numbers, truth.right[both])
    return replace(truth, left=left, right=right, judged=truth.judged[both])
