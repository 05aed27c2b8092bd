"""The first pass whose clusters are the unit of document frequency."""

from __future__ import annotations

from dataclasses import replace

from neardup.methods.minhash import minhash
from neardup.plan import CorpusAware, Plan

FIRST_THRESHOLD = 0.3  # documents this similar count as one


def first_pass(plan: Plan) -> Plan:
    """The plan of the first pass: the plan itself before it knows what is rare, else min-hash over the same text."""
    weights = plan.view.weights
    if plan.view.corpus_aware is None or plan.candidates.level != "signatures":
        return minhash().with_(text=plan.text)
    before = tuple(weight.first_pass if isinstance(weight, CorpusAware) else weight for weight in weights)
    view = replace(plan.view, weights=before)
    return plan.with_(view=view, threshold=FIRST_THRESHOLD, df_unit="texts", pairs="clusters")
