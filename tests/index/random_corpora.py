"""Small random corpora with near-duplicates of every kind, and the cross pairs that `neardup pairs` finds in them."""

from __future__ import annotations

import random

import neardup
from neardup.index.index import Index

WORDS = (
    "the a is can will have do that harbour council berth ship container town mayor vote budget school bridge river "
    "court cheese farmer dairy name label judge appeal cellar wheel bell winter train station line delay museum show "
    "log book sea captain island storm light keeper tower engine number forty seven 1998 2,300 12 per cent"
).split()


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def edited(rng: random.Random, text: str) -> str:
    """The text with some words changed, cut or added: anything from a copy to a shared passage."""
    words = text.split(" ")
    kind = rng.randrange(7)
    if kind == 0:
        return text
    if kind == 1:
        return text.upper()
    if kind == 2:
        return " ".join(words[: rng.randrange(len(words) + 1)])
    if kind == 3:
        return text + " " + sentence(rng, rng.randrange(1, 60))
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words)


def random_texts(rng: random.Random, count: int) -> list[str]:
    """Texts of which many are versions of an earlier one; a few are empty or tiny."""
    texts: list[str] = []
    for _ in range(count):
        kind = rng.random()
        if texts and kind < 0.6:
            texts.append(edited(rng, rng.choice(texts)))
        elif kind < 0.66:
            texts.append(rng.choice(("", " ", "…", "ship", "the ship")))
        else:
            texts.append(sentence(rng, rng.choice((8, 30, 80, 150))))
    return texts


def cross_pairs(
    stored: dict[str, str], asked: dict[str, str], plan: neardup.Plan, statistics: object = None
) -> set[tuple]:
    """(asked, stored, similarity, containment, relation of asked to stored) of `neardup pairs` over both."""
    import pyarrow as pa

    names = [*stored, *asked]
    table = pa.table({"id": names, "text": [*stored.values(), *asked.values()]})
    found = neardup.pairs(table, plan=plan, statistics=statistics).to_pylist() if names else []
    turned = {"contains": "contained", "contained": "contains"}
    rows = set()
    for row in found:
        left, right, relation = row["left"], row["right"], row["relation"]
        if (left in asked) == (right in asked):
            continue
        if right in asked:
            left, right, relation = right, left, turned.get(relation, relation)
        rows.add((left, right, row["similarity"], row["containment"], relation))
    return rows


def found_by(index: Index, asked: dict[str, str]) -> set[tuple]:
    """The same of an index."""
    import pyarrow as pa

    if not asked:
        return set()
    rows = index.query_many(pa.table({"id": list(asked), "text": list(asked.values())})).to_pylist()
    return {(r["query"], r["id"], r["similarity"], r["containment"], r["relation"]) for r in rows}
