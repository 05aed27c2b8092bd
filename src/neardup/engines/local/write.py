"""The result folder: kept and removed documents, or annotated ones; pairs, clusters and the report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents import (
    Batch,
    OutputLayout,
    Problems,
    Source,
    Writer,
    output_format,
    output_layout,
    stamp,
)
from neardup.engines.core.boilerplate import outside_article
from neardup.engines.core.common_phrases import SEARCHED, common_phrases
from neardup.engines.core.report import (
    RunContext,
    RunCounts,
    count_clusters,
    count_removals,
    count_sources,
    largest_clusters,
    make_report,
    problem_counts,
)
from neardup.engines.core.tables import (
    ANNOTATIONS,
    REASONS,
    added_names,
    annotation_table,
    renamed_columns,
)
from neardup.engines.local.read import Corpus
from neardup.engines.local.representations import spooled_chunks
from neardup.engines.local.run import LocalRun
from neardup.engines.local.write_tables import REPORT, TableFormat, record_files, write_clusters, write_pairs
from neardup.errors import InputError, OutputError
from neardup.escapes import escape_json
from neardup.output import PAGE, OutputFolder, is_file_name
from neardup.remote_output import output_folder
from neardup.workers import prefetched

Mode = Literal["remove", "annotate", "none"]
DOCUMENTS: dict[Mode, list[str]] = {"remove": ["kept", "removed"], "annotate": ["annotated"], "none": []}
RESULTS = {name for names in DOCUMENTS.values() for name in names} | {
    "pairs",
    "clusters",
    "problems",
    "report",
}
PROBLEMS = "problems.jsonl"  # only where there are any


def write_run(
    run: LocalRun,
    folder: str | os.PathLike[str],
    *,
    mode: Mode = "remove",
    format: str | None = None,
    force: bool = False,
    escape_formulas: bool = True,
    table_format: TableFormat = "parquet",
) -> dict[str, Any]:
    """The report, after everything has been written under its final name."""
    check_output(run.corpus.sources, folder, mode, format, force, table_format)
    records = record_files(table_format)
    with output_folder(folder, force=force) as output:
        work = run.corpus.work.path
        if work is not None and work.parent == output.path:  # whose lock says that nobody else writes here
            output.remove_leftovers([*document_files(run.corpus.sources, mode, format), *records, PROBLEMS])
        with run.progress.stage("write pairs and clusters"):
            write_pairs(run, output.file(records[0]), table_format, escape_formulas)
            write_clusters(run, output.file(records[1]), table_format, escape_formulas)
        files = list(records)
        if mode != "none":
            with run.progress.stage("write documents", len(run.corpus)):
                files = _write_files(run, output, mode, format, escape_formulas) + files
        if run.corpus.problems.total:
            run.corpus.problems.write(output.file(PROBLEMS))
            files.append(PROBLEMS)
        report = run_report(run, files)
        output.file(REPORT).write_text(escape_json(json.dumps(report, indent=2, ensure_ascii=False)) + "\n")
        stale = files_of_last_run(output) - set(report["files"])
        output.commit()
        for name in stale:
            output.remove(name)
    return report


def write_stream(
    run: LocalRun,
    stream: IO[bytes],
    *,
    mode: Mode = "remove",
    format: str | None = None,
    escape_formulas: bool = True,
) -> dict[str, Any]:
    """The report, after the kept or annotated documents have gone to a stream; nothing else is written."""
    with run.progress.stage("write documents", len(run.corpus)):
        layout = output_layout(run.corpus.sources, format)
        added = _AddedColumns.of(run, mode)
        extra = added.table.schema if mode == "annotate" else None
        _write_documents(run, layout, [layout.open(stream, extra, escape_formulas)], added, mode)
    return run_report(run, [])


def files_of_last_run(output: OutputFolder) -> set[str]:
    """The files that the report in the folder lists and a run need not have: they would stand beside new ones."""
    try:
        listed = [*json.loads(output.read("report.json") or b"")["files"], *_page_of_last_run(output)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()
    return {
        name
        for name in listed
        if isinstance(name, str) and name.partition(".")[0] in RESULTS and is_file_name(name)
    }


def _page_of_last_run(output: OutputFolder) -> list[str]:
    """The page of `neardup report` beside the result, unless somebody else made a file of that name."""
    head = (output.read(PAGE) or b"")[:200]
    return [PAGE] if b'<meta name="generator" content="neardup">' in head else []


def _refuse_inputs(sources: Sequence[Source], output: OutputFolder, names: Sequence[str]) -> None:
    """Refuse to overwrite what is being read."""
    for path in (entry[0] for source in sources for entry in stamp(source)):
        for name in names:
            if output.is_input(name, path):
                raise OutputError(f"{path} is an input of this run: choose another output folder")


def check_output(
    sources: Sequence[Source],
    folder: str | os.PathLike[str],
    mode: Mode,
    format: str | None,
    force: bool,
    table_format: TableFormat = "parquet",
) -> None:
    """Refuse an output that cannot be written, before hours of work rather than after."""
    with output_folder(folder, force=force) as output:
        names = [*document_files(sources, mode, format), *record_files(table_format), PROBLEMS]
        _refuse_inputs(sources, output, names)
        for name in names:
            output.file(name)


def document_files(sources: Sequence[Source], mode: Mode, format: str | None) -> list[str]:
    """The names of the document files."""
    extension = output_format(sources, format)[1]
    return [f"{name}.{extension}" for name in DOCUMENTS[mode]]


def _write_files(
    run: LocalRun, output: OutputFolder, mode: Mode, format: str | None, escape: bool
) -> list[str]:
    """The names of the document files, kept and removed or annotated, in the order of the input."""
    layout = output_layout(run.corpus.sources, format)
    names = document_files(run.corpus.sources, mode, format)
    added = _AddedColumns.of(run, mode)
    schemas = [added.table.schema] if mode == "annotate" else [None, added.table.schema]
    writers = [
        layout.open(output.file(name), schema, escape, run.settings.threads)
        for name, schema in zip(names, schemas, strict=True)
    ]
    _write_documents(run, layout, writers, added, mode)
    return names


def _write_documents(
    run: LocalRun, layout: OutputLayout, writers: list[Writer], added: _AddedColumns, mode: Mode
) -> None:
    """All documents to the one writer with their columns, or kept and removed ones to theirs."""
    try:
        done = 0
        for batch in prefetched(_batches(run, layout), run.settings.threads):
            if done + len(batch) > len(run.corpus):
                check_unchanged(run.corpus, done + len(batch))
            rows = np.arange(done, done + len(batch))
            if mode == "annotate":
                writers[0].write(batch, None, added.next(len(batch)))
            else:
                _divide(batch, run.decisions.kept[rows], writers, added)
            done += len(batch)
            run.progress.advance(len(batch))
    finally:
        for writer in writers:
            writer.close()
    check_unchanged(run.corpus, done)


class _AddedColumns:
    """The columns that are added to annotated or removed documents, in the order of the input."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self._done = table, 0

    @staticmethod
    def of(run: LocalRun, mode: Mode) -> _AddedColumns:
        """All columns of every document, or the reasons of removed ones."""
        if mode == "annotate":
            table = run_annotations(run)
        else:
            table = run_annotations(run, np.flatnonzero(~run.decisions.kept))
            table = table.drop_columns([name for name in ANNOTATIONS if name not in REASONS])
        taken = {name for source in run.corpus.sources for name in source.names()}
        for note in renamed_columns(table.column_names, taken):
            run.progress.note(note)
        return _AddedColumns(table.rename_columns(added_names(table.column_names, taken)))

    def next(self, count: int) -> pa.RecordBatch:
        """The columns of the next so many documents."""
        self._done += count
        return self.table.slice(self._done - count, count).combine_chunks().to_batches()[0]


def run_annotations(run: LocalRun, rows: Numbers | None = None) -> pa.Table:
    """The columns that a document gets, of every one or of those at `rows`; ids first where some had none."""
    taken = any("id" in source.names() for source in run.corpus.sources)
    column = ("document_id" if taken else "id") if run.corpus.numbered else None
    return annotation_table(run.outcome, column, rows)


def check_unchanged(corpus: Corpus, documents: int) -> None:
    """Refuse to write documents of files that are not what they were when they were compared."""
    stamps = tuple(stamp(source) for source in corpus.sources)
    if documents != len(corpus) or stamps != corpus.stamps:
        raise InputError("The input changed while it was read: nothing was written, run again.")


def _batches(run: LocalRun, layout: OutputLayout) -> Iterator[Batch]:
    """All documents again, as they stand in their files; their problems were counted the first time."""
    quiet, column = Problems(sink=run.corpus.problems.add_late), run.corpus.text_column
    if column is not None and all(_can_skip_texts(source, column) for source in run.corpus.sources):
        yield from _with_spooled_texts(run, column, quiet)
        return
    for source in run.corpus.sources:
        yield from source.read(layout.columns, quiet, raw=layout.verbatim)


def _can_skip_texts(source: Any, column: str) -> bool:
    """Whether the texts can come from the spool: decompressing them a second time is most of reading."""
    kinds = (
        [field.type for field in source.schema() if field.name == column]
        if hasattr(source, "read_rest")
        else []
    )
    return len(kinds) == 1 and (pa.types.is_string(kinds[0]) or pa.types.is_large_string(kinds[0]))


def _with_spooled_texts(run: LocalRun, column: str, quiet: Problems) -> Iterator[Batch]:
    done = 0
    for source in run.corpus.sources:
        schema = source.schema()
        rest: Iterator[Batch] = source.read_rest(column, quiet)  # type: ignore[attr-defined]
        for batch in rest:
            stop = min(done + len(batch), len(run.corpus))
            texts = run.corpus.spool.read_range(done, stop).to_arrow(schema.field(column).type)
            arrays = [texts if name == column else batch.columns.column(name) for name in schema.names]
            yield Batch(batch.source, batch.numbers, pa.RecordBatch.from_arrays(arrays, schema=schema))
            done += len(batch)


def _divide(batch: Batch, kept: Any, writers: list[Writer], added: _AddedColumns) -> None:
    """Kept documents as they are, and removed ones with the reasons, if they have a writer."""
    if kept.all():
        writers[0].write(batch)
        return
    if kept.any():
        writers[0].write(batch, np.flatnonzero(kept))
    if len(writers) == 1:
        return
    removed = np.flatnonzero(~kept)
    writers[1].write(batch, removed, added.next(len(removed)))


def run_report(run: LocalRun, files: list[str]) -> dict[str, Any]:
    """The report of a run that wrote these files."""
    corpus, matches, decisions, outcome = run.corpus, run.matches, run.decisions, run.outcome
    counts = RunCounts(
        documents=len(corpus),
        removed=int((~decisions.kept).sum()),
        without_tokens=int((corpus.tokens == 0).sum()),
        without_features=int((~corpus.present & (corpus.tokens > 0)).sum()),
        exact_copies=int((decisions.representative != np.arange(len(corpus))).sum()),
        clusters=count_clusters(outcome),
        largest_clusters=largest_clusters(outcome),
        verified_pairs=len(decisions.pairs),
        candidates=matches.candidates,
        compared_for_clusters=matches.inside + decisions.compared,
        text_bytes=corpus.spool.size,
        removals=count_removals(outcome),
        large_components=decisions.large_components,
        buckets=matches.counts,
        posting_lists_truncated=matches.truncated,
        pairs_already_in_one_cluster=matches.joined,
        against=None if decisions.referenced is None else decisions.referenced.report(),
        people=None if decisions.people is None else decisions.people.report(),
        sources=count_sources(
            [source.name for source in corpus.sources],
            corpus.work.rows("read").numbers("source"),
            np.flatnonzero(~decisions.kept),
        ),
    )
    first = spooled_chunks(corpus.spool, np.arange(min(len(corpus), SEARCHED)))
    context = RunContext(
        engine="local",
        progress=run.progress,
        inputs=[source.name for source in corpus.sources],
        html_text=corpus.columns.html_text,
        outside_article=outside_article(corpus.sources, corpus.columns),
        problems=problem_counts(corpus.problems),
        run=corpus.work.digest,
        memory_budget=corpus.work.memory.budget,
        threads=run.settings.threads,
        lowest_rethreshold=matches.floor,
        common_phrases=common_phrases(run.plan, corpus.statistics, map(corpus.spool.read, first)),
        expected=run.settings.expected,
        compare=run.settings.compare,
        command=run.settings.command,
        config=run.settings.config,
    )
    return make_report(run.plan, counts, context, files)
