"""A result list as documents with fingerprints; documents that the user may not see are dropped unread."""

from __future__ import annotations

from typing import Any

import click
import pyarrow as pa

from neardup.cli.support.pages import open_pages, taken_extra
from neardup.clusters.keep import moment
from neardup.documents import Problems, choose_columns, open_inputs
from neardup.errors import InputError
from neardup.index.documents import Document, may_see
from neardup.index.fingerprints import fingerprint
from neardup.index.rows import read_quality, read_readers
from neardup.plan import Plan
from neardup.statistics import Statistics


def ranked_documents(
    path: str, plan: Plan, groups: list[str], values: dict[str, Any], statistics: Statistics | None = None
) -> list[Document]:
    """The documents of a file that these groups may see, in order."""
    pages, extra = open_pages([path], values), taken_extra(values)
    table = _table(path, pages.sources, pages.problems)
    for name in filter(None, (extra.readers, extra.quality, extra.time, extra.url)):
        if name not in table.column_names:
            raise InputError(
                f"{path} has no column {name!r}; its columns are {', '.join(table.column_names)}"
            )
    if pages.problems.total:  # without a number: nobody knows who may see an unreadable record
        click.echo(f"{path} has records that cannot be read; --strict stops at the first.", err=True)
    readers = [read_readers(value) for value in _column(table, extra.readers)]
    visible = [number for number, some in enumerate(readers) if may_see(groups, some)]
    if not visible:
        return []
    table = table.take(pa.array(visible))
    _, identity = choose_columns(
        table.column_names, text=pages.columns.text, id=pages.columns.id, source=path
    )
    if identity is None:  # numbers would say how many rows are hidden, or not say which document is meant
        raise InputError(f"{path} has no column of ids: name it with --id-column.")
    made = fingerprint(
        plan, open_inputs([table]), pages.columns, statistics=statistics, threads=pages.threads,
        folder=values["work_dir"],
    )  # fmt: skip
    quality, time, url = (_column(table, name) for name in (extra.quality, extra.time, extra.url))
    return [
        Document(
            made.ids[n],
            int.from_bytes(made.of(n), "little") if made.present[n] else None,
            readers[number],
            moment(time[n]) or 0.0,
            int(made.lengths[n]),
            read_quality(quality[n], made.ids[n]),
            None if url[n] is None else str(url[n]),
        )
        for n, number in enumerate(visible)
    ]


def _table(path: str, sources: Any, problems: Problems) -> pa.Table:
    batches = [batch.columns for source in sources for batch in source.read(None, problems)]
    if not batches:
        raise InputError(f"{path} has no documents.")
    return pa.concat_tables(
        [pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive"
    )


def _column(table: pa.Table, name: str | None) -> list[Any]:
    return [None] * len(table) if name is None else table.column(name).to_pylist()
