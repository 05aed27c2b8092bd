"""A learned model as one readable JSON file: weights by feature, threshold, probability, and how it was trained.

Document frequencies are counted on the corpus that a model is applied to: rarity is a share of the logarithm of its
size, which carries over from one corpus to another. Without a corpus, as when two documents are compared, the file's
most frequent k-grams of the training documents are used.
"""

from __future__ import annotations

import base64
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from neardup.errors import InputError, NeardupError, StatisticsError
from neardup.features.shingles import Shingles
from neardup.learn.model.gram_features import gram_features
from neardup.learn.model.weight import INITIAL_WEIGHTS, Learned
from neardup.plan import ClusterKind, Text, stage_json
from neardup.statistics import Frequencies, Statistics
from neardup.text.fields import FieldedWords
from neardup.text.tagged import TaggedWords
from neardup.text.words import TokenKind, Words

VERSION = 1  # raised when files change incompatibly
FREQUENT = 8192  # k-grams with document frequencies in the file
Similarity = Literal["cosine", "jaccard"]


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
    def weight(self) -> Learned:
        """The weight stage."""
        weights = tuple(self.weights), tuple(self.weights.values())
        return Learned(Shingles(self.ngram), *weights, self.negative, self.fields, self.queries)

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
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        partial.write_text(self.to_json(), encoding="utf-8")
        partial.replace(target)


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model of a file; an invalid file is refused with one sentence."""
    name = os.fspath(path).removeprefix("@")
    try:
        raw = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The model {name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{name} is not a model: it is not JSON ({error}).") from error
    if not isinstance(raw, dict) or "neardup_model" not in raw:
        raise InputError(f"{name} is not a model. Create one with: neardup learn")
    if raw["neardup_model"] != VERSION:
        raise InputError(
            f"The model {name} has version {raw['neardup_model']!r}; this neardup reads version {VERSION}. "
            "Learn it again, or use the version of neardup that wrote it."
        )
    try:
        return _from_dict(raw)
    except NeardupError as error:
        raise InputError(f"The model {name} cannot be used: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The model {name} is damaged: {type(error).__name__} at {error}.") from error


def _from_dict(raw: dict[str, Any]) -> Model:
    """The model of plain values; raises KeyError, TypeError or ValueError if one is missing or invalid."""
    probability = raw["probability"]
    model = Model(
        weights={str(name): float(entry["weight"]) for name, entry in raw["features"].items()},
        ngram=int(raw["ngram"]),
        tokens=_one_of(TokenKind, raw["tokens"]),
        similarity=_one_of(Similarity, raw["similarity"]),
        negative=_one_of(Literal["keep", "clip"], raw["negative"]),
        threshold=float(raw["threshold"]),
        clusters=_one_of(ClusterKind, raw.get("clusters", "average")),
        probability=probability and Probability(float(probability["slope"]), float(probability["middle"])),
        fields=tuple(map(str, raw.get("fields", ()))),
        markup=bool(raw.get("markup", False)),
        queries=str(raw.get("queries", "")),
        statistics=raw["statistics"] and _unpack(raw["statistics"]),
        training=dict(raw["training"]),
    )
    if not (0 < model.threshold <= 1 and 1 <= model.ngram <= 65536):
        raise ValueError(f"threshold {model.threshold} or ngram {model.ngram}")
    if model.probability and not math.isfinite(model.probability.slope + model.probability.middle):
        raise ValueError("probability")
    if model.statistics is not None and model.statistics.text != stage_json(model.text):
        raise StatisticsError("its statistics were counted over other tokens than the model's.")
    _ = model.weight  # an unknown feature is refused here
    return model


def _one_of(kinds: Any, value: object) -> Any:
    if value not in get_args(kinds):
        raise ValueError(f"{value!r}, which is not one of {', '.join(get_args(kinds))}")
    return value


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
    for name, table in raw["most_frequent"].items():
        keys = np.frombuffer(base64.b64decode(table["hashes"], validate=True), "<u8").astype(np.uint64)
        counts = np.frombuffer(base64.b64decode(table["counts"], validate=True), "<u4").astype(np.int64)
        if len(keys) != len(counts) or (keys[1:] <= keys[:-1]).any():
            raise StatisticsError("its statistics are not sorted.")
        tables[name] = Frequencies(keys, counts)
    statistics = Statistics(int(raw["documents"]), str(raw["text"]), tables)
    if statistics.digest != raw["digest"]:
        raise StatisticsError(
            f"its statistics have the digest {statistics.digest}, not {raw['digest']!r}: they belong to another model."
        )
    return statistics
