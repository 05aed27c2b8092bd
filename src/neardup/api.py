"""The library: `dedup`, `pairs` and `compare`, over files, Arrow tables, data frames or plain strings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from neardup.candidates.contained import Contained
from neardup.clusters.keep import parse_keep
from neardup.documents import (
    LIMITS,
    Inputs,
    Limits,
    Problems,
    fitted,
    open_inputs,
    unified_schema,
)
from neardup.engines.core.progress import Progress
from neardup.engines.core.tables import annotation_table, cluster_table, pair_table
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.engines.local.documents import InputColumns
from neardup.engines.local.run import LocalRun, Settings
from neardup.engines.local.run import run as run_local
from neardup.engines.local.write import Mode, make_report, write_run
from neardup.errors import ParameterError
from neardup.plan import Clustering, Plan
from neardup.registry import ALIASES, get_method, presets
from neardup.statistics import Statistics, load_statistics, parse_df_unit
from neardup.text.article import HtmlText, check_html_text
from neardup.verify.containment import Containment
from neardup.workers import checked_threads

if TYPE_CHECKING:
    from neardup.explain.passages import Comparison

DUPLICATE_IDS = ("error", "rename")


def make_plan(
    method: str | None = None,
    *,
    preset: str | None = None,
    keep: str = "longest",
    keep_count: int = 1,
    pairs: Literal["clusters", "all"] = "clusters",
    clusters: Literal["components", "leaders"] = "components",
    decide: Literal["similarity", "containment"] = "similarity",
    **options: Any,
) -> Plan:
    """The plan for a method and its options (see `neardup methods`)."""
    known = dict(presets(preset)) if preset is not None else {}
    name = method or known.pop("method", "minhash")
    known.pop("method", None)
    given = {ALIASES.get(option, option) for option in options}
    known = {option: value for option, value in known.items() if option not in given}
    plan = get_method(name).plan(**known, **options)
    return complete_plan(
        plan, keep=keep, keep_count=keep_count, pairs=pairs, clusters=clusters, decide=decide
    )


def complete_plan(
    plan: Plan, *, keep: str, keep_count: int, pairs: str, clusters: str, decide: str = "similarity"
) -> Plan:
    """The plan with what every method has: which pairs, how they cluster, what stays."""
    if pairs not in ("clusters", "all"):
        raise ParameterError("pairs", "dedup", "'clusters' or 'all'", pairs)
    if clusters not in ("components", "leaders"):
        raise ParameterError("clusters", "dedup", "'components' or 'leaders'", clusters)
    if decide not in ("similarity", "containment"):
        raise ParameterError("decide", "dedup", "'similarity' or 'containment'", decide)
    if decide == "containment":
        plan = by_containment(plan)
    kind: Any = clusters
    return plan.with_(pairs=pairs, clustering=Clustering(kind), keep=parse_keep(keep, keep_count))


def by_containment(plan: Plan) -> Plan:
    """The plan that asks how much of the smaller document the larger one holds, of the same features."""
    if plan.check.level != "features" or plan.check_view is not None or plan.check.measures == "cosine":
        raise ParameterError(
            "decide", plan.method, "'similarity': it does not compare sets of features", "containment"
        )
    view = replace(plan.view, signature=None)
    return plan.with_(view=view, candidates=Contained(), check=Containment())


def with_statistics(
    plan: Plan, statistics: Statistics | str | os.PathLike[str] | None, df_unit: str | None = None
) -> tuple[Plan, Statistics | None]:
    """The plan with the digest of given statistics, or with what is to count once; and the statistics, read."""
    if statistics is not None and df_unit is not None:
        raise ParameterError("df_unit", "neardup", "left out where statistics are given", df_unit)
    if (statistics is not None or df_unit is not None) and not plan.counts:
        name = "statistics" if statistics is not None else "df_unit"
        raise ParameterError(name, plan.method, "left out: it asks for no frequencies", "one")
    if df_unit is not None:
        plan = plan.with_(df_unit=parse_df_unit(df_unit))
    if statistics is None:
        return plan, None
    known = statistics if isinstance(statistics, Statistics) else load_statistics(statistics)
    return plan.with_(statistics=known.digest), known


class Result:
    """What a run found and decided. Documents are read again when they are asked for."""

    def __init__(self, run: LocalRun, given: Any = None) -> None:
        self._run, self._given = run, given

    def __repr__(self) -> str:
        report = self.report
        return (
            f"<neardup result: {report['documents']:,} documents, {report['kept']:,} kept, "
            f"{report['clusters']:,} clusters, {report['pairs']['verified']:,} verified pairs>"
        )

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self._run.plan

    @property
    def pairs(self) -> pa.Table:
        """left, right, similarity, containment, reason, bridge."""
        return pair_table(self._run)

    @property
    def clusters(self) -> pa.Table:
        """id, cluster, leader, keep, duplicate_of, similarity, containment, size, weakest_link."""
        return cluster_table(self._run)

    @property
    def annotations(self) -> pa.Table:
        """keep, cluster, duplicate_of, similarity and containment of every document, in input order."""
        return annotation_table(self._run)

    @property
    def kept(self) -> Any:
        """The documents that stay, in input order and in the kind that was given."""
        return self._documents(self._run.decisions.kept)

    @property
    def removed(self) -> Any:
        """The documents that go."""
        return self._documents(~self._run.decisions.kept)

    @property
    def report(self) -> dict[str, Any]:
        """Counts, sizes and times."""
        return make_report(self._run, [])

    @property
    def problems(self) -> Problems:
        """The bad records of the input."""
        return self._run.corpus.problems

    def rethreshold(self, threshold: float) -> Result:
        """The result for another threshold, without running again.

        Upwards always; downwards as far as the stored evidence reaches, and an EvidenceError beyond.
        """
        number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not number or not 0 < threshold <= 1:
            raise ParameterError("threshold", "rethreshold", "a number above 0 and up to 1", threshold)
        return Result(self._run.rethreshold(threshold), self._given)

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        mode: Mode = "remove",
        format: str | None = None,
        force: bool = False,
        escape_formulas: bool = True,
    ) -> dict[str, Any]:
        """The report, after the result folder has been written (see `neardup dedup`)."""
        if mode not in ("remove", "annotate", "none"):
            raise ParameterError("mode", "write", "'remove', 'annotate' or 'none'", mode)
        return write_run(
            self._run, folder, mode=mode, format=format, force=force, escape_formulas=escape_formulas
        )

    def _documents(self, mask: Any) -> Any:
        given = self._given
        if isinstance(given, list):
            return [document for document, wanted in zip(given, mask.tolist(), strict=True) if wanted]
        if _is_frame(given, "pandas"):
            return given[mask]
        if _is_frame(given, "polars"):
            return given.filter(mask.tolist())
        return _read_again(self._run, mask)


def dedup(
    documents: Any,
    *,
    method: str | None = None,
    preset: str | None = None,
    plan: Plan | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    html: bool | None = None,
    html_text: HtmlText = "visible",
    format: str | None = None,
    duplicate_ids: str = "error",
    keep: str | None = None,
    keep_count: int | None = None,
    pairs: Literal["clusters", "all"] | None = None,
    clusters: Literal["components", "leaders"] | None = None,
    decide: Literal["similarity", "containment"] | None = None,
    threads: int | None = None,
    strict: bool = False,
    work_dir: str | os.PathLike[str] | None = None,
    memory: str | int | None = None,
    statistics: Statistics | str | os.PathLike[str] | None = None,
    df_unit: str | None = None,
    limits: Limits = LIMITS,
    unescape_formulas: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Near-duplicates of a corpus: what is kept, what goes, and why.

    `documents` is a path (file, folder, glob), several of them, an Arrow table, a pandas or Polars frame, or an
    iterable of strings. `html_text` is what is compared of HTML: all that is visible, or its "article".
    `options` are those of the method: threshold, ngram, tokens, …
    """
    common = {"keep": keep, "keep_count": keep_count, "pairs": pairs, "clusters": clusters, "decide": decide}
    options |= {name: value for name, value in common.items() if value is not None}
    if plan is None:
        plan = make_plan(method, preset=preset, **options)
    elif method is not None or preset is not None or options:
        raise ParameterError(
            "plan", "dedup", "given alone, without method, preset or options", sorted(options)
        )
    if duplicate_ids not in DUPLICATE_IDS:
        raise ParameterError("duplicate_ids", "dedup", "'error' or 'rename'", duplicate_ids)
    check_html_text(html_text, "dedup")
    inputs, given = as_inputs(documents, format, limits, unescape_formulas, html_text)
    columns = InputColumns(text_column, id_column, html, duplicate_ids, html_text)
    settings = Settings(checked_threads(threads), strict, work_dir, MemoryBudget(read_memory(memory)))
    plan, known = with_statistics(plan, statistics, df_unit)
    return Result(run_local(plan, inputs, columns, settings, progress, known), given)


def pairs(documents: Any, **options: Any) -> pa.Table:
    """All near-duplicate pairs of a corpus; the options are those of `dedup`, with pairs="all" as default."""
    if options.get("plan") is not None:
        return dedup(documents, **{**options, "plan": options["plan"].with_(pairs="all")}).pairs
    return dedup(documents, **{"pairs": "all", **options}).pairs


def compare(left: str, right: str, **options: Any) -> Comparison:
    """How similar two texts are, and which passages they share."""
    from neardup.explain.passages import shared_passages

    return shared_passages(make_plan(**options), left, right)


def as_inputs(
    documents: Any,
    format: str | None,
    limits: Limits = LIMITS,
    unescape: bool = False,
    html_text: HtmlText = "visible",
) -> tuple[Inputs, Any]:
    """The sources, and the documents themselves if they are to be given back in kind."""
    how: dict[str, Any] = {"limits": limits, "unescape_formulas": unescape, "html_text": html_text}
    if isinstance(documents, (str, os.PathLike)):
        return open_inputs([documents], format=format, **how), None
    if isinstance(documents, (pa.Array, pa.ChunkedArray)):
        documents = documents.to_pylist()
    if isinstance(documents, (list, tuple)) and documents and _is_path(documents[0]):
        return open_inputs(list(documents), format=format, **how), None
    if isinstance(documents, (list, tuple, set, frozenset, Iterator)) and not hasattr(
        documents, "__arrow_c_stream__"
    ):
        documents = list(documents)
    return open_inputs([documents], format=format), documents


def _is_path(item: Any) -> bool:
    """Whether the first item of a list names a file or folder; a list that begins otherwise holds documents."""
    if isinstance(item, os.PathLike):
        return True
    short = isinstance(item, str) and len(item) < 1024 and "\n" not in item and "\0" not in item
    return short and os.path.exists(item)  # noqa: PTH110 - Path.exists raises on long names


def _is_frame(given: Any, package: str) -> bool:
    return type(given).__module__.split(".")[0] == package


def _read_again(run: LocalRun, mask: Any) -> pa.Table:
    """The chosen documents of all sources in one table."""
    schema, done, parts = unified_schema(run.corpus.sources), 0, []
    for source in run.corpus.sources:
        for batch in source.read(None, Problems()):
            chosen = pa.array(mask[done : done + len(batch)])
            parts.append(fitted(batch.columns.filter(chosen), None, schema))
            done += len(batch)
    return pa.Table.from_batches(parts, schema)
