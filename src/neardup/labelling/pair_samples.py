"""Pairs to label: spread over all similarities, from a union of methods, around a threshold, or from found pairs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents import Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.core.tables import pair_tables
from neardup.engines.local.run import RunSettings, run
from neardup.errors import InputError, ParameterError
from neardup.evaluate.corpus import ANY
from neardup.evaluate.pair_sample import PairSampling, even, sample_pairs
from neardup.evaluate.specs import Spec
from neardup.labelling.store import FOUND, NewPair
from neardup.plan import Plan
from neardup.plurals import counted
from neardup.registry import get_method

__all__ = [
    "FROM",
    "UNION",
    "around_threshold",
    "found_pairs",
    "from_methods",
    "has_threshold",
    "spread_evenly",
]

FROM = ("spread", "methods", "threshold", "found")
UNION = ("minhash:threshold=0.4", "imatch", "simhash")  # the paper: shingling and I-Match
MOST = 500_000  # pairs of a method that are kept in memory, by chance
POOL = 2_000  # pairs from which the next ones to label are suggested
Open = Callable[[], Sequence[Source]]


def spread_evenly(
    open_input: Open, columns: InputColumns, count: int, *, seed: int = 1, threads: int = 1,
    progress: Progress | None = None, work_dir: Any = None, pool: int = POOL,
) -> tuple[list[NewPair], list[NewPair]]:  # fmt: skip
    """Pairs about equally many of which have each similarity, and a pool of more (see evaluate/pair_sample)."""
    sampling = PairSampling(pairs=max(count, pool), seed=seed)
    table = sample_pairs(open_input(), columns, sampling, progress or Progress(), threads, work_dir).table
    found = [
        NewPair(str(a), str(b), similarity, "spread")
        for a, b, similarity in zip(
            *(table.column(name).to_pylist() for name in ("id_a", "id_b", "jaccard")), strict=True
        )
    ]
    values = np.array([one.similarity for one in found], np.float64)
    chosen = even(values, count, np.random.default_rng(seed))
    return [found[k] for k in chosen.tolist()], found


def from_methods(
    open_input: Open, columns: InputColumns, count: int, specs: Sequence[Spec], *, seed: int = 1, threads: int = 1,
    progress: Progress | None = None, work_dir: Any = None,
) -> list[NewPair]:  # fmt: skip
    """Pairs that at least one method finds, equally many of those that each set of methods finds.

    Hajishirzi, Yih and Kołcz (SIGIR 2010, section 4.2.1) cluster with I-Match or shingling, and correct the result by
    hand: no method decides alone what people see.
    """
    if not specs:
        raise ParameterError("method", "sample", "at least one method", ())
    rng = np.random.default_rng(seed)
    by: dict[tuple[str, str], list[str]] = defaultdict(list)
    similarity: dict[tuple[str, str], float] = {}
    for spec in specs:
        plan = spec.plan.with_(pairs="all")
        for a, b, value in _pairs(plan, open_input(), columns, threads, progress, work_dir, rng):
            by[a, b].append(spec.name)
            if has_threshold(plan):
                similarity.setdefault((a, b), value)
    strata: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for pair, names in by.items():
        strata[tuple(names)].append(pair)
    chosen = _in_turn([_shuffled(pairs, rng) for _, pairs in sorted(strata.items())], count)
    return [
        NewPair(pair[0], pair[1], _known(similarity.get(pair, math.nan)), "found by " + ", ".join(by[pair]))
        for pair in chosen
    ]


def around_threshold(
    open_input: Open, columns: InputColumns, count: int, plan: Plan, *, seed: int = 1, threads: int = 1,
    progress: Progress | None = None, work_dir: Any = None,
) -> list[NewPair]:  # fmt: skip
    """The pairs with the similarities nearest to the threshold, half of them below it; a document is in few of them."""
    if not has_threshold(plan):
        raise InputError(
            f"The method {plan.method} has no threshold: choose another method, or --from methods."
        )
    rng = np.random.default_rng(seed)
    loose = plan.with_(pairs="all", threshold=ANY)
    found = list(_pairs(loose, open_input(), columns, threads, progress, work_dir, rng))
    above = sorted((one for one in found if one[2] >= plan.threshold), key=lambda one: one[2])
    below = sorted((one for one in found if one[2] < plan.threshold), key=lambda one: -one[2])
    chosen = _in_turn([_with_new_documents(side, count) for side in (above, below)], count)
    return [NewPair(a, b, value, f"around {plan.threshold:g}") for a, b, value in chosen]


def found_pairs(
    tables: Iterable[pa.RecordBatch], count: int, measure: str, *, seed: int = 1
) -> list[NewPair]:
    """A uniform sample of the pairs that a run found, to estimate its precision (Seshasai, thesis, section 6.3)."""
    rng = np.random.default_rng(seed)
    kept: list[tuple[float, NewPair]] = []
    for batch in tables:
        keys = rng.random(batch.num_rows)
        limit = kept[-1][0] if len(kept) == count else 1.0
        for row in np.flatnonzero(keys <= limit).tolist():
            a, b = (str(batch.column(side)[row].as_py()) for side in ("left", "right"))
            value = batch.column(measure)[row].as_py()
            kept.append((float(keys[row]), NewPair(a, b, None if value is None else float(value), FOUND)))
        kept = sorted(kept, key=lambda one: one[0])[:count]
    return [one for _, one in kept]


def has_threshold(plan: Plan) -> bool:
    """Whether a method decides by a similarity, and not by a number of hashes that agree."""
    return plan.check.level != "none" and "threshold" in get_method(plan.method).parameters


def _pairs(
    plan: Plan, sources: Sequence[Source], columns: InputColumns, threads: int, progress: Progress | None,
    work_dir: Any, rng: np.random.Generator,
) -> Iterable[tuple[str, str, float]]:  # fmt: skip
    """The pairs of a run with their similarities; of very many, a sample."""
    from neardup.plans import with_statistics

    plan, known = with_statistics(plan, None, None)
    done = run(plan, sources, columns, RunSettings(threads, work_dir=work_dir), progress, known)
    try:
        total, left = sum(len(table) for table in pair_tables(done.outcome)), 0
        share = min(1.0, MOST / max(total, 1))
        for table in pair_tables(done.outcome):
            chosen = pa.array(np.flatnonzero(rng.random(len(table)) < share))
            few, left = table.take(chosen), left + len(chosen)
            ends = (few.column(side).cast(pa.string()).to_pylist() for side in ("left", "right"))
            for a, b, value in zip(*ends, few.column("similarity").to_pylist(), strict=True):
                yield min(a, b), max(a, b), float("nan") if value is None else float(value)
    finally:
        done.corpus.work.close()


def _shuffled(values: list[tuple[str, str]], rng: np.random.Generator) -> list[tuple[str, str]]:
    ordered = sorted(values)
    return [ordered[k] for k in rng.permutation(len(ordered)).tolist()]


def _in_turn(lists: list[list[Any]], count: int) -> list[Any]:
    """The first values of each list in turn."""
    found: list[Any] = []
    for k in range(max(map(len, lists), default=0)):
        found += [values[k] for values in lists if k < len(values)]
        if len(found) >= count:
            break
    return found[:count]


def _with_new_documents(pairs: list[tuple[str, str, float]], count: int) -> list[tuple[str, str, float]]:
    """The pairs in order, those whose documents were there already last."""
    seen: set[str] = set()
    first: list[tuple[str, str, float]] = []
    later: list[tuple[str, str, float]] = []
    for pair in pairs:
        (later if seen & {*pair[:2]} else first).append(pair)
        seen |= {*pair[:2]}
        if len(first) >= count:
            break
    return first + later


def _known(value: float) -> float | None:
    return None if value != value else value


def in_words(pairs: Sequence[NewPair]) -> str:
    """A sentence about a sample."""
    by: dict[str, int] = defaultdict(int)
    for one in pairs:
        by[one.source] += 1
    return f"{counted(len(pairs), 'pair')} drawn: " + "; ".join(
        f"{n:,} {name}" for name, n in sorted(by.items())
    )
