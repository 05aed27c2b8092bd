"""The library: `dedup`, `pairs` and `compare`, over files, Arrow tables, data frames or plain strings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from neardup.decisions.store import read_decisions
from neardup.documents import LIMITS, Inputs, Limits, Problems, fitted, unified_schema
from neardup.documents.dialects import Dialect
from neardup.documents.given import as_inputs
from neardup.documents.in_kind import chosen
from neardup.engines.core.bars import shown_progress
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.core.guard import check_guard, is_guarded
from neardup.engines.core.progress import Progress
from neardup.engines.core.tables import cluster_table, pair_table
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.engines.local.run import LocalRun, RunSettings
from neardup.engines.local.run import run as run_local
from neardup.engines.local.write import Mode, run_annotations, run_report, write_run
from neardup.engines.local.write_tables import TABLE_FORMATS, TableFormat
from neardup.errors import GuardError, ParameterError
from neardup.plan import ClusterKind, EmptyPolicy, Plan
from neardup.plans import check_choice, complete_plan, make_plan, with_statistics
from neardup.plurals import counted
from neardup.statistics import Statistics
from neardup.text.article import HtmlText, check_html_text
from neardup.workers import checked_threads

if TYPE_CHECKING:
    from neardup.explain.passages import Comparison
    from neardup.index.references import References

# Options of `make_plan` that choose neither a method nor what is compared.
COMPLETING = {"keep", "keep_count", "direct_only", "empty", "pairs", "clusters"}


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
        """The head of the report, for notebooks."""
        from neardup.pages.run_page import run_head
        from neardup.review.evidence import binned, decided_by

        pairs = self._run.decisions.pairs
        measured = pairs.containment if decided_by(self.plan) == "containment" else pairs.similarity
        return run_head(self.report, self.plan.threshold, binned(measured).tolist())

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
        check_choice("table_format", table_format, *TABLE_FORMATS, callable_name="write")
        check_choice("mode", mode, "remove", "annotate", "none", callable_name="write")
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

    def write_report(
        self,
        path: str | os.PathLike[str],
        *,
        by: str | None = None,
        date: str | None = None,
        force: bool = False,
    ) -> None:
        """Writes the report for people: one HTML page (see `neardup report`).

        Args:
            path: The file to write, such as "report.html".
            by: The column to count kept and removed documents by; None takes one that names sources, if there is one.
            date: The column of dates; None takes one of a usual name.
            force: Overwrite the file.
        """
        from neardup.review.report import write_report
        from neardup.review.result import RunResult

        write_report(RunResult(self._run), path, by=by, date=date, force=force)

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
        found = None if self._given is None else chosen(self._given, mask)
        return _read_again(self._run, mask) if found is None else found


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
    delimiter: str | None = None,
    encoding: str | None = None,
    columns: Sequence[str] | str | None = None,
    guard: bool | None = None,
    expect_removed: float | tuple[float, float] | None = None,
    against: Any = None,
    within: bool = True,
    decisions: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Result:
    """Near-duplicates of a corpus: kept and removed documents, pairs and clusters.

    Args:
        documents: A path (file, folder, glob, address) or several; an Arrow table, a pandas or Polars frame (lazy too),
            a Hugging Face Dataset, DatasetDict or IterableDataset, a DuckDB relation, or anything with
            `__arrow_c_stream__`; or an iterable of strings or of dicts. Kept documents come in the same type.
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
        delimiter: The character between csv cells; None detects it.
        encoding: The encoding of text files, such as cp1252; None detects it.
        columns: The names of csv columns, if the files have no header.
        guard: Whether `kept`, `removed` and `write` of the result raise a GuardError if removals look wrong; None: at
            thresholds below 0.3, and if `expect_removed` is given.
        expect_removed: The share of documents that is expected to be removed, give or take a factor of 2, or the least
            and the greatest share. The guard compares it.
        against: An index, a corpus, or a list of them: documents that they have are removed, and nothing of them is
            returned. Without a method, preset, plan or option, the method is that of the index.
        within: With `against`: whether the other documents are compared with each other too.
        decisions: A file of decisions of people (decisions.db of `neardup studio`), which are followed.
        progress: True draws bars, False does not, None does in a notebook; or an object that is notified of stages.
        options: Options of the method: threshold, ngram, tokens, … (`neardup methods NAME`).
    """
    references = references_of(against)
    common = {"keep": keep, "keep_count": keep_count, "pairs": pairs, "clusters": clusters, "decide": decide}
    common |= {"direct_only": direct_only, "empty": empty, "numbers": numbers}
    options |= {name: value for name, value in common.items() if value is not None}
    if plan is None:
        chosen = method is not None or preset is not None or bool(options.keys() - COMPLETING)
        known_plan = None if chosen else plan_of_index(references)
        if known_plan is None:
            plan = make_plan(method, preset=preset, **options)
        else:
            plan = complete_plan(known_plan, **options)
    elif method is not None or preset is not None or options:
        raise ParameterError(
            "plan", "dedup", "given alone, without method, preset or options", sorted(options)
        )
    check_choice("duplicate_ids", duplicate_ids, "error", "rename")
    check_html_text(html_text, "dedup")
    check_guard(guard)
    budget, expected = MemoryBudget(read_memory(memory)), ExpectedShare.of(expect_removed)
    limits = budget.limited(limits)
    dialect = Dialect.of(delimiter, encoding, columns)
    inputs, given = as_inputs(documents, format, limits, unescape_formulas, html_text, dialect)
    taken = InputColumns(text_column, id_column, html, duplicate_ids, html_text)
    people = None if decisions is None else tuple(read_decisions(Path(decisions)))
    settings = RunSettings(checked_threads(threads), strict, work_dir, budget, expected, people=people)
    plan, known = with_statistics(plan, statistics, df_unit)
    with shown_progress(progress) as progress:
        done = _run(plan, inputs, taken, settings, progress, known, references, limits, within)
    return Result(done, given, guard)


def _run(
    plan: Plan,
    inputs: Inputs,
    columns: InputColumns,
    settings: RunSettings,
    progress: Progress,
    known: Statistics | None,
    references: list[Any],
    limits: Limits,
    within: bool,
) -> LocalRun:
    """The run, against references if there are some."""
    if not references:
        return run_local(plan, inputs, columns, settings, progress, known)
    with open_references(references, plan, known, columns, settings, limits) as opened:
        opened.prepare(inputs, progress, Problems(strict=settings.strict))
        settings = replace(settings, references=opened.find, within=within)
        return run_local(plan, inputs, columns, settings, progress, opened.statistics)


def references_of(against: Any) -> list[Any]:
    """The indexes and corpora that `against` names."""
    if against is None:
        return []
    several = isinstance(against, (list, tuple)) and against and not isinstance(against[0], Mapping)
    return list(against) if several else [against]


def plan_of_index(references: list[Any]) -> Plan | None:
    """The plan of the first index among references; None without an index."""
    if not references:
        return None
    from neardup.index.references import plan_of

    return plan_of(references)


def open_references(
    references: list[Any],
    plan: Plan,
    statistics: Statistics | None,
    columns: InputColumns,
    settings: RunSettings,
    limits: Limits,
) -> References:
    """The references, open."""
    from neardup.index.references import References

    return References(
        references,
        plan,
        statistics=statistics,
        columns=columns,
        limits=limits,
        threads=settings.threads,
        folder=settings.work_dir,
        memory=settings.memory,
    )


def pairs(documents: Any, **options: Any) -> pa.Table:
    """All near-duplicate pairs of a corpus as a table: left, right, similarity, containment, relation, reason, bridge.

    With `against`, only pairs of a document (left) and one of the references (right): left, right, similarity,
    containment, relation, and with several references `reference`.

    Args:
        documents: As for `dedup`.
        options: All other parameters of `dedup`, with pairs="all" as default.
    """
    if options.get("against") is not None:
        return _pairs_against(documents, **options)
    if options.get("plan") is not None:
        return dedup(documents, **{**options, "plan": options["plan"].with_(pairs="all")}).pairs
    return dedup(documents, **{"pairs": "all", "clusters": "components", **options}).pairs


def _pairs_against(
    documents: Any,
    *,
    against: Any,
    plan: Plan | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    html: bool | None = None,
    html_text: HtmlText = "article",
    format: str | None = None,
    duplicate_ids: str = "error",
    threads: int | None = None,
    strict: bool = False,
    work_dir: str | os.PathLike[str] | None = None,
    memory: str | int | None = None,
    statistics: Statistics | str | os.PathLike[str] | None = None,
    df_unit: str | None = None,
    limits: Limits = LIMITS,
    unescape_formulas: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    columns: Sequence[str] | str | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> pa.Table:
    """The pairs of documents with those of references; parameters as of `dedup`."""
    from neardup.index.references import cross_pairs

    for name in ("within", "guard", "expect_removed"):
        if options.pop(name, None) is not None:
            raise ParameterError(name, "pairs", "left out with against, which removes nothing", "a value")
    check_choice("duplicate_ids", duplicate_ids, "error", "rename")
    check_html_text(html_text, "pairs")
    references = references_of(against)
    plan = plan or (make_plan(**options) if options else plan_of_index(references) or make_plan())
    plan, known = with_statistics(plan, statistics, df_unit)
    budget = MemoryBudget(read_memory(memory))
    limits = budget.limited(limits)
    dialect = Dialect.of(delimiter, encoding, columns)
    sources, _ = as_inputs(documents, format, limits, unescape_formulas, html_text, dialect)
    taken = InputColumns(text_column, id_column, html, duplicate_ids, html_text)
    settings = RunSettings(checked_threads(threads), strict, work_dir, budget)
    with (
        shown_progress(progress) as shown,
        open_references(references, plan, known, taken, settings, limits) as opened,
    ):
        opened.prepare(sources, shown, Problems(strict=strict))
        return cross_pairs(opened, sources, taken, Problems(strict=strict), shown)


def compare(left: str, right: str, **options: Any) -> Comparison:
    """The similarity of two texts, and the passages that they share.

    Args:
        left: A text.
        right: Another text.
        options: The parameters of `make_plan`: method, preset, threshold, ngram, …
    """
    from neardup.explain.passages import shared_passages

    for name, text in (("left", left), ("right", right)):
        if not isinstance(text, str):
            raise ParameterError(name, "compare", "a text", text)
    return shared_passages(make_plan(**options), left, right)


def _read_again(run: LocalRun, mask: Any) -> pa.Table:
    """The chosen documents of all sources in one table."""
    schema, done, parts = unified_schema(run.corpus.sources), 0, []
    for source in run.corpus.sources:
        for batch in source.read(None, Problems()):
            chosen = pa.array(mask[done : done + len(batch)])
            parts.append(fitted(batch.columns.filter(chosen), None, schema))
            done += len(batch)
    return pa.Table.from_batches(parts, schema)
