"""neardup studio: a local web application to review a result, move its threshold, and label documents."""

from __future__ import annotations

from pathlib import Path

import click

from neardup.cli.support import options
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.errors import InputError, MissingExtra


@click.command(cls=GroupedCommand)
@click.argument("target", metavar="DIR|INDEX")
@click.option("--compare", metavar="DIR2", help="Another result, to be compared pair by pair.")
@options.count("--port", "Port to listen on; 0: any free one.", 8486, most=65535)
@click.option("--browser/--no-browser", default=True, help="Open the browser.")
@grouped(
    "Input",
    options.value("--by COLUMN", "Where documents come from.  [default: source, site, …, url]"),
    options.value("--date-column NAME", "Column of dates.  [default: date, published, …, year]"),
)
def command(
    target: str, compare: str | None, port: int, browser: bool, by: str | None, date_column: str | None
) -> None:
    """Review and label in the browser: clusters of a result in order of risk, other thresholds, another result.

    DIR is an output of dedup. Decisions are stored at once in DIR/decisions.db, and `neardup dedup --decisions` or the
    button Apply follows them. The studio listens on this machine alone; only the address that it prints opens it.

    \b
    Examples:
      neardup studio clean
      neardup studio clean --compare stricter --no-browser
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra(str(error.name), "studio", "neardup studio") from error
    from neardup.studio.app_server import serve
    from neardup.studio.app_target import open_target

    if Path(target).is_file():
        raise InputError(
            f"{target} is a file of documents: run  neardup dedup {target} -o DIR  first, then  neardup studio DIR."
        )
    opened = open_target(target, compare=compare, by=by, date=date_column)
    serve(opened, port, browser=browser, say=click.echo)
