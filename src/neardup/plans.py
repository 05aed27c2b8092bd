"""Plans from the names of methods and presets, their options, and the choices that every method has."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Literal

from neardup.candidates.equal import Equal
from neardup.clusters.keep import parse_keep
from neardup.errors import ParameterError
from neardup.plan import Clustering, ClusterKind, EmptyPolicy, Plan
from neardup.plurals import listed_names
from neardup.registry import ALIASES, get_method, preset_options, presets
from neardup.statistics import Statistics, parse_df_unit
from neardup.statistics.file import load_statistics
from neardup.text.normalized import NormalizedWords, read_steps
from neardup.text.whole import WholeWords
from neardup.text.words import Words
from neardup.verify.numbers import separate_numbers


def make_plan(
    method: str | None = None,
    *,
    preset: str | None = None,
    keep: str = "longest",
    keep_count: int = 1,
    pairs: Literal["clusters", "all"] = "clusters",
    clusters: ClusterKind | None = None,
    direct_only: bool = False,
    empty: EmptyPolicy = "keep",
    decide: Literal["similarity", "containment"] = "similarity",
    numbers: Literal["words", "separate"] = "words",
    normalize: str | None = None,
    **options: Any,
) -> Plan:
    """The plan for a method and its options.

    Args:
        method: The name of a method (`neardup.list_methods()`); None is that of the preset, or minhash.
        preset: The name of a preset, such as "fineweb"; it sets the method and its options.
        keep: The document of a cluster to keep: longest, shortest, first, last or none; longest:, shortest:, newest:,
            oldest:, highest: or lowest:COLUMN; priority:COLUMN=A,B.
        keep_count: How many documents of a cluster to keep.
        pairs: "clusters" compares the pairs that clusters need; "all" finds every pair, which can be quadratic.
        clusters: "leaders" removes a document only if it reaches the threshold with one that stays; "components"
            connects all documents linked by pairs, however long the chain; "average" and "complete" merge clusters
            as long as their mean or least similarity reaches the threshold. None is that of the preset or method.
        direct_only: Keep documents that do not reach the threshold with the document they would duplicate.
        empty: Of documents without a token "keep" keeps all, "remove" none, and "one" the best one by the keep policy.
        decide: The measure that must reach the threshold: "similarity", or "containment" of the smaller document.
        numbers: "words" compares numbers like other words; "separate" keeps documents apart that differ in more
            numbers than other words.
        normalize: What text is normalised by before it is compared, beside case: some of nfkc, accents, digits and
            punctuation, joined by commas.
        options: Options of the method: threshold, ngram, tokens, … (`neardup methods NAME`).
    """
    name = method or ("minhash" if preset is None else presets(preset)["method"])
    given = {ALIASES.get(option, option) for option in options}
    known = preset_options(preset, get_method(name))
    plan = get_method(name).plan(**{name: known[name] for name in known.keys() - given}, **options)
    return complete_plan(
        plan,
        keep=keep,
        keep_count=keep_count,
        direct_only=direct_only,
        empty=empty,
        pairs=pairs,
        clusters=clusters,
        decide=decide,
        numbers=numbers,
        normalize=normalize,
    )


def complete_plan(
    plan: Plan,
    *,
    keep: str = "longest",
    keep_count: int = 1,
    direct_only: bool = False,
    empty: EmptyPolicy = "keep",
    pairs: str = "clusters",
    clusters: str | None = None,
    decide: str = "similarity",
    numbers: str = "words",
    normalize: str | None = None,
) -> Plan:
    """The plan with the choices of every method: pairs, clusters (None: the method's own), documents to keep."""
    check_choice("pairs", pairs, "clusters", "all")
    check_choice("decide", decide, "similarity", "containment")
    check_choice("numbers", numbers, "words", "separate")
    if keep == "none" and keep_count != 1:
        raise ParameterError("keep_count", "dedup", "left out with keep=none", keep_count)
    if normalize is not None:
        plan = with_normalized_text(plan, normalize)
    if decide == "containment":
        plan = by_containment(plan)
    if numbers == "separate":
        plan = separate_numbers(plan)
    clustering = _clustering(plan, keep, clusters)
    if clustering.links and plan.check.level == "none":
        raise ParameterError(
            "clusters",
            plan.method,
            "'leaders' or 'components' with verify=none, which measures no similarity",
            clustering.kind,
        )
    kept = parse_keep(keep, keep_count, direct_only, empty)
    if plan.candidates == Equal():  # whose pairs follow from one for each copy
        pairs = "clusters"
    return plan.with_(pairs=pairs, clustering=clustering, keep=kept)


def _clustering(plan: Plan, keep: str, clusters: Any) -> Clustering:
    """The clustering as requested, else the method's own; components if no document of a cluster stays."""
    if keep != "none":
        return plan.clustering if clusters is None else Clustering(clusters)
    if Clustering(clusters or "components").kind != "components":
        needed = "'components' or omitted with keep=none, which removes every document of a verified pair"
        raise ParameterError("clusters", "dedup", needed, clusters)
    return replace(plan.clustering, kind="components")


def check_choice(name: str, value: str, *choices: str, callable_name: str = "dedup") -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise ParameterError(name, callable_name, listed_names(map(repr, choices), "or"), value)


def with_normalized_text(plan: Plan, normalize: str) -> Plan:
    """The plan whose words are normalised by these steps."""
    steps = read_steps(normalize)
    text = plan.text
    if not isinstance(text, Words | WholeWords) or text.tokens == "code":
        needed = "left out: this method with these options does not compare plain words"
        raise ParameterError("normalize", plan.method, needed, normalize)
    kind = NormalizedWords if isinstance(text, Words) else WholeWords
    return plan.with_(text=kind(text.tokens, steps))


def by_containment(plan: Plan) -> Plan:
    """The plan that compares by containment of the smaller document, with the same features."""
    if plan.check.level != "features" or plan.check_view is not None or plan.check.measures == "cosine":
        raise ParameterError(
            "decide",
            plan.method,
            "'similarity', because the method with these options does not compare sets of features",
            "containment",
        )
    from neardup.candidates.contained import Contained
    from neardup.verify.containment import Containment

    view = replace(plan.view, signature=None)
    return plan.with_(view=view, candidates=Contained(), check=Containment())


def with_statistics(
    plan: Plan, statistics: Statistics | str | os.PathLike[str] | None, df_unit: str | None = None
) -> tuple[Plan, Statistics | None]:
    """The plan with the digest of the statistics, or with the unit of document frequency; and the statistics, read."""
    if statistics is not None and df_unit is not None:
        raise ParameterError("df_unit", "neardup", "left out if statistics are given", df_unit)
    if (statistics is not None or df_unit is not None) and not plan.counts:
        name = "statistics" if statistics is not None else "df_unit"
        given = statistics.digest if isinstance(statistics, Statistics) else statistics or df_unit
        raise ParameterError(
            name, plan.method, "left out, because its weights use no document frequencies", given
        )
    if df_unit is not None:
        plan = plan.with_(df_unit=parse_df_unit(df_unit))
    if statistics is None:
        return plan, None
    known = statistics if isinstance(statistics, Statistics) else load_statistics(statistics)
    return plan.with_(statistics=known.digest), known


def comparison_plan(plan: Plan | None) -> Plan:
    """The plan whose shared features are marked in two texts: the method's own, or min-hash.

    Min-hash for scores of another tool, and for features that depend on corpus frequencies.
    """
    return make_plan("minhash") if plan is None or plan.counts else plan
