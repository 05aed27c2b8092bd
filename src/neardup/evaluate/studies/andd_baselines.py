"""Baselines of the ANDD studies in their usual forms, each run with the form that is best on its training part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from neardup.columns import Pairs
from neardup.evaluate.scores import ScoredPairs
from neardup.evaluate.studies.andd_data import Experiment
from neardup.evaluate.studies.andd_scores import WORD, f1, signature_pairs, vectors
from neardup.features.shingles import Shingles
from neardup.features.spots import Spots
from neardup.learn.training.loss import Similarity
from neardup.plan import Signature, View
from neardup.weights.counts import Counts
from neardup.weights.frequency import TfIdf

Views = Mapping[str, View]
BETTER_SPOTS = Spots("is_the_said_was_there", distance=1, chain=2)


def tf_idf_forms(width: int = 1) -> dict[str, View]:
    """tf-idf with counts as they are, with their logarithm, and without them."""
    grams = Shingles(width)
    forms = {"tf · idf": TfIdf(grams), "(1 + log tf) · idf": TfIdf(grams, "log"), "idf": TfIdf(grams, "once")}
    return {name: View(grams, (weight,)) for name, weight in forms.items()}


def spot_forms() -> dict[str, View]:
    """Spot signatures with the paper's antecedents and with few, counted and as a set."""
    sets = {"paper's antecedents": Spots(), "is … there": BETTER_SPOTS}
    return {
        **{f"{name}, counted": View(spots, (Counts(),)) for name, spots in sets.items()},
        **{f"{name}, as a set": View(spots) for name, spots in sets.items()},
    }


def shingle_forms(*limits: object) -> dict[str, View]:
    """Sets of one to five consecutive words; limits concern single words."""
    return {f"k = {width}": View(Shingles(width), limits if width == 1 else ()) for width in (1, 3, 5)}  # type: ignore[arg-type]


def charikar_forms() -> dict[str, View]:
    """Unique terms, as section 2.3 of the paper has it, their counts, and their idf."""
    return {
        "unique terms": View(WORD),
        "counts": View(WORD, (Counts(),)),
        "idf": View(WORD, (TfIdf(WORD, "once"),)),
    }


@dataclass(frozen=True)
class Baseline:
    """The scores of every run, and which form each run has."""

    scores: list[ScoredPairs]
    chosen: list[str] = field(default_factory=list)

    @property
    def forms(self) -> str:
        """The chosen forms, the most frequent first."""
        names = sorted(set(self.chosen), key=lambda name: -self.chosen.count(name))
        return ", ".join(name if len(names) == 1 else f"{name} ({self.chosen.count(name)})" for name in names)


def tuned_vectors(experiment: Experiment, forms: Views, kind: Similarity) -> Baseline:
    """Vectors of fixed weights, in the form that is best on the training part of each run."""
    return _tuned(experiment, {name: vector_pairs(experiment, view, kind) for name, view in forms.items()})


def tuned_signatures(experiment: Experiment, forms: Views, signature: Signature, width: int = 1) -> Baseline:
    """Signatures of fixed weights, in the form that is best on the training part of each run."""
    pairs = {
        name: signature_pairs(signature, experiment.represent(view), width) for name, view in forms.items()
    }
    return _tuned(experiment, pairs)


def vector_pairs(experiment: Experiment, view: View, kind: Similarity) -> Pairs:
    """All pairs of vectors of fixed weights, computed once."""
    return experiment.once(
        (view, kind), lambda: vectors(experiment.represent(view), kind, experiment.threads)
    )


def _tuned(experiment: Experiment, pairs: Mapping[str, Pairs]) -> Baseline:
    names = list(pairs)
    if len(names) == 1:
        return Baseline(experiment.best(pairs[names[0]]), names * len(experiment.splits))
    chosen: list[str] = []
    for train, _ in experiment.splits:
        found = f1([experiment.score(pairs[name], train) for name in names])
        chosen.append(names[int(np.argmax(found))])
    tests: Sequence[ScoredPairs] = [
        experiment.score(pairs[name], test) for name, (_, test) in zip(chosen, experiment.splits, strict=True)
    ]
    return Baseline(list(tests), chosen)


def fixed_baselines(experiment: Experiment, kind: Similarity, width: int = 1) -> dict[str, Baseline]:
    """The fixed weights of tables 2 and 4: tuned, and each form of tf-idf by itself."""
    forms = tf_idf_forms(width)
    found = {"TF-IDF, best form": tuned_vectors(experiment, forms, kind)}
    found |= {f"… {name}": tuned_vectors(experiment, {name: view}, kind) for name, view in forms.items()}
    found["binary"] = tuned_vectors(experiment, {"binary": View(Shingles(width))}, kind)
    if width == 1:
        found["SpotSigs, best form"] = tuned_vectors(experiment, spot_forms(), kind)
        found["… paper's antecedents, counted"] = tuned_vectors(
            experiment, {"counted": View(Spots(), (Counts(),))}, kind
        )
    return found
