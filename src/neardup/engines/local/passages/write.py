"""The result of `neardup passages`: tables, the documents without their repeats, and a report."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

import neardup
from neardup.documents import Problems, Source
from neardup.engines.core.progress import Progress, peak_memory
from neardup.engines.core.report import problem_counts
from neardup.engines.local.passages.run import Passages
from neardup.engines.local.passages.tables import PassageTables
from neardup.engines.local.read import Corpus
from neardup.engines.local.rewrite import changed_batches, rewritable_layout
from neardup.engines.local.write import check_unchanged
from neardup.engines.local.write_tables import REPORT, TableFormat, write_table
from neardup.escapes import escape_json
from neardup.output import OutputFolder
from neardup.remote_output import output_folder

Which = Literal["later", "all"]
TABLES = ("passages", "places", "spans")
CUT, COPIED, DOCUMENTS, PROBLEMS = "removed_spans", "copied", "documents", "problems.jsonl"
EXAMPLES = 5  # passages that the report names


@dataclass(frozen=True)
class PassageOptions:
    """What to write."""

    tokens: int = 50  # of a passage, at least
    cut: Which | None = None  # which occurrences are cut out or masked; None: a report only
    mark: str | None = None  # what stands in their place
    by: str | None = None  # the column of sources
    format: str | None = None
    table_format: TableFormat = "parquet"
    force: bool = False
    escape_formulas: bool = True


def result_files(sources: Sequence[Source], corpus_columns: Any, options: PassageOptions) -> list[str]:
    """The names of the files that a run writes, but for problems."""
    names = [f"{name}.{options.table_format}" for name in TABLES]
    if options.by is not None:
        names.append(f"{COPIED}.{options.table_format}")
    if options.cut is not None:
        layout = rewritable_layout(list(sources), corpus_columns, options.format)
        names = [f"{DOCUMENTS}.{layout.extension}", f"{CUT}.{options.table_format}", *names]
    return [*names, REPORT]


def write_passages(
    corpus: Corpus, found: Passages, folder: str | Path, options: PassageOptions, progress: Progress
) -> dict[str, Any]:
    """The report, after all files have their names."""
    tables, written, spans = PassageTables(corpus, found), list[str](), None
    with output_folder(folder, force=options.force) as output:

        def write(name: str, table: pa.Table) -> pa.Table:
            file = f"{name}.{options.table_format}"
            write_table(output.file(file), table, options.table_format, options.escape_formulas)
            written.append(file)
            return table

        with progress.stage("write tables"):
            passages = write("passages", tables.passages())
            write("places", tables.places())
            write("spans", tables.spans())
            copied = None if options.by is None else write(COPIED, tables.copied(options.by))
        if options.cut is not None:
            spans = found.repeated if options.cut == "all" else found.later
            removed, cuts = tables.cut(spans)
            write(CUT, removed)
            with progress.stage("write documents", len(corpus)):
                file = _write_documents(corpus, replace(cuts, mark=options.mark), output, options, progress)
                written.insert(0, file)
        if corpus.problems.total:
            corpus.problems.write(output.file(PROBLEMS))
            written.append(PROBLEMS)
        report = _report(corpus, found, passages, copied, options, progress)
        if spans is not None:
            report |= {"spans_cut": len(spans), "tokens_cut": int((spans.end - spans.begin).sum())}
        report["files"] = [*written, REPORT]
        output.file(REPORT).write_text(escape_json(json.dumps(report, indent=2, ensure_ascii=False)) + "\n")
        output.commit()
    return report


def _write_documents(
    corpus: Corpus, cuts: Any, output: OutputFolder, options: PassageOptions, progress: Progress
) -> str:
    """The name of the file of all documents, those with repeats changed."""
    sources = list(corpus.sources)
    layout = rewritable_layout(sources, corpus.columns, options.format)
    name = f"{DOCUMENTS}.{layout.extension}"
    quiet, done = Problems(sink=corpus.problems.add_late), 0
    writer = layout.open(output.file(name), None, options.escape_formulas)
    try:
        for batch in changed_batches(sources, corpus.columns, corpus.spool, layout, cuts, quiet):
            writer.write(batch)
            done += len(batch)
            progress.advance(len(batch))
    finally:
        writer.close()
    check_unchanged(corpus, done)
    return name


def _report(
    corpus: Corpus,
    found: Passages,
    passages: pa.Table,
    copied: pa.Table | None,
    options: PassageOptions,
    progress: Progress,
) -> dict[str, Any]:
    """Counts, the passages that most is copied of, times, and everything needed to run again."""
    repeated, later = found.repeated, found.later
    saved = passages["tokens"].to_numpy() * (passages["occurrences"].to_numpy() - 1)
    most = (-saved).argsort(kind="stable")[:EXAMPLES]
    return {
        "neardup": neardup.__version__,
        "tokens_of_a_passage": found.width,
        "documents": len(corpus),
        "text_bytes": corpus.spool.size,
        "tokens": found.tokens,
        "passages": len(passages),
        "places": len(found.places),
        "spans": len(repeated),
        "tokens_repeated": int((repeated.end - repeated.begin).sum()),
        "tokens_that_stand_earlier": int((later.end - later.begin).sum()),
        "hash_collisions": found.collisions,
        "cut": options.cut,
        "mask": options.mark,
        "largest": passages.take(pa.array(most)).to_pylist(),
        "copied": None if copied is None else copied.slice(0, 10).to_pylist(),
        "by": options.by,
        "problems": problem_counts(corpus.problems),
        "seconds": {name: round(value, 3) for name, value in progress.seconds.items()},
        "cpu_seconds": {name: round(value, 3) for name, value in progress.cpu.items()},
        "peak_memory_bytes": peak_memory(),
        "memory_budget_bytes": corpus.work.memory.budget,
        "python": platform.python_version(),
        "inputs": [source.name for source in corpus.sources],
    }
