"""The order of the members of clusters by the keep policy, and by id."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.clusters.keep import KeepCandidates, worth
from neardup.columns import Numbers
from neardup.engines.core.documents import DocumentTable
from neardup.plan import Plan

Report = Callable[[str, str], None]  # a reason and what was done


def keep_order(
    plan: Plan, documents: DocumentTable, members: Numbers, report: Report | None = None
) -> Numbers:
    """The place of each member in the order of the keep policy (0 is best); other documents come last."""
    values = documents.values.take(pa.array(members)).to_pylist() if documents.values is not None else None
    candidates = KeepCandidates(members, id_places(documents, members), documents.lengths[members], values)
    found, unreadable = worth(plan.keep, candidates)
    if unreadable and report is not None:
        kind = "date" if plan.keep.policy in ("newest", "oldest") else "number"
        asked = f"--keep {plan.keep.policy}:{plan.keep.column}"
        values_are = "1 value is" if unreadable == 1 else f"{unreadable:,} values are"
        report(f"unreadable {kind}: {values_are} not a {kind} ({asked})", "come last")
    places = np.full(len(documents), np.iinfo(np.int64).max, np.int64)
    places[members] = found
    return places


def id_places(documents: DocumentTable, members: Numbers) -> Numbers:
    """The place of each member in the order of ids."""
    order = pc.sort_indices(documents.ids.take(pa.array(members))).to_numpy(zero_copy_only=False)
    places = np.empty(len(members), np.int64)
    places[order] = np.arange(len(members))
    return places
