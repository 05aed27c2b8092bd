"""A learned model as one readable JSON file: weights by feature, threshold, probability, and how it was trained.

Document frequencies are counted on the corpus that a model is applied to: rarity is a share of the logarithm of its
size, which carries over from one corpus to another. Without a corpus, as when two documents are compared, the file's
most frequent k-grams of the training documents are used.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from neardup.checked_json import Invalid, check, check_members, read_json
from neardup.errors import InputError, NeardupError, StatisticsError
from neardup.features.shingles import Shingles
from neardup.learn.model.gram_features import gram_features
from neardup.learn.model.weight import INITIAL_WEIGHTS, LearnedWeight
from neardup.plan import ClusterKind, Text, stage_json
from neardup.remote_output import output_file
from neardup.statistics import Frequencies, Statistics
from neardup.text.fields import FieldedWords
from neardup.text.tagged import TaggedWords
from neardup.text.words import TokenKind, Words

VERSION = 1  # raised when files change incompatibly
FREQUENT = 8192  # k-grams with document frequencies in the file
Similarity = Literal["cosine", "jaccard"]
# The members of a file and their types; `check_members` explains the notation.
SHAPE = {
    "similarity": Similarity, "ngram": int, "tokens": TokenKind, "features": dict, "threshold": float,
    "negative": Literal["keep", "clip"], "probability": dict | None, "training": dict, "statistics": dict | None,
}  # fmt: skip
FEATURE = {"weight": float}
PROBABILITY = {"slope": float, "middle": float}
STATISTICS = {"documents": int, "digest": str, "text": str, "most_frequent": dict}


@dataclass(frozen=True)
class Probability:
    """Platt's logistic curve: the probability that a pair with a given score is a near-duplicate."""

    slope: float = 1.0
    middle: float = 0.5  # the score of probability one half

    def of(self, score: Any) -> Any:
        """The probability of a score, or of an array of scores."""
        return 1 / (1 + np.exp(np.clip(-self.slope * (np.asarray(score) - self.middle), -700, 700)))


def text_stage(tokens: TokenKind, fields: tuple[str, ...], markup: bool) -> Text:
    """The text stage: plain words, with columns appended, or with the tags around them."""
    words = Words(tokens)
    beside = FieldedWords(fields, tokens) if fields else None
    return TaggedWords(words, beside) if markup else beside or words


@dataclass(frozen=True)
class Model:
    """A learned similarity: weights, threshold, probability, statistics."""

    weights: dict[str, float] = field(default_factory=lambda: dict(INITIAL_WEIGHTS))
    ngram: int = 1
    tokens: TokenKind = "words"
    similarity: Similarity = "cosine"
    negative: Literal["keep", "clip"] = "clip"
    threshold: float = 0.5
    clusters: ClusterKind = "average"
    probability: Probability | None = None
    fields: tuple[str, ...] = ()  # columns whose words count too
    markup: bool = False  # texts are HTML, tokenized with their tags
    queries: str = ""  # packed query frequencies
    statistics: Statistics | None = None  # of the most frequent k-grams of the training documents
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> Text:
        """How texts become tokens."""
        return text_stage(self.tokens, self.fields, self.markup)

    @property
    def weight(self) -> LearnedWeight:
        """The weight stage."""
        weights = tuple(self.weights), tuple(self.weights.values())
        return LearnedWeight(Shingles(self.ngram), *weights, self.negative, self.fields, self.queries)

    def to_json(self) -> str:
        """The model as readable JSON."""
        known = gram_features()
        features = {
            name: {"weight": weight, "description": known[name].description}
            for name, weight in self.weights.items()
        }
        probability = self.probability and {
            "kind": "platt", "slope": self.probability.slope, "middle": self.probability.middle,
        }  # fmt: skip
        whole = {
            "neardup_model": VERSION,
            "similarity": self.similarity,
            "ngram": self.ngram,
            "tokens": self.tokens,
            "fields": list(self.fields),
            "markup": self.markup,
            "features": features,
            "negative": self.negative,
            "threshold": self.threshold,
            "clusters": self.clusters,
            "probability": probability,
            "training": self.training,
            "queries": self.queries,
            "statistics": self.statistics and _pack(self.statistics),
        }
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file whole, or not at all."""
        with output_file(path, force=True) as target:
            target.write_text(self.to_json(), encoding="utf-8")


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model of a file; an invalid file is refused with one sentence."""
    name = os.fspath(path).removeprefix("@")
    try:
        raw = read_json(Path(name))
    except (OSError, ValueError) as error:
        if isinstance(error, Invalid):
            raise InputError(f"{name} is not a model: {error}.") from None
        raise InputError(f"The model {name} cannot be read: {getattr(error, 'strerror', error)}.") from error
    if not isinstance(raw, dict) or "neardup_model" not in raw:
        raise InputError(f"{name} is not a model. Create one with: neardup learn")
    if raw["neardup_model"] != VERSION:
        raise InputError(
            f"The model {name} has version {raw['neardup_model']!r}; this neardup reads version {VERSION}. "
            "Learn it again, or use the version of neardup that wrote it."
        )
    try:
        return _from_dict(check_members(raw, SHAPE))
    except NeardupError as error:
        raise InputError(f"The model {name} cannot be used: {error}") from error
    except ValueError as error:
        raise InputError(f"The model {name} is damaged: {error}.") from error


def _from_dict(raw: dict[str, Any]) -> Model:
    """The model of plain values of the right types; `Invalid` if one is outside its range."""
    given = raw["probability"]
    probability = None if given is None else check_members(given, PROBABILITY, "'probability'")
    features = {name: check_members(entry, FEATURE, repr(name)) for name, entry in raw["features"].items()}
    model = Model(
        weights={name: float(entry["weight"]) for name, entry in features.items()},
        ngram=raw["ngram"],
        tokens=raw["tokens"],
        similarity=raw["similarity"],
        negative=raw["negative"],
        threshold=float(raw["threshold"]),
        clusters=check(raw.get("clusters", "average"), ClusterKind, "'clusters'"),
        probability=Probability(**{name: float(probability[name]) for name in PROBABILITY})
        if probability
        else None,
        fields=tuple(check(raw.get("fields", []), list[str], "'fields'")),
        markup=check(raw.get("markup", False), bool, "'markup'"),
        queries=check(raw.get("queries", ""), str, "'queries'"),
        statistics=None if raw["statistics"] is None else _unpack(raw["statistics"]),
        training=raw["training"],
    )
    if not (0 < model.threshold <= 1 and 1 <= model.ngram <= 65536):
        raise Invalid(f"threshold {model.threshold:g} or ngram {model.ngram} is outside its range")
    if model.statistics is not None and model.statistics.text != stage_json(model.text):
        raise StatisticsError("its statistics were counted over other tokens than the model's.")
    _ = model.weight  # an unknown feature is refused here
    return model


# Statistics -------------------------------------------------------------------------------------


def most_frequent(statistics: Statistics, most: int = FREQUENT) -> Statistics:
    """The statistics of the most frequent features alone (ties: the lower hash)."""
    tables = {}
    for name, table in statistics.tables.items():
        chosen = np.sort(np.lexsort((table.keys, -table.counts))[:most])
        tables[name] = Frequencies(table.keys[chosen], table.counts[chosen])
    return Statistics(statistics.documents, statistics.text, tables)


def _pack(statistics: Statistics) -> dict[str, Any]:
    """Hashes and counts as text: little-endian numbers of eight bytes, and of four."""
    tables = {
        name: {
            "hashes": base64.b64encode(table.keys.astype("<u8").tobytes()).decode(),
            "counts": base64.b64encode(table.counts.astype("<u4").tobytes()).decode(),
        }
        for name, table in statistics.tables.items()
    }
    named = {"documents": statistics.documents, "digest": statistics.digest, "text": statistics.text}
    return {**named, "most_frequent": tables}


def _unpack(raw: dict[str, Any]) -> Statistics:
    tables = {}
    check_members(raw, STATISTICS, "'statistics'")
    for name, table in raw["most_frequent"].items():
        check_members(table, {"hashes": str, "counts": str}, repr(name))
        keys = np.frombuffer(base64.b64decode(table["hashes"], validate=True), "<u8").astype(np.uint64)
        counts = np.frombuffer(base64.b64decode(table["counts"], validate=True), "<u4").astype(np.int64)
        if len(keys) != len(counts) or (keys[1:] <= keys[:-1]).any():
            raise StatisticsError("its statistics are not sorted.")
        tables[name] = Frequencies(keys, counts)
        if len(counts) and not 1 <= counts.min() <= counts.max() <= raw["documents"]:
            raise StatisticsError("its statistics count a feature in more documents than there are.")
    statistics = Statistics(raw["documents"], raw["text"], tables)
    if statistics.digest != raw["digest"]:
        raise StatisticsError(
            f"its statistics have the digest {statistics.digest}, not {raw['digest']!r}: they belong to another model."
        )
    return statistics
