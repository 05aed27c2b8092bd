"""The removals to look at first, with their texts compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from neardup.explain.passages import shared_passages
from neardup.pages.removal_list import RemovalGroup, ShownRemoval
from neardup.plan import Plan
from neardup.plans import comparison_plan
from neardup.plurals import counted
from neardup.review.evidence import ClusterEvidence, Removed
from neardup.review.reference_texts import InReference

__all__ = ["chosen_removals", "removal_groups", "wanted_documents"]

SHOWN = 8  # removals of a group
OF_ONE_CLUSTER = 2
LARGE = 5  # documents of a cluster
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Chosen:
    """Removals of one kind, before their texts are known."""

    heading: str
    words: str
    rows: Sequence[Removed]
    numbers_only: bool = False  # keep those alone whose texts differ only in numbers


def chosen_removals(found: ClusterEvidence, large: Iterable[str], threshold: float) -> list[Chosen]:
    """The removals of each kind, riskiest kind first."""
    names = set(large)
    in_large = [one for one in found.direct if one.cluster in names and one.size >= LARGE]
    return [
        Chosen(
            "Without evidence of their own",
            "A chain of pairs, the cluster as a whole or an unverified candidate pair removes them: least similar "
            "first.",
            _spread(found.indirect),
        ),
        Chosen(
            "Different in numbers only",
            "Amounts, dates or versions may be what matters.",
            found.sample,
            numbers_only=True,
        ),
        Chosen(
            "Nearest to the threshold",
            f"They reach the threshold of {threshold:g} by the least.",
            _spread(found.direct),
        ),
        Chosen("In the largest clusters", "One wrong link moves many documents.", _spread(in_large, 1)),
        Chosen(
            "In a reference",
            "Documents that a reference of --against has: least similar first.",
            _spread(found.referenced),
        ),
    ]


def _spread(rows: Sequence[Removed], most: int = OF_ONE_CLUSTER) -> list[Removed]:
    """The first rows, a few of each cluster."""
    counts: Counter[str] = Counter()
    chosen = []
    for one in rows:
        name = one.cluster or one.duplicate_of
        counts[name] += 1
        if counts[name] <= most:
            chosen.append(one)
    return chosen[:SHOWN]


def wanted_documents(groups: Iterable[Chosen]) -> set[str]:
    """The documents whose texts are needed; those of references are stored elsewhere."""
    rows = [one for group in groups for one in group.rows]
    return {one.id for one in rows} | {one.duplicate_of for one in rows if one.reference is None}


def removal_groups(
    groups: Iterable[Chosen], texts: Mapping[str, str], references: Mapping[InReference, str], plan: Plan
) -> Iterator[RemovalGroup]:
    """The groups with their texts compared; a removal is shown in the first group that has it."""
    shown: set[str] = set()
    for group in groups:
        rows = [one for one in group.rows if one.id not in shown]
        words = group.words
        if group.numbers_only:
            known = [one for one in rows if one.id in texts and one.duplicate_of in texts]
            rows = [one for one in known if differ_in_numbers_only(texts[one.id], texts[one.duplicate_of])]
            words = f"{counted(len(rows), 'removal')} of a sample of {len(known):,}. {words}"
        shown |= {one.id for one in rows[:SHOWN]}
        yield RemovalGroup(
            group.heading, words, [_shown(one, texts, references, plan) for one in rows[:SHOWN]]
        )


def _shown(
    one: Removed, texts: Mapping[str, str], references: Mapping[InReference, str], plan: Plan
) -> ShownRemoval:
    left = texts.get(one.id)
    right = (
        references.get((one.reference, one.duplicate_of)) if one.reference else texts.get(one.duplicate_of)
    )
    both = left is not None and right is not None
    compared = (
        shared_passages(comparison_plan(plan), left, right)
        if left is not None and right is not None
        else None
    )
    return ShownRemoval(
        id=one.id,
        duplicate_of=one.duplicate_of,
        similarity=None if one.similarity != one.similarity else one.similarity,
        relation=one.relation,
        evidence=one.evidence,
        size=one.size,
        reference=one.reference,
        numbers_only=both and differ_in_numbers_only(left or "", right or ""),
        comparison=compared,
        text=None if both else left,
    )


def differ_in_numbers_only(left: str, right: str) -> bool:
    """Whether the words that only one of two texts has, counted, all have a digit, and there is one."""
    ours, theirs = (Counter(WORD.findall(text.casefold())) for text in (left, right))
    differing = [*(ours - theirs), *(theirs - ours)]
    return bool(differing) and all(any(char.isdigit() for char in word) for word in differing)
