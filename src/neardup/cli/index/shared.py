"""What the commands about an index share: how it is opened, and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import grouped
from neardup.errors import NoDocuments

if TYPE_CHECKING:
    from neardup.cli.support.options import OpenInputs
    from neardup.index.index import Index

index_argument = click.argument("folder", metavar="INDEX")
threshold = grouped(
    "Decision",
    options.value(
        "--threshold NUMBER", "A higher threshold than that of the index.", type=float, show_default=False
    ),
)
json_lines = grouped(
    "Output", click.option("--json", "as_json", is_flag=True, help="Print one JSON value a line.")
)
memory = grouped(
    "Resources",
    options.value("--memory SIZE", "Memory to use, such as 4G.  [default: half of available memory]"),
)
refresh_after = options.count(
    "--refresh-after",
    "Count document frequencies again after N new documents; 0: never.  [default: 1000000, or as before]",
)


def open_index(folder: str, values: dict[str, Any] | None = None, **settings: Any) -> Index:
    """The index that a command line names, with the resources of its options."""
    from neardup.index.index import Index

    for name in ("threads", "memory", "work_dir"):
        if values is not None and values.get(name) is not None:
            settings[name] = values[name]
    return Index(folder, **settings)


def refuse_empty(documents: int, pages: OpenInputs) -> None:
    """Refuses an input without documents."""
    if not documents:
        first = str(pages.problems.first[0]) if pages.problems.first else ""
        raise NoDocuments((source.name for source in pages.sources[:3]), first)
