"""The library: `dedup`, `pairs` and `compare`, over files, Arrow tables, data frames or plain strings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
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
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.core.guard import is_guarded
from neardup.engines.core.progress import Progress
from neardup.engines.core.tables import cluster_table, pair_table
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.engines.local.run import LocalRun, RunSettings
from neardup.engines.local.run import run as run_local
from neardup.engines.local.write import Mode, run_annotations, run_report, write_run
from neardup.engines.local.write_tables import TABLE_FORMATS, TableFormat
from neardup.errors import GuardError, ParameterError
from neardup.plan import Clustering, ClusterKind, EmptyPolicy, Plan
from neardup.plurals import counted, listed_names
from neardup.registry import ALIASES, get_method, preset_options, presets
from neardup.statistics import Statistics, parse_df_unit
from neardup.statistics.file import load_statistics
from neardup.text.article import HtmlText, check_html_text
from neardup.verify.containment import Containment
from neardup.verify.numbers import separate_numbers
from neardup.workers import checked_threads

if TYPE_CHECKING:
    from neardup.explain.passages import Comparison


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
) -> Plan:
    """The plan with the choices of every method: pairs, clusters (None: the method's own), documents to keep."""
    _check_choice("pairs", pairs, "clusters", "all")
    _check_choice("decide", decide, "similarity", "containment")
    _check_choice("numbers", numbers, "words", "separate")
    if keep == "none" and keep_count != 1:
        raise ParameterError("keep_count", "dedup", "left out with keep=none", keep_count)
    if decide == "containment":
        plan = by_containment(plan)
    if numbers == "separate":
        plan = separate_numbers(plan)
    kind: Any = clusters
    clustering = plan.clustering if clusters is None else Clustering(kind)
    if clustering.links and plan.check.level == "none":
        raise ParameterError(
            "clusters",
            plan.method,
            "'leaders' or 'components' with verify=none, which measures no similarity",
            clustering.kind,
        )
    kept = parse_keep(keep, keep_count, direct_only, empty)
    return plan.with_(pairs=pairs, clustering=clustering, keep=kept)


def _check_choice(name: str, value: str, *choices: str, owner: str = "dedup") -> None:
    if value not in choices:
        raise ParameterError(name, owner, listed_names(map(repr, choices), "or"), value)


def by_containment(plan: Plan) -> Plan:
    """The plan that compares by containment of the smaller document, with the same features."""
    if plan.check.level != "features" or plan.check_view is not None or plan.check.measures == "cosine":
        raise ParameterError(
            "decide",
            plan.method,
            "'similarity', because the method with these options does not compare sets of features",
            "containment",
        )
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


class Result:
    """Pairs, clusters and decisions of a run. `kept` and `removed` read the documents again.

    If the guard is on and removals look wrong, `kept`, `removed` and `write` raise a GuardError; `report["warnings"]`,
    `pairs` and `clusters` show the evidence.
    """

    def __init__(self, run: LocalRun, given: Any = None, guard: bool | None = None) -> None:
        self._run, self._given, self._guard = run, given, guard

    def __repr__(self) -> str:
        report = self.report
        return (
            f"<neardup result: {counted(report['documents'], 'document')}, {report['kept']:,} kept, "
            f"{counted(report['clusters'], 'cluster')}, {counted(report['pairs']['verified'], 'verified pair')}>"
        )

    def _repr_html_(self) -> str:
        """The counts and the largest clusters as a table for notebooks."""
        report = self.report
        rows = [(name, f"{report[name]:,}") for name in ("documents", "kept", "removed", "clusters")]
        rows.append(("verified pairs", f"{report['pairs']['verified']:,}"))
        for cluster in report["largest_clusters"][:5]:
            rows.append((f"cluster led by {cluster['leader']}", counted(cluster["size"], "document")))
        cells = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
        return f"<table><caption>neardup {escape(self.plan.method)}</caption>{''.join(cells)}</table>"

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self._run.plan

    @property
    def pairs(self) -> pa.Table:
        """left, right, similarity, containment, relation, reason, bridge."""
        return pair_table(self._run.outcome)

    @property
    def clusters(self) -> pa.Table:
        """id, cluster, leader, keep, duplicate_of, similarity, containment, relation, evidence, size, and
        weakest_link, with average and complete linkage merge_height."""
        return cluster_table(self._run.outcome)

    @property
    def annotations(self) -> pa.Table:
        """keep, cluster, duplicate_of, similarity and containment of every document, in input order."""
        return run_annotations(self._run)

    @property
    def kept(self) -> Any:
        """The kept documents, in input order and in the type that was given."""
        self._check_guard()
        return self._documents(self._run.decisions.kept)

    @property
    def removed(self) -> Any:
        """The removed documents."""
        self._check_guard()
        return self._documents(~self._run.decisions.kept)

    @property
    def report(self) -> dict[str, Any]:
        """Counts, sizes and times."""
        return run_report(self._run, [])

    @property
    def problems(self) -> Problems:
        """The bad records of the input."""
        return self._run.corpus.problems

    def rethreshold(self, threshold: float) -> Result:
        """The result for another threshold, without running again.

        Args:
            threshold: Any higher one, or a lower one down to `report["lowest_rethreshold"]`; an EvidenceError below.
        """
        number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not number or not 0 < threshold <= 1:
            raise ParameterError("threshold", "rethreshold", "a number above 0 and up to 1", threshold)
        return Result(self._run.rethreshold(threshold), self._given, self._guard)

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        mode: Mode = "remove",
        format: str | None = None,
        force: bool = False,
        escape_formulas: bool = True,
        table_format: TableFormat = "parquet",
        guard: bool | None = None,
    ) -> dict[str, Any]:
        """The report, after the result folder has been written (see `neardup dedup`).

        If the guard stops it, pairs, clusters and the report are written, no documents, and a GuardError is raised.

        Args:
            folder: The folder to write to.
            mode: "remove" writes kept and removed documents apart, "annotate" all of them with columns of the
                decision, "none" pairs, clusters and the report only.
            format: parquet, jsonl, jsonl.gz, jsonl.zst, csv or tsv; None is that of the input.
            force: Overwrite results in the folder.
            escape_formulas: Put an apostrophe before csv cells that a spreadsheet would run.
            table_format: The format of pairs and clusters: parquet, csv or jsonl.
            guard: Whether to stop if removals look wrong; None is what `dedup` was given.
        """
        _check_choice("table_format", table_format, *TABLE_FORMATS, owner="write")
        _check_choice("mode", mode, "remove", "annotate", "none", owner="write")
        wrong = self._reasons_to_stop(self._guard if guard is None else guard) if mode != "none" else ()
        report = write_run(
            self._run,
            folder,
            mode="none" if wrong else mode,
            format=format,
            force=force,
            escape_formulas=escape_formulas,
            table_format=table_format,
        )
        if wrong:
            raise GuardError(wrong)
        return report

    @cached_property
    def _warnings(self) -> Sequence[str]:
        return tuple(self.report["warnings"])

    def _reasons_to_stop(self, guard: bool | None) -> Sequence[str]:
        """The warnings of the run if the guard is on."""
        guarded = is_guarded(self.plan, guard, self._run.settings.expected)
        return self._warnings if guarded else ()

    def _check_guard(self) -> None:
        if wrong := self._reasons_to_stop(self._guard):
            raise GuardError(wrong)

    def _documents(self, mask: Any) -> Any:
        given = self._given
        if isinstance(given, list):
            return [document for document, chosen in zip(given, mask.tolist(), strict=True) if chosen]
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
    html_text: HtmlText = "article",
    format: str | None = None,
    duplicate_ids: str = "error",
    keep: str | None = None,
    keep_count: int | None = None,
    pairs: Literal["clusters", "all"] | None = None,
    clusters: ClusterKind | None = None,
    direct_only: bool | None = None,
    empty: EmptyPolicy | None = None,
    decide: Literal["similarity", "containment"] | None = None,
    numbers: Literal["words", "separate"] | None = None,
    threads: int | None = None,
    strict: bool = False,
    work_dir: str | os.PathLike[str] | None = None,
    memory: str | int | None = None,
    statistics: Statistics | str | os.PathLike[str] | None = None,
    df_unit: str | None = None,
    limits: Limits = LIMITS,
    unescape_formulas: bool = False,
    guard: bool | None = None,
    expect_removed: float | tuple[float, float] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Near-duplicates of a corpus: kept and removed documents, pairs and clusters.

    Args:
        documents: A path (file, folder, glob) or several, an Arrow table, a pandas or Polars frame, or an iterable
            of strings.
        method: The name of a method (`neardup.list_methods()`); None is that of the preset, or minhash.
        preset: The name of a preset, such as "fineweb"; it sets the method and its options.
        plan: A plan of `make_plan`, instead of method, preset and options.
        text_column: The column to compare; None takes text, content, contents, body or html.
        id_column: The column of ids; None takes id, doc_id, url or path, else file and number.
        html: Whether the text column is HTML; None: if it is called html.
        html_text: The part of HTML to compare: "article" (the default), all "visible" text, or the article as
            "segments", "resiliparse" or "trafilatura" find it.
        format: The format of the files; None detects it from their names.
        duplicate_ids: "error" stops at a repeated id, "rename" renames it and reports it.
        keep: The document of a cluster to keep: longest (the default), shortest, first, last or none; longest:,
            shortest:, newest:, oldest:, highest: or lowest:COLUMN; priority:COLUMN=A,B.
        keep_count: How many documents of a cluster to keep; 1 by default.
        pairs: "clusters" (the default) compares the pairs that clusters need; "all" finds every pair.
        clusters: "leaders" removes a document only if it reaches the threshold with one that stays; "components"
            connects all documents linked by pairs, however long the chain; "average" and "complete" merge clusters as
            long as their mean or least similarity reaches the threshold. None is the method's own: leaders, or average
            for rare_phrases, spotsigs, spotsigs_lsh, andd and cosine.
        direct_only: Keep documents that do not reach the threshold with the document they would duplicate.
        empty: Of documents without a token "keep" (the default) keeps all, "remove" none, and "one" the best one by the
            keep policy.
        decide: The measure that must reach the threshold: "similarity" (the default), or "containment" of the
            smaller document.
        numbers: "words" (the default) compares numbers like other words; "separate" keeps documents apart that differ
            in more numbers than other words.
        threads: Threads to use; None uses all processors.
        strict: Stop at the first bad record instead of counting it.
        work_dir: The folder for temporary files; None is the temporary folder.
        memory: Memory to use, such as "4G" or a number of bytes; None is half of the available memory.
        statistics: Document frequencies of a background collection, or their file (`neardup stats build`); None
            counts over the documents.
        df_unit: The unit of document frequency: texts, clusters, COLUMN or host:COLUMN; None is the method's own.
        limits: Limits on the size of records and of unpacked files.
        unescape_formulas: Remove the apostrophes that neardup put before csv formulas.
        guard: Whether `kept`, `removed` and `write` of the result raise a GuardError if removals look wrong; None: at
            thresholds below 0.3, and if `expect_removed` is given.
        expect_removed: The share of documents that is expected to be removed, give or take a factor of 2, or the least
            and the greatest share. The guard compares it.
        progress: An object that is notified of stages and progress.
        options: Options of the method: threshold, ngram, tokens, … (`neardup methods NAME`).
    """
    common = {"keep": keep, "keep_count": keep_count, "pairs": pairs, "clusters": clusters, "decide": decide}
    common |= {"direct_only": direct_only, "empty": empty, "numbers": numbers}
    options |= {name: value for name, value in common.items() if value is not None}
    if plan is None:
        plan = make_plan(method, preset=preset, **options)
    elif method is not None or preset is not None or options:
        raise ParameterError(
            "plan", "dedup", "given alone, without method, preset or options", sorted(options)
        )
    _check_choice("duplicate_ids", duplicate_ids, "error", "rename")
    check_html_text(html_text, "dedup")
    inputs, given = as_inputs(documents, format, limits, unescape_formulas, html_text)
    columns = InputColumns(text_column, id_column, html, duplicate_ids, html_text)
    budget, expected = MemoryBudget(read_memory(memory)), ExpectedShare.of(expect_removed)
    settings = RunSettings(checked_threads(threads), strict, work_dir, budget, expected)
    plan, known = with_statistics(plan, statistics, df_unit)
    return Result(run_local(plan, inputs, columns, settings, progress, known), given, guard)


def pairs(documents: Any, **options: Any) -> pa.Table:
    """All near-duplicate pairs of a corpus as a table: left, right, similarity, containment, relation, reason, bridge.

    Args:
        documents: As for `dedup`.
        options: All other parameters of `dedup`, with pairs="all" as default.
    """
    if options.get("plan") is not None:
        return dedup(documents, **{**options, "plan": options["plan"].with_(pairs="all")}).pairs
    return dedup(documents, **{"pairs": "all", "clusters": "components", **options}).pairs


def compare(left: str, right: str, **options: Any) -> Comparison:
    """The similarity of two texts, and the passages that they share.

    Args:
        left: A text.
        right: Another text.
        options: The parameters of `make_plan`: method, preset, threshold, ngram, …
    """
    from neardup.explain.passages import shared_passages

    return shared_passages(make_plan(**options), left, right)


def as_inputs(
    documents: Any,
    format: str | None,
    limits: Limits = LIMITS,
    unescape: bool = False,
    html_text: HtmlText = "article",
) -> tuple[Inputs, Any]:
    """The sources, and the documents themselves if results are returned in their type."""
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
