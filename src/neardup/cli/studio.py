"""neardup studio: a local web application to review a result, move its threshold, and label documents."""

from __future__ import annotations

from pathlib import Path

import click

from neardup.cli.support import options
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.errors import InputError, MissingExtra


@click.command(cls=GroupedCommand)
@click.argument("target", metavar="DIR|CORPUS|INDEX")
@click.option("-o", "--output", metavar="DIR", help="With CORPUS: where dedup writes its result first.")
@click.option("--compare", metavar="DIR2", help="Another result, to be compared pair by pair.")
@options.count("--port", "Port to listen on; 0: any free one.", 8486, most=65535)
@click.option("--browser/--no-browser", default=True, help="Open the browser.")
@grouped(
    "Input",
    options.value("--by COLUMN", "Where documents come from.  [default: source, site, …, url]"),
    options.value("--date-column NAME", "Column of dates.  [default: date, published, …, year]"),
)
def command(
    target: str,
    output: str | None,
    compare: str | None,
    port: int,
    browser: bool,
    by: str | None,
    date_column: str | None,
) -> None:
    """Review and label in the browser: clusters of a result in order of risk, other thresholds, another result.

    DIR is an output of dedup. Decisions are stored at once in DIR/decisions.db, and `neardup dedup --decisions` or the
    button Apply follows them. CORPUS is deduplicated first, with the defaults of dedup. Of an INDEX, documents and
    their neighbours are shown. The studio listens on this machine alone; only the address that it prints opens it.

    \b
    Examples:
      neardup studio clean
      neardup studio clean --compare stricter --no-browser
      neardup studio news.jsonl -o clean
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra(str(error.name), "studio", "neardup studio") from error
    from neardup.studio.app_server import serve
    from neardup.studio.app_target import open_target

    if output is not None:
        _deduplicate(target, output)
        target = output
    elif Path(target).is_file():
        raise InputError(f"{target} has documents: give -o DIR, where dedup writes its result first.")
    opened = open_target(target, compare=compare, by=by, date=date_column)
    serve(opened, port, browser=browser, say=click.echo)


def _deduplicate(corpus: str, output: str) -> None:
    """Runs dedup with its defaults, unless the folder has a result already."""
    from neardup.cli.dedup import command as dedup

    if (Path(output) / "report.json").exists():
        click.echo(f"{output} has a result: it is shown as it is.", err=True)
        return
    dedup.main([corpus, "-o", output], standalone_mode=False)
