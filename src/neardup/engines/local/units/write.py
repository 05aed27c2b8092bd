"""Documents written back without their repeated units, a row for each of these, and the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers, Texts
from neardup.documents import Batch, OutputLayout, Problems, Source, document_ids, document_texts
from neardup.engines.core.tables import relation_names
from neardup.engines.local.rewrite import rewritable_layout, with_texts
from neardup.engines.local.run import LocalRun
from neardup.engines.local.units.source import UnitSource
from neardup.engines.local.units.split import Units, split_units
from neardup.engines.local.write import PROBLEMS, check_unchanged, run_report
from neardup.engines.local.write_tables import (
    REPORT,
    TableFormat,
    record_files,
    write_clusters,
    write_pairs,
    write_table,
)
from neardup.escapes import escape_json
from neardup.output import OutputFolder
from neardup.remote_output import output_folder

RECORD = "removed_units"
TOO_SHORT = "too short without its repeated {unit}s"
REASONS = pa.schema([("reason", pa.string()), ("removed_units", pa.int64())])
DOCUMENTS = ("kept", "removed")


@dataclass(frozen=True)
class UnitOptions:
    """What to write."""

    unit: str
    least: int = 1  # characters, blanks aside, that a document without its repeats must have to stay
    format: str | None = None
    table_format: TableFormat = "parquet"
    force: bool = False
    escape_formulas: bool = True
    documents: bool = True  # whether documents are written, or tables only


def unit_files(sources: Sequence[Source], options: UnitOptions) -> list[str]:
    """The names of the files that a run writes, but for problems."""
    tables = [f"{RECORD}.{options.table_format}", *record_files(options.table_format)]
    if not options.documents:
        return tables
    own, columns = _own(sources)
    extension = rewritable_layout(own, columns, options.format).extension
    return [*(f"{name}.{extension}" for name in DOCUMENTS), *tables]


def _own(sources: Sequence[Any]) -> tuple[list[Source], Any]:
    return [source.source for source in sources], sources[0].columns


@dataclass
class _Pass:
    """What the second pass over the documents finds."""

    documents: int = 0
    changed: int = 0
    gone: int = 0
    units: int = 0
    names: list[Any] = field(default_factory=list)  # of the documents of removed units
    begins: list[Numbers] = field(default_factory=list)  # of all units
    ends: list[Numbers] = field(default_factory=list)


def write_units(run: LocalRun, folder: str | Path, options: UnitOptions) -> dict[str, Any]:
    """The report, after all files have their names."""
    done = _Pass()
    with output_folder(folder, force=options.force) as output:
        tables = record_files(options.table_format)
        with run.progress.stage("write pairs and clusters"):
            write_pairs(run, output.file(tables[0]), options.table_format, options.escape_formulas)
            write_clusters(run, output.file(tables[1]), options.table_format, options.escape_formulas)
        with run.progress.stage("write documents"):
            files = _write_documents(run, output, options, done)
        check_unchanged(run.corpus, done.units)
        record = f"{RECORD}.{options.table_format}"
        write_table(output.file(record), _record(run, done), options.table_format, options.escape_formulas)
        files += [record, *tables]
        if run.corpus.problems.total:
            run.corpus.problems.write(output.file(PROBLEMS))
            files.append(PROBLEMS)
        report = _report(run, files, done, options)
        output.file(REPORT).write_text(escape_json(json.dumps(report, indent=2, ensure_ascii=False)) + "\n")
        output.commit()
    return report


def _write_documents(run: LocalRun, output: OutputFolder, options: UnitOptions, done: _Pass) -> list[str]:
    """The names of the files of kept and removed documents."""
    sources, columns = _own(run.corpus.sources)
    layout = rewritable_layout(sources, columns, options.format)
    names = [f"{name}.{layout.extension}" for name in DOCUMENTS] if options.documents else []
    schemas = (None, REASONS)
    writers = [
        layout.open(output.file(name), schema, options.escape_formulas)
        for name, schema in zip(names, schemas, strict=False)
    ]
    try:
        for source in run.corpus.sources:
            _one_source(run, source, layout, writers, options, done)  # type: ignore[arg-type]
    finally:
        for writer in writers:
            writer.close()
    return names


def _one_source(
    run: LocalRun,
    source: UnitSource,
    layout: OutputLayout,
    writers: list[Any],
    options: UnitOptions,
    done: _Pass,
) -> None:
    quiet = Problems(sink=run.corpus.problems.add_late)
    origin = _origin_of(run)
    for batch in _batches(source, layout, quiet):
        texts = Texts.from_arrow(document_texts(batch, source.text, Problems()))
        units = split_units(texts, source.rule)
        rows = np.arange(done.units, done.units + len(units))
        removed = np.flatnonzero(~run.decisions.kept[rows[rows < len(run.corpus)]])
        new = _without(texts, units, removed, origin[rows[removed]] - done.units)
        ids = document_ids(batch, source.identity if source.identity in batch.columns.schema.names else None)
        done.names.append(ids.take(pa.array(units.document[removed])).cast(pa.string()))
        done.begins.append(units.begin)
        done.ends.append(units.end)
        counts = np.bincount(units.document[removed], minlength=len(batch))
        _write_batch(batch, source.text, (new, counts), writers, options, done)
        done.units += len(units)
        done.documents += len(batch)
        run.progress.advance(len(units))


def _batches(source: UnitSource, layout: OutputLayout, problems: Problems) -> Iterator[Batch]:
    """The documents as they are written, with text and id."""
    wanted = None
    if layout.verbatim:
        wanted = list(dict.fromkeys([source.text, *([source.identity] if source.identity else [])]))
    return source.source.read(wanted, problems, raw=layout.verbatim)


def _origin_of(run: LocalRun) -> Numbers:
    """The unit that each unit repeats; −1 for those that stay."""
    origin = np.full(len(run.corpus), -1)
    gone = run.decisions.duplicate_of >= 0
    origin[run.decisions.documents[gone]] = run.decisions.duplicate_of[gone]
    return origin


def _without(texts: Texts, units: Units, removed: Numbers, origin: Numbers) -> dict[int, bytes]:
    """The new texts of documents with removed units.

    A unit that overlaps the one that it repeats, as runs of sentences can, loses only what goes beyond it.
    """
    found: dict[int, bytes] = {}
    inside = (origin >= 0) & (origin < len(units))
    other = np.where(inside, origin, 0)
    same = inside & (units.document[other] == units.document[removed])
    begins = np.where(same & (other < removed), units.following[other], 0)
    begins = np.maximum(units.begin[removed], begins)
    ends = np.where(same & (other > removed), units.begin[other], units.following[removed])
    ends = np.minimum(units.following[removed], ends)
    numbers = units.document[removed]
    edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1)).tolist()
    cuts = list(zip(begins.tolist(), ends.tolist(), strict=True))
    for first, last in pairwise(edges):
        number = int(numbers[first])
        text, parts, at = texts.document(number), [], 0
        for begin, end in cuts[first:last]:
            if begin < end:
                parts.append(text[at : max(at, begin)])
                at = max(at, end)
        parts.append(text[at:])
        joined = b"".join(parts)
        found[number] = joined.rstrip() if at == len(text) else joined
    return found


def _write_batch(
    batch: Batch,
    column: str,
    found: tuple[dict[int, bytes], Numbers],
    writers: list[Any],
    options: UnitOptions,
    done: _Pass,
) -> None:
    """Documents that have enough text left, changed; the others as they were, with the reason."""
    new, counts = found
    gone = [row for row, text in new.items() if not _has_visible(text, options.least)]
    done.gone += len(gone)
    done.changed += len(new) - len(gone)
    if not writers:
        return
    changed = with_texts(batch, column, {row: text for row, text in new.items() if row not in set(gone)})
    kept = np.ones(len(batch), np.bool_)
    kept[gone] = False
    writers[0].write(changed, None if not gone else np.flatnonzero(kept))
    if gone:
        reason = [TOO_SHORT.format(unit=options.unit.partition(":")[0])] * len(gone)
        added = pa.record_batch([pa.array(reason), pa.array(counts[gone])], schema=REASONS)
        writers[1].write(batch, np.array(gone), added)


def _has_visible(text: bytes, least: int) -> bool:
    """Whether a text has so many characters that are no blanks; its beginning mostly shows it."""
    parts = (text[: 8 * least], text) if 8 * least < len(text) else (text,)
    return any(len("".join(part.decode("utf-8", "ignore").split())) >= least for part in parts)


def _record(run: LocalRun, done: _Pass) -> pa.Table:
    """One row for each removed unit: where it is, and the unit that it repeats."""
    decisions, ids = run.decisions, run.corpus.ids
    gone = np.flatnonzero(decisions.duplicate_of >= 0)
    gone = gone[np.argsort(decisions.documents[gone])]
    unit, other = decisions.documents[gone], decisions.duplicate_of[gone]
    begins, ends = (
        np.concatenate(part) if part else np.zeros(0, np.int64) for part in (done.begins, done.ends)
    )
    names = pa.chunked_array(done.names, pa.string()) if done.names else pa.array([], pa.string())
    columns: dict[str, Any] = {
        "document": names.take(pa.array(np.searchsorted(np.flatnonzero(~decisions.kept), unit))),
        "unit": ids.take(pa.array(unit)),
        "begin": begins[unit],
        "end": ends[unit],
        "duplicate_of": ids.take(pa.array(other)),
        "duplicate_begin": begins[other],
        "duplicate_end": ends[other],
        "similarity": decisions.similarity[gone],
        "relation": relation_names(decisions.relation[gone]),
    }
    return pa.table(columns)


def _report(run: LocalRun, files: list[str], done: _Pass, options: UnitOptions) -> dict[str, Any]:
    """The report of the units, with what became of the documents."""
    report = run_report(run, [*files])
    begins, ends = (
        np.concatenate(part) if part else np.zeros(0, np.int64) for part in (done.begins, done.ends)
    )
    gone = ~run.decisions.kept
    return report | {
        "unit": options.unit,
        "units": report["documents"],
        "units_removed": report["removed"],
        "bytes_removed": int((ends - begins)[gone].sum()),
        "documents": done.documents,
        "documents_changed": done.changed,
        "kept": done.documents - done.gone,
        "removed": done.gone,
    }
