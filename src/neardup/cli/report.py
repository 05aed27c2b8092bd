"""neardup report: the result of dedup as a page for people."""

from __future__ import annotations

import click

from neardup.cli.support import options
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.output import PAGE


@click.command(cls=GroupedCommand)
@click.argument("folder", metavar="DIR")
@grouped(
    "Output",
    click.option(
        "-o", "--output", metavar="FILE.html", help="The page to write.  [default: DIR/report.html]"
    ),
    options.flag("--force", "Overwrite an existing page."),
)
@grouped(
    "Input",
    options.value("--by COLUMN", "Count documents by this column.  [default: source, site, …, url]"),
    options.value("--date-column NAME", "Column of dates.  [default: date, published, …, year]"),
)
def command(folder: str, output: str | None, force: bool, by: str | None, date_column: str | None) -> None:
    """Write a page about the result of dedup in DIR, to look at before documents are given up.

    The page is one HTML file without network access: the riskiest removals with their texts side by side, similarities
    and thresholds, clusters, documents by source and date, problems, time and memory. Texts come from the documents in
    DIR, or from the input if DIR has none.

    \b
    Examples:
      neardup report clean
      neardup report clean -o review.html --by subject --date-column date
    """
    from neardup.review.folder import open_folder
    from neardup.review.report import write_report

    finished = open_folder(folder)
    page = options.new_file(output or str(finished.path / PAGE), force, (".html", ".htm"))
    write_report(finished, page, by=by, date=date_column, force=force)
    click.echo(f"Report written to {page}.")
