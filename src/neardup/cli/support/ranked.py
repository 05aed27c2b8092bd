"""A result list as documents with fingerprints; hidden documents are removed before anything else is read."""

from __future__ import annotations

from typing import Any

import click
import pyarrow as pa

from neardup.cli.support import options
from neardup.cli.support.pages import attribute_columns, report_problems
from neardup.clusters.keep import moment
from neardup.documents import Problems, choose_columns, join_tables, open_inputs
from neardup.documents.values import known_times
from neardup.errors import InputError
from neardup.escapes import escape_controls
from neardup.index.documents import FingerprintedDocument, may_see
from neardup.index.fingerprints import fingerprint
from neardup.index.inputs import read_access, read_quality
from neardup.index.stored_pairs import access_of
from neardup.plan import Plan
from neardup.statistics import Statistics


def ranked_documents(
    path: str, plan: Plan, groups: list[str], values: dict[str, Any], statistics: Statistics | None = None
) -> list[FingerprintedDocument]:
    """The documents of a file that these groups have access to, in order."""
    pages, attributes = options.open_inputs([path], values), attribute_columns(values)
    table = _table(path, pages.sources, pages.problems)
    for name in filter(None, (attributes.access, attributes.quality, attributes.time, attributes.url)):
        if name not in table.column_names:
            raise InputError(
                f"{path} has no column {name!r}; its columns are {', '.join(table.column_names)}"
            )
    if pages.problems.total:  # no count: the groups with access to an unreadable record are unknown
        click.echo(
            f"{escape_controls(path)} has records that cannot be read; use --strict to stop at the first.",
            err=True,
        )
    access = [access_of(read_access(value)) for value in _column(table, attributes.access)]
    visible = [number for number, some in enumerate(access) if may_see(groups, some)]
    if not visible:
        return []
    table = table.take(pa.array(visible))
    _, identity = choose_columns(
        table.column_names, text=pages.columns.text, id=pages.columns.id, source=path
    )
    if identity is None:  # row numbers would reveal how many rows are hidden
        raise InputError(f"{path} has no id column: name one with --id-column.")
    made = fingerprint(
        plan, open_inputs([table]), pages.columns, statistics=statistics, threads=pages.threads,
        folder=values["work_dir"],
    )  # fmt: skip
    quality, time, url = (
        _column(table, name) for name in (attributes.quality, attributes.time, attributes.url)
    )
    return [
        FingerprintedDocument(
            made.ids[n],
            int.from_bytes(made.of(n), "little") if made.present[n] else None,
            access[number],
            moment(time[n]) or 0.0,
            int(made.lengths[n]),
            read_quality(quality[n], made.ids[n]),
            None if url[n] is None else str(url[n]),
        )
        for n, number in enumerate(visible)
    ]


def ranked_ids(path: str, values: dict[str, Any]) -> list[Any]:
    """The ids of a file in order."""
    pages = options.open_inputs([path], values)
    table = _table(path, pages.sources, pages.problems)
    name = pages.columns.id or "id"
    if name not in table.column_names:
        raise InputError(f"{path} has no id column: name one with --id-column.")
    report_problems(pages.problems)
    kind = table.schema.field(name).type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(f"{path}: the ids in column {name!r} are neither strings nor integers.")
    ids = known_times(table.column(name)).to_pylist()
    if None in ids:
        raise InputError(f"{path}: record {1 + ids.index(None)} has no id.")
    return ids


def _table(path: str, sources: Any, problems: Problems) -> pa.Table:
    batches = [
        (source.name, pa.Table.from_batches([batch.columns]))
        for source in sources
        for batch in source.read(None, problems)
    ]
    if not batches:
        raise InputError(f"{path} has no documents.")
    return join_tables(batches)


def _column(table: pa.Table, name: str | None) -> list[Any]:
    return [None] * len(table) if name is None else known_times(table.column(name)).to_pylist()
