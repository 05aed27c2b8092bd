"""A run, described completely: the contract of every stage, and the Plan that chooses one for each arrow.

documents → text → features → weights → signatures → candidates → verified pairs → clusters → what to keep.

Stages are frozen dataclasses: their fields are their parameters, calling them does the work, and a batch of one
document gives what the same document gives in any other batch. A plan travels as JSON; its digest names it, and
whatever was computed with another digest is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from neardup.checked_json import Invalid, check_members, parse_json
from neardup.errors import ParameterError, PlanError
from neardup.plan_json import decode, encode
from neardup.statistics import unit_column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from neardup.columns import Features, Hashes, Pairs, Signatures, Texts, Tokens
    from neardup.statistics import Statistics

# How an engine spreads candidates over tasks: by keys of tables, by tables of Hamming blocks, by the prefix filter, or
# by joining every two blocks of documents.
Distribution = Literal["keys", "hamming", "prefix", "blocks"]
# How verified pairs become clusters; see docs/clusters.md.
ClusterKind = Literal["leaders", "components", "average", "complete"]
CLUSTER_KINDS = get_args(ClusterKind)
EmptyPolicy = Literal["keep", "remove", "one"]
EMPTY_POLICIES = get_args(EmptyPolicy)
FORMAT = 1  # raised when the same JSON would come to mean something else
USUAL_RECALL = 0.99  # where none is asked for


class Text(Protocol):
    """Texts to tokens. Knows nothing of the corpus; without details, positions and marks are left out."""

    def __call__(self, texts: Texts, details: bool = True) -> Tokens: ...


class Feature(Protocol):
    """Tokens to features, one entry per occurrence."""

    @property
    def details(self) -> bool: ...  # whether it uses positions or marks of tokens
    def __call__(self, tokens: Tokens) -> Features: ...


class Weight(Protocol):
    """Features to features: reweight, drop, or combine occurrences."""

    @property
    def details(self) -> bool: ...
    @property
    def counts(self) -> tuple[Feature, ...]: ...  # the features whose document frequencies it asks for
    def __call__(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features: ...


class CorpusAware:
    """Hooks of a weight that depends on what is rare in the corpus; such a weight derives from this class."""

    @property
    def first_pass(self) -> Any:
        """The weight of a first pass, which finds near-duplicate groups before rarity is counted."""
        raise NotImplementedError

    @property
    def distinguishes_boilerplate(self) -> bool:
        """Whether it weighs running text more than boilerplate."""
        raise NotImplementedError

    @property
    def prepared_by(self) -> tuple[Any, ...] | None:
        """The feature stages whose frequencies `prepare` takes into account; None where it prepares nothing."""
        return None

    @property
    def preparation(self) -> tuple[Any, ...]:
        """What `prepare` depends on besides."""
        raise NotImplementedError

    def prepare(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features:
        """What can be known of weighted features before it is known what is rare."""
        raise NotImplementedError

    def finish(self, prepared: Features, statistics: Statistics | None) -> Features:
        """The weighted features, from what was prepared."""
        raise NotImplementedError

    def unique_shares(self, features: Features, statistics: Statistics) -> NDArray[np.float64]:
        """The share of each document's weight that is in features of no other text."""
        raise NotImplementedError

    def common_above_limit(self, statistics: Statistics) -> tuple[Any, int]:
        """The feature stage whose frequent features are left out, and the most documents that a kept one is in."""
        raise NotImplementedError


class Signature(Protocol):
    """Features to a fixed number of slots."""

    @property
    def estimates(self) -> str: ...  # the similarity that the share of equal slots estimates
    @property
    def slots(self) -> int: ...
    def __call__(self, features: Features) -> Signatures: ...


class Candidates(Protocol):
    """How likely a pair becomes a candidate, whichever of the two kinds of candidates it is."""

    @property
    def level(self) -> Literal["signatures", "features"]: ...
    @property
    def distribution(self) -> Distribution: ...
    @property
    def decides(self) -> str: ...  # the similarity that makes candidates by itself, without chance
    def probability(self, similarity: float) -> float: ...  # that a pair of this similarity is found
    def reach(self, recall: float) -> float: ...  # the least similarity found with this probability


class KeyCandidates(Candidates, Protocol):
    """Signatures to keys, in independent tables: two documents with an equal key in a table are candidates."""

    @property
    def tables(self) -> int: ...
    def keys(self, signatures: Signatures) -> Hashes: ...  # tables × documents


class FeatureJoin(Candidates, Protocol):
    """Features to verified pairs, all at once: every pair that reaches the threshold, and no other.

    With `first`, only pairs of one of so many first documents with one of the others: two blocks that meet.
    """

    @property
    def truncates(
        self,
    ) -> bool: ...  # whether the pairs of `links` depend on which documents are joined together
    def pairs(self, features: Features, threshold: float, threads: int, first: int) -> Pairs: ...
    def links(  # those that clusters need, linear in a posting list; and how many lists were truncated
        self, features: Features, threshold: float, threads: int, id_hashes: Hashes, most: int, first: int
    ) -> tuple[Pairs, int]: ...


class SignatureJoin(Candidates, Protocol):
    """Signatures to pairs, all at once: every pair that is near enough, and no other.

    With `spanning`, pairs whose documents other pairs connect may be left out.
    """

    def pairs(self, signatures: Signatures, threshold: float, threads: int, spanning: bool) -> Pairs: ...


class Check(Protocol):
    """Candidates to evidence. A plan's threshold decides on the similarity that it measures."""

    @property
    def level(self) -> Literal["features", "signatures", "none"]: ...
    @property
    def measures(self) -> str: ...  # which similarity it is
    def measure(self, values: Any, left: NDArray[np.int64], right: NDArray[np.int64]) -> Pairs: ...
    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]: ...


def stage_json(stage: Any) -> str:
    """A stage as one line of JSON: the name of what it computes."""
    return json.dumps(encode(stage), sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class View:
    """One representation of a document: features, their weights and a signature."""

    features: Feature
    weights: tuple[Weight, ...] = ()
    signature: Signature | None = None

    @property
    def details(self) -> bool:
        """Whether a stage of it uses more of a token than its hash."""
        return self.features.details or any(weight.details for weight in self.weights)

    @property
    def counts(self) -> tuple[Feature, ...]:
        """The features whose document frequencies must be known before it can represent documents."""
        return tuple(dict.fromkeys(feature for weight in self.weights for feature in weight.counts))

    @property
    def corpus_aware(self) -> CorpusAware | None:
        """The weight that knows what is rare in the corpus, if one does."""
        return next((weight for weight in self.weights if isinstance(weight, CorpusAware)), None)

    @property
    def _last(self) -> CorpusAware | None:
        """The last weight, if it says what it can prepare."""
        last = self.weights[-1] if self.weights else None
        return last if isinstance(last, CorpusAware) and last.prepared_by is not None else None

    @property
    def preparation(self) -> tuple[Any, ...]:
        """What `prepare` does: equal where views prepare the same, with equal frequencies of what it is prepared by."""
        last = self._last
        return self.features, *(self.weights if last is None else (*self.weights[:-1], *(last.preparation)))

    @property
    def prepared_by(self) -> tuple[Feature, ...]:
        """The features whose document frequencies `prepare` takes into account."""
        own = self.weights if self._last is None else self.weights[:-1]
        counted = [feature for weight in own for feature in weight.counts]
        if self._last is not None:
            counted += self._last.prepared_by or ()
        return tuple(dict.fromkeys(counted))

    def prepare(self, tokens: Tokens, statistics: Statistics | None = None) -> Features:
        """What can be known of the features of a batch before it is known what is rare."""
        features = self.features(tokens)
        for weight in self.weights if self._last is None else self.weights[:-1]:
            features = weight(features, tokens, statistics)
        return features if self._last is None else self._last.prepare(features, tokens, statistics)

    def finish(self, prepared: Features, statistics: Statistics | None = None) -> Features:
        """The features of a batch, weighted, from what was prepared."""
        return prepared if self._last is None else self._last.finish(prepared, statistics)

    def represent(self, tokens: Tokens, statistics: Statistics | None = None) -> Features:
        """The features of a batch, weighted."""
        return self.finish(self.prepare(tokens, statistics), statistics)


@dataclass(frozen=True)
class Clustering:
    """How verified pairs become clusters."""

    kind: ClusterKind = "leaders"
    complete: int = 16  # clusters of up to so many distinct texts have all their pairs measured
    largest: int = (
        2000  # distinct texts of a component that average and complete link; leaders cluster larger ones
    )

    def __post_init__(self) -> None:
        if self.kind not in CLUSTER_KINDS:
            known = ", ".join(map(repr, CLUSTER_KINDS))
            raise ParameterError("clusters", "dedup", f"one of {known}", self.kind)

    @property
    def height(self) -> str:
        """The name of what a cluster reports as the similarity that holds it together."""
        return "merge_height" if self.links else "weakest_link"

    @property
    def links(self) -> bool:
        """Whether clusters are merged by their mean or least similarity."""
        return self.kind in ("average", "complete")


@dataclass(frozen=True)
class Keep:
    """Which documents of a cluster stay."""

    policy: str = "longest"
    column: str | None = None
    order: tuple[str, ...] = ()
    count: int = 1
    direct_only: bool = False  # a document stays unless it reaches the threshold with the one it duplicates
    empty: EmptyPolicy = "keep"  # of the documents without a token all stay, none, or the best one

    def __post_init__(self) -> None:
        if self.empty not in EMPTY_POLICIES:
            raise ParameterError(
                "empty", "dedup", "one of " + ", ".join(map(repr, EMPTY_POLICIES)), self.empty
            )


@dataclass(frozen=True)
class Plan:
    """A run: a choice for each arrow of the sentence."""

    method: str
    text: Text
    view: View
    candidates: Candidates
    check: Check
    threshold: float
    check_view: View | None = None  # the view of the check, if candidates come from another one
    recall: float | None = None  # the share of pairs at the threshold that was asked for, if any was
    pairs: Literal["clusters", "all"] = "clusters"
    bucket: int = 32  # with pairs="clusters", larger buckets are compared with a few members only
    pivots: int = 4  # … with so many
    clustering: Clustering = Clustering()
    keep: Keep = Keep()
    df_unit: str = "texts"  # the unit of document frequency; see statistics/units.py
    statistics: str = (
        ""  # the digest of frequencies from elsewhere; empty: counted over the documents themselves
    )

    @property
    def views(self) -> tuple[View, ...]:
        """All representations of a document in this plan, the one of candidates first."""
        return (self.view,) if self.check_view is None else (self.view, self.check_view)

    @property
    def joins(self) -> bool:
        """Whether candidates come from an exact join of all documents instead of keys."""
        return self.candidates.distribution != "keys"

    @property
    def needs_every_candidate(self) -> bool:
        """Whether candidates must be compared whose documents are in one component already."""
        return self.pairs == "all" or (self.clustering.kind == "leaders" and self.check.level == "none")

    @property
    def needs_spanning_pairs(self) -> bool:
        """Whether a join that decides alone may leave out pairs whose documents other pairs connect.

        Which pairs span a component is the engine's choice. Other clusterings report the pairs found, so they take all.
        """
        return self.join_decides and self.pairs == "clusters" and self.clustering.kind == "components"

    @property
    def join_decides(self) -> bool:
        """Whether the similarity that a join of signatures finds pairs by is the one that the check measures."""
        return self.check.measures == self.candidates.decides and self.check_view is None

    @property
    def counts(self) -> tuple[Feature, ...]:
        """The features whose document frequencies must be known before documents can be represented."""
        return tuple(dict.fromkeys(feature for view in self.views for feature in view.counts))

    @property
    def df_column(self) -> str | None:
        """The column that names the unit of document frequency, where one must be read."""
        return unit_column(self.df_unit) if self.counts and not self.statistics else None

    @property
    def details(self) -> bool:
        """Whether a stage uses more of a token than its hash."""
        return any(view.details for view in self.views)

    def found(self, similarity: float) -> float | None:
        """The chance that a pair of this similarity becomes a candidate; None where candidates come from
        another similarity than the one that is measured."""
        if self.candidates.level == "features" or self.candidates.decides == self.check.measures:
            return 1.0
        return None if self.check_view is not None else self.candidates.probability(similarity)

    @property
    def reach(self) -> float:
        """The least similarity that candidates are found for as surely as was asked for; at most the threshold."""
        if self.check_view is not None:
            return self.threshold
        return min(self.threshold, self.candidates.reach(self.recall or USUAL_RECALL))

    def with_(self, **changes: Any) -> Plan:
        """The same plan but for the fields named."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {"format": FORMAT, **encode(self)}

    def to_json(self) -> str:
        """The plan as one line of JSON, keys sorted."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that name everything the result depends on."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    @staticmethod
    def from_json(text: str) -> Plan:
        """The plan that `to_json` wrote."""
        try:
            raw = check_members(parse_json(text), {"format": int | str})
        except Invalid as error:
            raise PlanError(f"This is not a plan: {error}.") from error
        version = raw.pop("format")
        if version != FORMAT:
            raise PlanError(f"The plan has format {version}; this version of neardup reads format {FORMAT}.")
        try:
            plan = decode(raw)
        except Invalid as error:
            raise PlanError(f"The plan cannot be used: {error}.") from None
        if not isinstance(plan, Plan):
            raise PlanError("This is not a plan: its outermost stage is not 'plan.Plan'.")
        if not 0 < plan.threshold <= 1:
            raise PlanError(f"The plan cannot be used: its threshold is {plan.threshold:g}.")
        return plan
