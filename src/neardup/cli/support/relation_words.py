"""The relation of two compared documents in one plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neardup.explain.passages import Comparison
    from neardup.plan import Plan

SLOTS = "equal groups of 1"  # each slot is an estimate of its own
Names = tuple[str, str]


def relation_sentence(plan: Plan, names: Names, comparison: Comparison) -> str:
    """The relation, and the share or similarity that shows it."""
    left, right = names
    both, shares = f"{left} and {right}", _shares(plan, names, comparison)
    match comparison.relation:
        case "copy":
            return f"{both} are copies: identical texts."
        case "near-duplicate":
            return f"{both} are near-duplicates: {_score(plan, comparison)}."
        case "contains":
            return f"{left} contains {right}: {shares}."
        case "contained":
            return f"{right} contains {left}: {shares}."
        case "shared passage":
            return f"{both} share a passage: {shares}."
        case "different":
            return f"{both} are different: {shares}."
    return f"{both} are not near-duplicates: {_score(plan, comparison)}."


def threshold_sentence(plan: Plan, comparison: Comparison) -> str | None:
    """Whether the similarity reaches the threshold, where the relation does not say it."""
    if comparison.relation in ("copy", "near-duplicate", None):
        return None
    verdict = "Near-duplicates" if comparison.near_duplicates else "Not near-duplicates"
    return f"{verdict}: {_score(plan, comparison)}."


def _kept_apart(plan: Plan, comparison: Comparison) -> bool:
    """Whether numbers alone keep documents apart that reach the threshold."""
    reaches = comparison.estimate is None and comparison.similarity >= plan.threshold
    return reaches and comparison.relation == "different"


def _score(plan: Plan, comparison: Comparison) -> str:
    """The measure that decides, and whether it reaches the threshold."""
    value = comparison.similarity if comparison.estimate is None else comparison.estimate
    what = "similarity" if comparison.estimate is None else _estimated(plan)
    reaches = "reaches" if value >= plan.threshold or comparison.near_duplicates else "is below"
    return f"{what} {_digits(value, plan.threshold)} {reaches} the threshold {plan.threshold:g}"


def _estimated(plan: Plan) -> str:
    """What the signatures say: an estimate slot by slot, otherwise a share of equal bits or groups."""
    if plan.check.measures == SLOTS:
        return "estimated similarity"
    if plan.check.measures.startswith("estimated"):
        return plan.check.measures
    return "share of " + plan.check.measures.partition(" of ")[0]


def _digits(value: float, threshold: float) -> str:
    """The value with three digits, or as many as show on which side of the threshold it is."""
    texts = (f"{value:.{digits}f}" for digits in range(3, 17))
    return next((text for text in texts if (float(text) < threshold) == (value < threshold)), repr(value))


def _shares(plan: Plan, names: Names, comparison: Comparison) -> str:
    """The share of the smaller document that the larger one has, and the similarity."""
    if _kept_apart(plan, comparison):
        return "they differ in more numbers than other words"
    sides = sorted(zip((comparison.left, comparison.right), names, strict=True), key=lambda s: s[0].features)
    (part, inner), (_, outer) = sides
    percent = int(100 * part.containment + 1e-9)
    share = "less than 1 %" if part.containment and not percent else f"{percent} %"
    weighted = plan.check.measures == "weighted jaccard"
    what = "weight is" if weighted else f"{feature_name(plan)} are"
    return (
        f"{share} of {inner}'s {what} in {outer}; similarity {_digits(comparison.similarity, plan.threshold)}"
    )


def feature_name(plan: Plan) -> str:
    """What the method counts: words, word 5-grams, or features."""
    width = getattr(plan.view.features, "width", None)
    if width == 1:
        return f"{token_name(plan)}s"
    return f"{token_name(plan)} {width}-grams" if width else "features"


def compares_whole_texts(plan: Plan) -> bool:
    """Whether a text is one thing to the method: it has no features to count then."""
    from neardup.features.whole import WholeText

    return isinstance(plan.view.features, WholeText)


def token_name(plan: Plan) -> str:
    """The unit of text."""
    return {"words": "word", "characters": "character"}.get(getattr(plan.text, "tokens", ""), "token")
