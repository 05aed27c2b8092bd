"""neardup sources: who copies from whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.escapes import escape_controls
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.review.copies import CopiesBySource

SHOWN = 10  # lines on the terminal


@click.command(cls=GroupedCommand)
@click.argument("folder", metavar="DIR")
@grouped(
    "Options",
    options.value("--by COLUMN", "Where documents come from.  [default: source, site, …, url]"),
)
@grouped(
    "Output",
    options.value("-o FILE", "Also write a table (.csv) or a page with a heat map (.html)."),
    options.flag("--force", "Overwrite an existing file."),
)
@options.as_json
def command(folder: str, by: str | None, o: str | None, force: bool, as_json: bool) -> None:
    """Count how many documents each source copies from each other one, from a result of dedup in DIR.

    A removed document counts for its own source, which copies, and for the source of the document that it duplicates.
    Which of the two stays is what the keep policy of the run says: with --keep oldest:date, the one that was first.
    Addresses count by host, senders of mail by their address. The largest clusters are listed with the number of their
    sources: an issue of a newsletter has one sender, a campaign of spam has many.

    \b
    Examples:
      neardup sources clean --by subject
      neardup sources clean --by source -o copies.html
    """
    from neardup.review.copies import count_copies
    from neardup.review.folder import open_folder

    target = None if o is None else options.new_target(o, force, (".csv", ".html", ".htm"))
    found = count_copies(open_folder(folder), by)
    if target is not None:
        _write(target, found)
    total = sum(row.documents for row in found.rows)
    lines = [
        f"{counted(sum(found.documents.values()), 'document')} of {counted(len(found.documents), 'source')} "
        f"({escape_controls(found.column)}): {total:,} repeat another one"
    ]
    for row in found.rows[:SHOWN]:
        pair = f"{escape_controls(row.copies)} of {escape_controls(row.copied)}"
        lines.append(
            f"  {row.documents:>7,} by {pair}  ({row.share:.1%} of its documents, {row.exact:,} exact)"
        )
    if len(found.rows) > SHOWN:
        lines.append(f"  and {counted(len(found.rows) - SHOWN, 'more pair')} of sources")
    lines += _cluster_lines(found)
    if o is not None:
        lines.append(f"written to {o}")
    value: dict[str, Any] = {
        "column": found.column,
        "sources": found.documents,
        "copied": [vars(row) for row in found.rows],
        "clusters": [vars(row) for row in found.clusters],
    }
    emit(as_json, value, lines)


def _cluster_lines(found: CopiesBySource) -> list[str]:
    """How many clusters have one source, and the sources of the largest."""
    if not found.clusters:
        return []
    one = sum(row.sources == 1 for row in found.clusters)
    return [
        f"{counted(len(found.clusters), 'cluster')}: {one:,} of one source; the largest:",
        *(
            f"  {escape_controls(row.cluster)}: {counted(row.documents, 'document')} of "
            + (escape_controls(row.largest) if row.sources == 1 else f"{row.sources:,} sources")
            for row in found.clusters[:SHOWN]
        ),
    ]


def _write(target: str, found: Any) -> None:
    """The table or the page."""
    import pyarrow as pa

    from neardup.engines.local.write_tables import write_table
    from neardup.pages.heat_map import HeatMap, heat_map_page
    from neardup.remote_output import output_file

    with output_file(target, force=True) as path:
        if target.lower().endswith(".csv"):
            names = ("copies", "copied", "documents", "exact", "share")
            rows = {name: [getattr(row, name) for row in found.rows] for name in names}
            write_table(path, pa.table(rows), "csv")
        else:
            weight: dict[str, int] = {}
            for row in found.rows:
                weight[row.copies] = weight.get(row.copies, 0) + row.documents
                weight[row.copied] = weight.get(row.copied, 0) + row.documents
            shown = HeatMap(
                title=f"Who copies from whom, by {found.column}",
                sentence=f"{sum(row.documents for row in found.rows):,} of {sum(found.documents.values()):,} documents "
                "repeat another one.",
                names=sorted(weight, key=lambda name: (-weight[name], name)),
                counts={(row.copies, row.copied): row.documents for row in found.rows},
                shares={(row.copies, row.copied): row.share for row in found.rows},
                rows=[
                    (row.copies, row.copied, row.documents, row.exact, f"{row.share:.1%}")
                    for row in found.rows[:1000]
                ],
            )
            path.write_text(heat_map_page(shown), encoding="utf-8")
