"""A result list as documents with fingerprints: what the reader may not see is dropped before it is looked at."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from neardup.cli.options import column_options, reading_options
from neardup.clusters.keep import moment
from neardup.documents import Problems, open_inputs
from neardup.errors import InputError
from neardup.plan import Plan
from neardup.search.fingerprints import fingerprint
from neardup.search.results import Document, Readers, may_see
from neardup.statistics import Statistics


def ranked_documents(
    path: str, plan: Plan, groups: list[str], values: dict[str, Any], statistics: Statistics | None = None
) -> list[Document]:
    """The documents of a file that someone of these groups may see, in order."""
    table = _table(path, values)
    names = {key: values[f"{key}_column"] for key in ("readers", "quality", "time")}
    for name in filter(None, names.values()):
        if name not in table.column_names:
            raise InputError(
                f"{path} has no column {name!r}; its columns are {', '.join(table.column_names)}"
            )
    readers = [_readers(value) for value in _column(table, names["readers"])]
    visible = [number for number, some in enumerate(readers) if may_see(groups, some)]
    if not visible:
        return []
    table = table.take(pa.array(visible))
    columns = column_options(values)
    made = fingerprint(plan, open_inputs([table]), columns, statistics=statistics)
    quality, time = _column(table, names["quality"]), _column(table, names["time"])
    return [
        Document(
            made.ids[n],
            int.from_bytes(made.of(n), "little") if made.present[n] else None,
            readers[number],
            moment(time[n]) or 0.0,
            int(made.lengths[n]),
            None if quality[n] is None else float(quality[n]),
        )
        for n, number in enumerate(visible)
    ]


def _table(path: str, values: dict[str, Any]) -> pa.Table:
    sources = open_inputs([path], **reading_options(values))
    batches = [batch.columns for source in sources for batch in source.read(None, Problems())]
    if not batches:
        raise InputError(f"There are no documents in {path}.")
    return pa.Table.from_batches(batches)


def _column(table: pa.Table, name: str | None) -> list[Any]:
    return [None] * len(table) if name is None else table.column(name).to_pylist()


def _readers(value: Any) -> Readers:
    """Groups from a list, or from a text with commas; nothing given means everybody."""
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    found = frozenset(str(part).strip() for part in parts if str(part).strip())
    return found or None
