"""Whether the documents to judge look like those that a model learned from."""

from __future__ import annotations

import numpy as np

from neardup.columns import Texts, make_distinct
from neardup.evaluate.corpus import Documents
from neardup.evaluate.scores import Floats
from neardup.features.shingles import Shingles
from neardup.learn.training.data import LabelledDocuments
from neardup.learn.training.setup import TrainingSetup

LEAST = 30  # documents without a label; fewer say little
MOST = 500  # of them are compared
EDGE = 0.9  # quantile of the labelled documents


def unlike(documents: Documents, data: LabelledDocuments, setup: TrainingSetup) -> list[str]:
    """A warning if documents without a label share far fewer words with the labelled ones than these with each other.

    Weights and threshold then hold for other texts than those to judge.
    """
    rest = np.setdiff1d(np.arange(len(documents)), data.numbers)
    if len(rest) < LEAST or len(data) < LEAST:
        return []
    own = _new_to_others(data)
    new = _new_to_labelled(documents, data, rest[:: max(1, len(rest) // MOST)][:MOST], setup)
    usual, found = float(np.quantile(own, EDGE)), float(np.median(new))
    if found <= usual:
        return []
    return [
        f"the documents without a label look unlike the labelled ones: a typical one has {found:.0%} of its words in "
        f"no labelled document, where nine of ten labelled ones have at most {usual:.0%} in none of another label. "
        "Label some of them too, or expect worse results"
    ]


def _new_to_others(data: LabelledDocuments) -> Floats:
    """For each labelled document the share of its k-grams that no document of another cluster has."""
    hashes, units = data.entries.hashes, data.truth.units
    unit = np.repeat(np.append(units, np.full(max(0, len(data) - len(units)), -1))[: len(data)],
                     np.diff(data.entries.offsets))  # fmt: skip
    _, gram = np.unique(hashes, return_inverse=True)
    least, most = np.full(gram.max(initial=0) + 1, unit.max(initial=0)), np.full(gram.max(initial=0) + 1, -1)
    np.minimum.at(least, gram, unit)
    np.maximum.at(most, gram, unit)
    return _means(least[gram] == most[gram], data.entries.offsets)


def _new_to_labelled(
    documents: Documents, data: LabelledDocuments, rows: np.ndarray, setup: TrainingSetup
) -> Floats:
    """For each of these documents the share of its k-grams that no labelled document has."""
    texts = Texts.from_arrow(documents.texts_with(setup.fields))
    tokens = setup.text(Texts.from_strings([texts.document(row) for row in rows.tolist()]))
    grams = make_distinct(Shingles(setup.ngram)(tokens))
    return _means(~np.isin(grams.hashes, data.entries.hashes), grams.offsets)


def _means(values: np.ndarray, offsets: np.ndarray) -> Floats:
    """The mean of each document that has any."""
    sums = np.concatenate([[0], np.cumsum(values)])
    sizes = np.diff(offsets)
    found: Floats = (sums[offsets[1:]] - sums[offsets[:-1]])[sizes > 0] / sizes[sizes > 0]
    return found
