"""Result lists of indexed documents: folded by verified matches, restricted to what some groups may see."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from neardup.engines.core.progress import Progress
from neardup.errors import ParameterError
from neardup.index.collapse import CollapsedResult, Order, folded
from neardup.index.documents import Master, Neighbours, may_see
from neardup.index.search import CapturedSearch
from neardup.index.stored_pairs import access_of, neighbours_among
from neardup.index.truth import Columns, Id, Snapshot

WITH_ATTRIBUTES = Columns(attributes=True)


def collapsed(
    search: CapturedSearch,
    snapshot: Snapshot,
    ids: Sequence[Id],
    groups: Collection[str],
    order: Order,
    master: Master,
    threshold: float | None,
) -> tuple[list[CollapsedResult], list[Id]]:
    """The visible documents with these ids, best first, near-duplicates folded; and the ids that the index lacks.

    Hidden documents are left out before anything is compared.
    """
    if isinstance(groups, str) or not isinstance(groups, Collection):
        raise ParameterError("groups", "collapse", "a list of names", groups)
    seqs = snapshot.find(ids)
    rank = {seq: place for place, seq in reversed(list(enumerate(seqs.tolist()))) if seq}
    rows = snapshot.fetch(np.array(list(rank), np.int64), WITH_ATTRIBUTES)
    visible = [known is None or may_see(groups, access_of(known.access)) for known in rows.attributes]
    rows = snapshot.fetch(rows.seqs[np.array(visible, np.bool_)], WITH_ATTRIBUTES)
    documents, near = neighbours_among(search, snapshot, rows, Progress(), threshold)
    ranked = sorted(range(len(documents)), key=lambda n: rank[int(rows.seqs[n])])
    neighbours = Neighbours([near.nodes[n] for n in ranked], near.near)
    results = folded([documents[n] for n in ranked], neighbours, order=order, master=master)
    unknown = [name for name, seq in zip(ids, seqs.tolist(), strict=True) if not seq]
    return results, list(dict.fromkeys(unknown))
