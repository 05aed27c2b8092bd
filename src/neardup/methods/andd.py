"""ANDD: k-grams weighted by a function learned from labelled documents (Hajishirzi, Yih and Kołcz, SIGIR 2010)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from neardup.candidates.bit_bands import choose_bit_bands, distance_for, equal_share
from neardup.candidates.curve import choose_bands
from neardup.candidates.groups import Groups
from neardup.candidates.hamming import Hamming
from neardup.candidates.inverted import Inverted
from neardup.errors import ParameterError
from neardup.features.shingles import Shingles
from neardup.learn.model.file import Model, read_model
from neardup.plan import Candidates, Check, Clustering, Plan, Signature, View
from neardup.registry import Chance, Count, Natural, Share, method
from neardup.signatures.consistent import Consistent
from neardup.signatures.quantised import LEVELS, QuantisedMinHash
from neardup.signatures.sign_bits import Projection, SignBits
from neardup.text.words import TokenKind
from neardup.verify.cosine import Cosine, ExtendedJaccard
from neardup.verify.estimated import Estimated

UNTRAINED = 0.65  # threshold without labels: see docs/methods/andd.md for the collections it was chosen on


@method(use="Mail; a similarity that is learned from labelled examples", speed="slow")
def andd(
    *,
    threshold: Share | None = None,
    model: str | None = None,
    ngram: Count | None = None,
    tokens: TokenKind | None = None,
    similarity: Literal["cosine", "jaccard"] | None = None,
    signature: Literal["bits", "minhash", "samples", "none"] = "bits",
    bits: Count = 384,
    verify: Literal["exact", "signatures"] = "exact",
    projection: Projection = "signs",
    search: Literal["bands", "tables"] = "bands",
    num_perm: Count | None = None,
    levels: Count | None = None,
    recall: Chance = 0.95,
    seed: Natural = 1,
) -> Plan:
    """Documents whose words agree where it matters, as `neardup learn` found from labelled examples.

    Every word or k-gram has a weight that a model computes from how rare it is, where it stands and how it is
    written. Without a model, rare words count up to twice as much as common ones, and words further
    down in the text count less. Candidates come from bands of sign bits, or of min-hashes of the weights; each is
    compared exactly, as vectors, unless verify=signatures lets the 48 bytes of its sign bits decide.

    Args:
        threshold: The least similarity of a near-duplicate; unless given, that of the model (0.65 without one).
        model: The file of a model that `neardup learn` wrote; unless given, weights that fit most news.
        ngram: How many consecutive tokens make one k-gram; unless given, that of the model (1 without one).
        tokens: The unit of text: a word, a string between white space, a character, or a token of code; unless
            given, that of the model (words without one).
        similarity: The measure that must reach the threshold: the cosine, or the extended Jaccard coefficient of the
            vectors; unless given, that of the model (cosine without one).
        signature: Where candidates come from: sign bits of random projections; min-hashes of weights cut into
            levels; consistent samples of the weights as they are; or none, which compares every pair and serves
            thousands of documents.
        bits: The number of sign bits.
        verify: Compare candidates exactly, as vectors; or let their signatures decide, 48 bytes a document with 384
            bits, which reads no text twice and errs by 0.05 in a cosine (`neardup tune --method andd --verify
            signatures` shows the curve).
        projection: The coefficients of the projections: ±1 (signs), or of a gaussian or uniform distribution. ±1 is the
            cheapest; where a few k-grams weigh more than all others of a document, it is off by 0.05 in the mean and
            by up to 0.4 for a pair, and gaussian is not.
        search: How pairs of sign bits are found: by bands of sampled bits, or exactly, by Hamming tables, for
            thresholds of 0.95 and more: at low ones they compare all pairs.
        num_perm: The number of min-hashes; unless given, as many as it takes to find pairs at the threshold.
        levels: With signature=minhash: the levels that a weight of 1 is cut into, the paper's big integer; time grows
            with them. Unless given, 8, rounded at random, which has no bias.
        recall: The share of pairs at the threshold that must be found; bands are chosen for it.
        seed: The seed of projections and permutations.
    """
    known = _model(model, {"ngram": ngram, "tokens": tokens, "similarity": similarity})
    limit = threshold if threshold is not None else known.threshold
    sampled = signature in ("minhash", "samples")  # which have no place for a weight below zero
    weight = replace(known.weight, negative="clip") if sampled else known.weight
    if levels is not None and signature != "minhash":
        raise ParameterError("levels", "andd", "left out unless signature is minhash", levels)
    estimated = _estimate(known, signature, bits) if verify == "signatures" else None
    if signature == "bits":
        signed: Signature | None = SignBits(bits, seed, projection)
        candidates = _bit_candidates(known, search, limit, recall, bits, seed)
        if estimated is not None and search == "tables":  # the pairs that pass, and no others
            candidates = Hamming(bits, within=bits - min(bits, estimated.least_equal(limit)))
    else:
        signed, candidates = _candidates(known, signature, limit, recall, num_perm, levels or LEVELS, seed)
        if estimated is not None and signed is not None:
            estimated = replace(estimated, size=signed.slots)
    same = weight == known.weight or estimated is not None
    return Plan(
        method="andd",
        text=known.text,
        view=View(Shingles(known.ngram), (weight,), signed),
        check_view=None if same else View(Shingles(known.ngram), (known.weight,)),
        candidates=candidates,
        check=estimated or _exact(known),
        threshold=limit,
        recall=recall,
        clustering=Clustering(known.clusters),
    )


def _curve(model: Model) -> tuple[float, float] | None:
    likely = model.probability
    return None if likely is None else (likely.slope, likely.middle)


def _exact(model: Model) -> Check:
    curve = _curve(model)
    return Cosine(curve=curve) if model.similarity == "cosine" else ExtendedJaccard(curve=curve)


def _estimate(model: Model, signature: str, bits: int) -> Estimated:
    if signature == "none":
        raise ParameterError("verify", "andd", "'exact' with signature=none, which makes none", "signatures")
    return Estimated(bits, "bits" if signature == "bits" else "slots", model.similarity, _curve(model))


def _model(model: str | None, given: dict[str, Any]) -> Model:
    """The trained model, or the untrained one; an option that contradicts the trained one is refused."""
    fixed = {name: value for name, value in given.items() if value is not None}
    if model is None:
        return replace(Model(threshold=UNTRAINED), **fixed)
    known = read_model(model)
    for name, value in fixed.items():
        if value != getattr(known, name):
            constraint = f"{getattr(known, name)!r}, which the model was learned with, or left out"
            raise ParameterError(name, "andd", constraint, value)
    return known


def _bit_candidates(
    model: Model, search: str, threshold: float, recall: float, bits: int, seed: int
) -> Candidates:
    if search == "bands":
        return choose_bit_bands(threshold, recall, bits, model.similarity, seed)
    return Hamming(bits, within=distance_for(equal_share(threshold, model.similarity), recall, bits))


def _candidates(
    model: Model, signature: str, threshold: float, recall: float, slots: int | None, levels: int, seed: int
) -> tuple[Signature | None, Candidates]:
    if signature == "none":
        return None, Inverted("cosine" if model.similarity == "cosine" else "extended_jaccard")
    equal = (
        threshold if model.similarity == "jaccard" else threshold / (2 - threshold)
    )  # of equally long vectors
    shape = choose_bands(equal, recall, num_perm=slots)
    signed: Signature = Consistent(shape.slots, seed=seed)
    if signature == "minhash":
        signed = QuantisedMinHash(shape.slots, levels, seed=seed)
    return signed, Groups(shape.bands, shape.rows, seed=seed)
