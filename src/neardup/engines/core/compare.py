"""What the check of a plan compares of a document."""

from __future__ import annotations

from neardup.columns import Features, Signatures, Texts, make_distinct
from neardup.plan import Plan, View
from neardup.statistics import Statistics
from neardup.verify.numbers import SeparateNumbers, with_words


def check_view(plan: Plan) -> View:
    """The view whose features the check compares."""
    return plan.check_view or plan.view


def compares_kept_signatures(plan: Plan) -> bool:
    """Whether the check compares the signatures that candidates come from: then no text is read a second time."""
    return plan.check.level == "signatures" and plan.check_view is None


def compares_view(plan: Plan) -> bool:
    """Whether the check compares just the features that candidates come from."""
    return (
        plan.check.level == "features"
        and plan.check_view is None
        and not isinstance(plan.check, SeparateNumbers)
    )


def compared_features(plan: Plan, texts: Texts, statistics: Statistics | None) -> Features:
    """The distinct features of texts that the check compares."""
    view, separate = check_view(plan), isinstance(plan.check, SeparateNumbers)
    tokens = plan.text(texts, details=view.details or separate)
    features = make_distinct(view.represent(tokens, statistics))
    return with_words(features, tokens) if separate else features


def repeated_features(plan: Plan, texts: Texts, statistics: Statistics | None) -> Features:
    """The features of texts that a check of plain sets compares, in no order and perhaps more than once."""
    view = check_view(plan)
    return view.represent(plan.text(texts, details=view.details), statistics)


def compared_values(plan: Plan, features: Features) -> Features | Signatures:
    """What the check takes: the features, or signatures made of them."""
    view = plan.check_view
    if plan.check.level == "features" or view is None or view.signature is None:
        return features
    return view.signature(features)
