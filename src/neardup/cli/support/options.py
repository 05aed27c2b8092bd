"""Options that commands share, each declared once, and the values that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click

from neardup.cli.support.groups import grouped
from neardup.errors import OutputError
from neardup.text import HtmlText

if TYPE_CHECKING:
    from neardup.documents import Inputs, Limits, Problems
    from neardup.engines.core.documents import InputColumns

Command = Callable[..., Any]
Option = Callable[[Command], Command]


def choice(flag: str, choices: Sequence[str], help: str, default: str | None = None) -> Option:
    """An option that takes one of these words, the first one unless another is the default."""
    default = default or choices[0]
    return click.option(
        flag, type=click.Choice(choices), metavar="|".join(choices), default=default, help=help
    )


def count(flag: str, help: str, default: int | None = None, least: int = 0) -> Option:
    """An option that takes a whole number."""
    return click.option(flag, type=click.IntRange(least), default=default, metavar="N", help=help)


def output(metavar: str, help: str) -> Option:
    """-o, and --force to overwrite."""
    return grouped(
        "Output",
        click.option("-o", "--output", required=True, metavar=metavar, help=help),
        click.option("--force", is_flag=True, help="Overwrite an existing result."),
    )


inputs = click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")

text = grouped(
    "Input",
    click.option(
        "--text-column", metavar="NAME", help="The text.  [default: text, content, contents, body or html]"
    ),
    click.option(
        "--id-column", metavar="NAME", help="The id.  [default: id, doc_id, url or path; else file and number]"
    ),
    click.option(
        "--html/--no-html", default=None, help="The text column is HTML.  [default: if it is called html]"
    ),
    click.option(
        "--html-text", type=click.Choice(get_args(HtmlText)), metavar="PART", default="visible",
        help="The part of HTML to compare: " + ", ".join(get_args(HtmlText)) + ".",
    ),
    click.option("--format", metavar="FORMAT", help="The format, if it cannot be detected from the file name."),
)  # fmt: skip

as_json = grouped(
    "Output", click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary.")
)

reading = grouped(
    "Input",
    text,
    choice("--duplicate-ids", ["error", "rename"], "Stop at a repeated id, or rename it."),
    click.option("--strict", is_flag=True, help="Stop at the first bad record instead of counting it."),
    click.option("--max-record", metavar="SIZE", help="Skip longer records (a quarter for csv).  [default: 1G]"),
    click.option(
        "--max-expansion", type=float, metavar="N",
        help="Stop at a file of N times its size unpacked.  [default: 1000]",
    ),
    click.option("--max-decompressed", metavar="SIZE", help="Stop at a file of this size unpacked.  [default: 1T]"),
    click.option("--unescape-formulas", is_flag=True, help="Remove the ' that neardup put before csv formulas."),
    grouped(
        "Resources",
        click.option("--threads", type=int, metavar="N", help="Threads to use.  [default: all processors]"),
        click.option("--work-dir", metavar="DIR", help="The folder for temporary texts.  [default: the output folder]"),
    ),
    as_json,
)  # fmt: skip

statistics = grouped(
    "Method",
    click.option("--stats", metavar="FILE", help="Document frequencies (neardup stats build).  [default: of INPUT]"),
    click.option(
        "--df-unit", metavar="UNIT",
        help="Unit of document frequency: texts, clusters, COLUMN, host:COLUMN.  [default: the method's own]",
    ),
)  # fmt: skip

resume = grouped(
    "Resources",
    click.option("--memory", metavar="SIZE", help="Memory to use, such as 4G.  [default: half of what is available]"),
    click.option("--resume", is_flag=True, help="Continue the same command where it was stopped or killed."),
    click.option(
        "--checkpoint", type=click.FloatRange(min=0), default=5.0, metavar="SECONDS",
        help="The work that a killed run may lose.",
    ),
)  # fmt: skip

decide = grouped(
    "Decision",
    choice(
        "--decide", ["similarity", "containment"], "The measure that must reach the threshold.",
    ),
)  # fmt: skip

engine = grouped(
    "Engine",
    choice("--engine", ["local", "spark"], "This machine, or Spark."),
    click.option("--master", metavar="URL", help="Where Spark runs.  [default: local[*]]"),
    click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark."),
)

run = grouped("Input", resume, reading, statistics, engine)  # of a command that runs on either engine

attributes = grouped(
    "Input",
    click.option(
        "--access-column", metavar="NAME",
        help="The groups with access: a list, or names joined by commas. Null: everybody; empty: nobody.",
    ),
    click.option("--quality-column", metavar="NAME", help="The quality scores: numbers, best highest."),
    click.option("--time-column", metavar="NAME", help="The dates."),
    click.option("--url-column", metavar="NAME", help="The URLs."),
)  # fmt: skip

labels = grouped(
    "Labels",
    click.option(
        "--labels", required=True, type=click.Path(exists=True), metavar="FILE",
        help="A table of clusters or judged pairs, or a folder.",
    ),
)  # fmt: skip

judgement = grouped(
    "Labels",
    click.option(
        "--positive-from", type=float, default=1.0, metavar="GRADE",
        help="The least grade of a near-duplicate, if judged pairs have grades.",
    ),
    click.option(
        "--undecided", metavar="FILE",
        help="A table of cluster_a and cluster_b whose pairs of documents are left out.",
    ),
    click.option(
        "--goal", default="f1", metavar="GOAL",
        help="The goal of the best threshold: f1, mcc, precision=P (most recall with that precision) or recall=R.",
    ),
)  # fmt: skip


def judging(bootstrap: int) -> Option:
    """The options of a command that judges by labels, with this number of bootstrap samples by default."""
    return grouped(
        "Labels",
        judgement,
        count("--splits", "Halvings of the clusters: the threshold of one half is applied to the other.", 5),
        count("--bootstrap", "Samples of clusters for the 95 % intervals; 0 leaves them out.", bootstrap),
    )


def new_file(name: str, force: bool, endings: tuple[str, ...] = ()) -> Path:
    """Where a file goes that a command makes; refused before the work rather than after."""
    path = Path(name)
    if endings and path.suffix.lower() not in endings:
        raise OutputError(f"{name} must end in {endings[0]}")
    if path.exists() and not force:
        raise OutputError(f"{name} exists already: --force overwrites it")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist")
    return path


class OpenInputs(NamedTuple):
    """The inputs of a command, and how to read them."""

    sources: Inputs
    columns: InputColumns
    problems: Problems
    threads: int


def open_inputs(inputs: Sequence[str], values: dict[str, Any]) -> OpenInputs:
    """The inputs of a command line, opened with its reading options."""
    from neardup import documents
    from neardup.workers import checked_threads

    threads, columns = checked_threads(values["threads"]), taken_columns(values)
    sources = documents.open_inputs(list(inputs), **reading_options(values))
    return OpenInputs(sources, columns, documents.Problems(strict=values["strict"]), threads)


def taken_columns(values: dict[str, Any]) -> InputColumns:
    """Which columns of the input mean what."""
    from neardup.engines.core.documents import InputColumns

    names = ("text_column", "id_column", "html", "duplicate_ids", "html_text")
    return InputColumns(*(values[name] for name in names))


def reading_options(values: dict[str, Any]) -> dict[str, Any]:
    """How inputs are opened: their format, and the caps on what one file may ask of the machine."""
    return {
        "format": values["format"],
        "limits": _limits(values),
        "unescape_formulas": values["unescape_formulas"],
        "html_text": values["html_text"],
    }


def _limits(values: dict[str, Any]) -> Limits:
    from neardup.documents import LIMITS, Limits, size_in_bytes

    record, expansion = values["max_record"], values["max_expansion"]
    decompressed = values["max_decompressed"]
    return Limits(
        LIMITS.record if record is None else size_in_bytes(record, "max_record"),
        LIMITS.expansion if expansion is None else expansion,
        LIMITS.decompressed if decompressed is None else size_in_bytes(decompressed, "max_decompressed"),
    )
