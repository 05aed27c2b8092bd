"""Results as Arrow tables: pairs and clusters, with ids instead of numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.candidates.buckets import numbered_rows, unranked_pairs
from neardup.columns import Numbers, Pairs
from neardup.engines.core.decide import Decisions, Outcome
from neardup.engines.core.references import ReferenceMatches
from neardup.verify.cosine import probabilities
from neardup.verify.relation import COPY, RELATIONS, RelationNumbers, relations, swapped

IN_REFERENCE = "duplicate_in"  # the reference that has a removed document; empty: the input itself
ROWS = 1 << 20  # rows of a table that is streamed
REASONS = ("duplicate_of", "similarity", "relation", "evidence")  # that are added to a removed document
# … to every one
ANNOTATIONS = ("keep", "cluster", "duplicate_of", "similarity", "containment", "relation", "evidence")


def pairs_schema(outcome: Outcome) -> pa.Schema:
    """The columns of pairs.parquet."""
    kind = outcome.documents.ids.type
    names = {"left": kind, "right": kind, "similarity": pa.float64(), "containment": pa.float64()}
    names |= {"relation": pa.string(), "reason": pa.string(), "bridge": pa.bool_()}
    if getattr(outcome.plan.check, "curve", None) is not None:
        names["probability"] = pa.float64()  # of a method that has learned from labels
    return pa.schema(names.items(), _metadata(outcome))


def pair_tables(outcome: Outcome) -> Iterator[pa.Table]:
    """Pairs of documents, the smaller id left, in order where they fit one table.

    With pairs="clusters" a distinct text is paired once, and each copy with its representative. With pairs="all" every
    copy of one text is paired with every copy of the other.
    """
    waiting: list[tuple[Numbers, Numbers, Numbers]] = []
    for block in _document_pairs(outcome):
        if waiting and sum(len(part[0]) for part in [*waiting, block]) > ROWS:
            yield _pair_table(outcome, *_stacked(waiting))
            waiting = []
        waiting.append(block)
    if waiting:
        yield _pair_table(outcome, *_stacked(waiting))


def _stacked(blocks: list[tuple[Numbers, Numbers, Numbers]]) -> tuple[Numbers, Numbers, Numbers]:
    left, right, edge = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return left, right, edge


def pair_table(outcome: Outcome) -> pa.Table:
    """All pairs in one table."""
    parts = list(pair_tables(outcome))
    return pa.concat_tables(parts) if parts else pairs_schema(outcome).empty_table()


def count_pairs(outcome: Outcome) -> int:
    """How many rows `pair_tables` will give."""
    representative = outcome.decisions.representative
    sizes = np.bincount(representative, minlength=len(representative))
    edges = outcome.decisions.pairs
    if outcome.plan.pairs == "clusters":
        return len(edges) + int((representative != np.arange(len(representative))).sum())
    return int((sizes[edges.left] * sizes[edges.right]).sum() + (sizes * (sizes - 1) // 2).sum())


def _document_pairs(outcome: Outcome) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Left and right documents, and the number of their edge in decisions.pairs (-1 for copies)."""
    representative, edges = outcome.decisions.representative, outcome.decisions.pairs
    copies = np.flatnonzero(representative != np.arange(len(representative)))
    if outcome.plan.pairs == "clusters" or len(copies) == 0:
        left = np.concatenate([edges.left, representative[copies]])
        right = np.concatenate([edges.right, copies])
        edge = np.concatenate([np.arange(len(edges)), np.full(len(copies), -1)])
        for start in range(0, len(left), ROWS):
            part = slice(start, start + ROWS)
            yield left[part], right[part], edge[part]
        return
    yield from expanded_pairs(representative, edges.left, edges.right)


def expanded_pairs(
    representative: Numbers, left: Numbers, right: Numbers
) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Every copy of one text with every copy of the other, then the copies of each text among themselves."""
    order = np.argsort(representative, kind="stable")
    starts = np.searchsorted(representative[order], np.arange(len(representative) + 1))
    sizes = np.diff(starts)
    for edge, k in numbered_rows(sizes[left] * sizes[right], ROWS):
        a, b = left[edge], right[edge]
        yield order[starts[a] + k // sizes[b]], order[starts[b] + k % sizes[b]], edge
    groups = np.flatnonzero(sizes > 1)
    for group, k in numbered_rows(sizes[groups] * (sizes[groups] - 1) // 2, ROWS):
        i, j = unranked_pairs(k)
        first = starts[groups[group]]
        yield order[first + i], order[first + j], np.full(len(k), -1)


def _reasons(pairs: Pairs, edge: Numbers, turned: pa.Array) -> Any:
    """Why each pair is one; where containment decided, which of the two contains the other."""
    if pairs.kind != "containment" or len(pairs) == 0:
        return "similar"
    known = np.maximum(edge, 0)
    mine, theirs = pairs.left_size[known], pairs.right_size[known]
    smaller_first = pc.xor(pa.array(mine < theirs), turned)
    # Of two that are equally large each contains the other: the order of the input must not choose.
    inside = pc.and_(smaller_first, pa.array(mine != theirs))
    return pc.if_else(inside, "right contains left", "left contains right")


def relation_names(numbers: RelationNumbers) -> pa.Array:
    """The names of relations; null where it is not known."""
    return pa.array(RELATIONS).take(pa.array(numbers, mask=numbers < 0))


def _pair_table(outcome: Outcome, left: Numbers, right: Numbers, edge: Numbers) -> pa.Table:
    pairs, ids, copy = outcome.decisions.pairs, outcome.documents.ids, edge < 0
    similarity, containment, bridge = np.ones(len(edge)), np.ones(len(edge)), np.zeros(len(edge), np.bool_)
    found = pairs.take(edge[~copy])
    similarity[~copy], containment[~copy] = found.similarity, found.containment
    bridge[~copy] = outcome.decisions.bridge[edge[~copy]]
    a, b = ids.take(pa.array(left)), ids.take(pa.array(right))
    turned = pc.greater(a, b)
    relation = np.full(len(edge), COPY, np.int8)
    relation[~copy] = relations(found, outcome.plan.check, outcome.plan.threshold)
    relation = np.where(turned.to_numpy(zero_copy_only=False), swapped(relation), relation)
    likely = probabilities(outcome.plan.check, similarity)
    table = pa.Table.from_arrays(
        [
            pc.if_else(turned, b, a),
            pc.if_else(turned, a, b),
            pa.array(similarity, from_pandas=True),
            pa.array(containment, from_pandas=True),
            relation_names(relation),
            pc.if_else(pa.array(copy), "copy", _reasons(pairs, edge, turned)),
            pa.array(bridge),
            *([] if likely is None else [pa.array(likely, from_pandas=True)]),
        ],
        schema=pairs_schema(outcome),
    )
    return table.sort_by([("left", "ascending"), ("right", "ascending")])


def cluster_table(outcome: Outcome) -> pa.Table:
    """Every document that is in a cluster, with its cluster's name, its leader, and what became of it."""
    decisions, ids = outcome.decisions, outcome.documents.ids
    other = pa.array(decisions.duplicate_of, mask=decisions.duplicate_of < 0)
    columns = {
        "id": ids.take(pa.array(decisions.documents)),
        "cluster": ids.take(pa.array(decisions.cluster)),
        "leader": ids.take(pa.array(decisions.leader)),
        "keep": pa.array(decisions.keep),
        "duplicate_of": ids.take(other),
        "similarity": pa.array(decisions.similarity, from_pandas=True),
        "containment": pa.array(decisions.containment, from_pandas=True),
        "relation": relation_names(decisions.relation),
        "evidence": _evidence(outcome),
        "size": pa.array(decisions.size),
        outcome.plan.clustering.height: pa.array(decisions.weakest_link, from_pandas=True),
    }
    table = pa.table(columns)
    for name, column in _person_columns(outcome, decisions.documents).items():
        table = table.append_column(name, column)
    table = table.append_column("place", pa.array(np.arange(len(table))))
    table = table.sort_by([("cluster", "ascending"), ("place", "ascending")]).drop_columns(["place"])
    return table.replace_schema_metadata(_metadata(outcome))


def annotation_table(outcome: Outcome, id_column: str | None = None, rows: Numbers | None = None) -> pa.Table:
    """ANNOTATIONS for every document of the corpus, or for those at `rows`.

    With `id_column`, ids that documents did not have of their own come first, so that duplicate_of can be looked up.
    """
    decisions, ids, n = outcome.decisions, outcome.documents.ids, len(outcome.documents)
    rows = np.arange(n) if rows is None else rows
    place = np.full(n, -1, np.int64)
    place[decisions.documents] = np.arange(len(decisions.documents))
    at = pa.array(place[rows], mask=place[rows] < 0)
    other = pa.array(decisions.duplicate_of, mask=decisions.duplicate_of < 0)
    named = {} if id_column is None else {id_column: ids.take(pa.array(rows))}
    empty = pa.array(np.isin(rows, decisions.empty))
    leader = ids[decisions.empty_leader] if decisions.empty_leader >= 0 else pa.scalar(None, ids.type)
    found: tuple[Any, ...] = (
        pa.array(decisions.kept[rows]),
        ids.take(pa.array(decisions.cluster)).take(at),
        pc.if_else(empty, leader, ids.take(other).take(at)),
        pa.array(decisions.similarity, from_pandas=True).take(at),
        pa.array(decisions.containment, from_pandas=True).take(at),
        relation_names(decisions.relation).take(at),
        pc.if_else(empty, "empty", _evidence(outcome).take(at)),
    )
    table = pa.table({**named, **dict(zip(ANNOTATIONS, found, strict=True))})
    if decisions.people is not None:
        table = table.append_column(DECIDED_BY, _deciders(outcome, rows))
    return table if decisions.referenced is None else _with_references(table, decisions.referenced, rows)


def _with_references(table: pa.Table, found: ReferenceMatches, rows: Numbers) -> pa.Table:
    """The annotations, with the matches of documents that a reference has, and the column that names the reference."""
    place = np.searchsorted(found.documents, rows)
    place[place == len(found.documents)] = 0
    there = found.documents[place] == rows if len(found.documents) else np.zeros(len(rows), np.bool_)
    at, known = pa.array(place, mask=~there), pa.array(there)
    ids, own = found.ids, table.column("duplicate_of")
    if ids.type != own.type:
        ids, own = ids.cast(pa.string()), own.cast(pa.string())
    evidence = pa.array(np.where(found.relation == COPY, "copy", "direct"), pa.string())
    values = {
        "duplicate_of": (ids, own),
        "similarity": (pa.array(found.similarity, from_pandas=True), table.column("similarity")),
        "containment": (pa.array(found.containment, from_pandas=True), table.column("containment")),
        "relation": (relation_names(found.relation), table.column("relation")),
        "evidence": (evidence, table.column("evidence")),
    }
    for name, (theirs, mine) in values.items():
        column = pc.if_else(known, theirs.take(at), mine)
        table = table.set_column(table.column_names.index(name), name, column)
    names = pa.array(found.names, pa.string()).take(pa.array(found.reference)).take(at)
    return table.append_column(IN_REFERENCE, names)


DECIDED_BY = "decided_by"  # machine, or the name of a person
MACHINE = "machine"


def _deciders(outcome: Outcome, rows: Numbers) -> pa.Array:
    """Who decided about each document: a person's name, machine, or null for one that is in no cluster."""
    decisions, people = outcome.decisions, outcome.decisions.people
    applied = {} if people is None else people.applied
    inside = np.isin(rows, decisions.documents) | ~decisions.kept[rows]
    names = [
        applied[number].person if number in applied else MACHINE if known else None
        for number, known in zip(rows.tolist(), inside.tolist(), strict=True)
    ]
    return pa.array(names, pa.string())


def _person_columns(outcome: Outcome, rows: Numbers) -> dict[str, pa.Array]:
    """What people decided of these documents, and what was decided without them; no columns without decisions."""
    people, ids = outcome.decisions.people, outcome.documents.ids
    if people is None:
        return {}
    found = [people.applied.get(number) for number in rows.tolist()]
    other = people.machine_duplicate_of[rows]
    return {
        DECIDED_BY: _deciders(outcome, rows),
        "decision": pa.array([one and one.action for one in found], pa.string()),
        "decided_at": pa.array([one and one.time for one in found], pa.string()),
        "machine_keep": pa.array(people.machine_keep[rows]),
        "machine_duplicate_of": ids.take(pa.array(other, mask=other < 0)),
    }


def by_person(decisions: Decisions) -> NDArray[np.bool_]:
    """Which members are removed on the word of a person alone: no copies, and below the threshold."""
    people = decisions.people
    if people is None:
        return np.zeros(len(decisions.documents), np.bool_)
    decided = np.isin(decisions.documents, np.array(sorted(people.applied), np.int64))
    return decided & (decisions.duplicate_of >= 0) & ~decisions.direct & ~decisions.copies


def added_names(names: Collection[str], taken: Collection[str]) -> list[str]:
    """The names of added columns: a name that the input has stays its own, and ours begins with neardup_."""
    return [f"neardup_{name}" if name in taken else name for name in names]


def renamed_columns(names: Collection[str], taken: Collection[str]) -> Iterator[str]:
    """A note for each added column that the input has too."""
    for name, ours in zip(names, added_names(names, taken), strict=True):
        if name != ours:
            yield f"the input has a column {name!r}: neardup's own is called {ours!r}"


def _evidence(outcome: Outcome) -> pa.Array:
    """Why each removed document goes: a copy of duplicate_of, a near-duplicate of it (direct), linked to it by a chain
    of pairs, by the similarity of its cluster as a whole, by a candidate pair that nothing verified, or by a person."""
    decisions, indirect = outcome.decisions, "cluster" if outcome.plan.clustering.links else "chain"
    direct = "unverified" if outcome.plan.check.level == "none" else "direct"
    names = np.where(decisions.copies, "copy", np.where(decisions.direct, direct, indirect))
    names = np.where(by_person(decisions), "person", names)
    return pa.array(names, pa.string(), mask=decisions.duplicate_of < 0)


def _metadata(outcome: Outcome) -> dict[bytes | str, bytes | str]:
    """What a file says of its origin."""
    return {"neardup.plan": outcome.plan.to_json(), "neardup.digest": outcome.plan.digest}
