"""neardup study: the papers' tables and figures, reproduced on a local copy of the data."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.errors import OutputError
from neardup.output import reason, whole_file

if TYPE_CHECKING:
    from neardup.evaluate.studies.registry import StudyTable

PATH = click.Path(path_type=Path)


@click.group()
def command() -> None:
    """Reproduce the papers' tables and figures, ours beside theirs.

    \b
    Examples:
      neardup study list
      neardup study run spotsigs_table_1 --data data
      neardup study run 'andd_*' -o andd.md --plots figures
    """


@command.command("list")
def list_studies() -> None:
    """List the studies, and the data that each needs.

    \b
    Example:
      neardup study list
    """
    from neardup.evaluate.studies.data import DataFolder
    from neardup.evaluate.studies.registry import studies

    data = DataFolder()
    for one in studies().values():
        absent = [name for name in one.needs if data.missing(name)]
        state = f"  (missing data: {', '.join(absent)})" if absent else ""
        click.echo(f"{one.name:28} {one.source}: {one.summary}{state}")


@command.command("run")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--data",
    type=PATH,
    help="The folder of labelled collections.  [default: $NEARDUP_DATA, or ../shared/data]",
)
@options.count("--threads", "The number of threads.  [default: one for each processor]", least=1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of Markdown.")
@click.option("--plots", type=PATH, metavar="DIR", help="Draw figures into this folder, as .png files.")
@click.option("-o", "--output", type=PATH, help="Write to a file instead of the terminal.")
def run_studies(
    names: tuple[str, ...], data: Path | None, threads: int | None, as_json: bool, plots: Path | None,
    output: Path | None,
) -> None:  # fmt: skip
    """Run studies by name or pattern ('andd_*'), or all of them with 'all'.

    \b
    Example:
      neardup study run 'andd_*' -o andd.md --plots figures
    """
    from neardup.evaluate.studies.data import DataFolder, default_folder
    from neardup.evaluate.studies.registry import find_studies

    if output is not None and not output.parent.is_dir():  # found out now, not after hours
        raise OutputError(f"{output} cannot be written: the folder {output.parent} does not exist")
    folder = DataFolder(data or default_folder())
    if threads is not None:
        folder.threads = threads
    chosen = find_studies(names)
    parts: list[Any] = []
    for one in chosen:
        for need in one.needs:
            folder.require(need)
        start = time.perf_counter()
        tables = one.run(folder)
        seconds = time.perf_counter() - start
        click.echo(f"{one.name}: {seconds:.1f} s", err=True)
        _draw(tables, one.name, plots)
        parts += (
            [as_dict(one.name, table) for table in tables]
            if as_json
            else [as_markdown(table) for table in tables]
        )
    text = json.dumps(parts, indent=2, ensure_ascii=False) if as_json else "\n\n".join(parts)
    if output is None:
        click.echo(text)
    else:
        try:
            with whole_file(output) as aside:
                aside.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{output} cannot be written: {reason(error)}") from None


def _draw(tables: list[StudyTable], name: str, folder: Path | None) -> None:
    """Draw the tables that are figures, if requested."""
    if folder is None:
        return
    from neardup.evaluate.study_plots import plot_table

    folder.mkdir(parents=True, exist_ok=True)
    figures = [table for table in tables if table.plot]
    if not figures:
        click.echo(f"{name}: no figure to draw: its tables have no curve", err=True)
    for number, table in enumerate(figures, 1):
        target = folder / (f"{name}.png" if len(figures) == 1 else f"{name}_{number}.png")
        click.echo(f"{name}: {plot_table(target, table)}", err=True)


def as_dict(name: str, table: StudyTable) -> dict[str, Any]:
    """A table as plain values."""
    return {
        "study": name,
        "title": table.title,
        "columns": list(table.columns),
        "rows": [list(row) for row in table.rows],
        "notes": list(table.notes),
    }


def as_markdown(table: StudyTable) -> str:
    """A table in Markdown, with its notes."""
    lines = [f"### {table.title}", "", _row(table.columns), _row("---" for _ in table.columns)]
    lines += [_row(map(show, row)) for row in table.rows]
    return "\n".join([*lines, *(["", *(f"- {note}" for note in table.notes)] if table.notes else [])])


def _row(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def show(value: Any) -> str:
    """A cell: floats with three decimals, counts with separators."""
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
