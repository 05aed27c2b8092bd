"""Options that commands share, each declared once, and the values that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click

from neardup.cli.support.groups import grouped, seldom
from neardup.errors import InputError, OutputError
from neardup.output import refuse_address
from neardup.plurals import listed_names
from neardup.remote import is_address
from neardup.remote_output import output_folder, split_target
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


def value(declared: str, help: str, **settings: Any) -> Option:
    """An option that takes a value, declared as its help shows it: '--format FORMAT'."""
    flag, metavar = declared.split(" ", 1)
    return click.option(flag, metavar=metavar, help=help, **settings)


def flag(name: str, help: str) -> Option:
    """An option that is given or not."""
    return click.option(name, is_flag=True, help=help)


class NumberOption(click.Option):
    """An option whose help does not spell out its range: a number outside is refused with it."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        """The default alone."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The number; NaN is outside every range, though it compares with none."""
        number = super().type_cast_value(ctx, value)
        if number is not None and number != number:
            raise click.BadParameter("nan is not a number.", ctx, self)
        return number


def count(
    flag: str, help: str, default: int | None = None, least: int = 0, most: int | None = None
) -> Option:
    """An option that takes a whole number."""
    span = click.IntRange(least, most)
    return click.option(flag, cls=NumberOption, type=span, default=default, metavar="N", help=help)


def local_path(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """The path that was given, unless it is an address such as s3://bucket."""
    refuse_address(value)
    return value


def output(metavar: str, help: str, *, remote: bool = False) -> Option:
    """-o, and --force to overwrite; `remote` commands also write to addresses."""
    callback = None if remote else local_path
    return grouped(
        "Output",
        click.option("-o", "--output", required=True, metavar=metavar, help=help, callback=callback),
        flag("--force", "Overwrite an existing result."),
    )


inputs = click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")

text = grouped(
    "Input",
    value("--text-column NAME", "Column of texts.  [default: text, content, contents, body, html]"),
    value("--id-column NAME", "Column of ids.  [default: id, doc_id, url, path; else file:number]"),
    seldom(
        click.option(
            "--html/--no-html", default=None, help="The text column is HTML.  [default: if it is called html]"
        )
    ),
    value(
        "--html-text PART",
        "The part of HTML to compare: " + ", ".join(get_args(HtmlText)) + ".",
        type=click.Choice(get_args(HtmlText)),
        default="article",
    ),
    seldom(value("--format FORMAT", "The format, if it cannot be detected from the file name.")),
)

as_json = grouped(
    "Output", click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary.")
)

reading = grouped(
    "Input",
    text,
    seldom(
        value("--delimiter CHAR", "Of csv: one character, or tab.  [default: detected]"),
        value("--encoding NAME", "Of text files, such as cp1252.  [default: detected]"),
        value("--columns A,B,…", "The names of csv columns, if files have no header."),
        choice("--duplicate-ids", ["error", "rename"], "Stop at a repeated id, or rename it."),
    ),
    flag("--strict", "Stop at the first bad record."),
    seldom(
        value("--max-record SIZE", "Skip larger records (csv: above a quarter of it).  [default: 1G]"),
        value(
            "--max-expansion N",
            "Stop at a file that unpacks to N times its size.  [default: 1000]",
            type=float,
        ),
        value("--max-decompressed SIZE", "Stop at a file that unpacks to more.  [default: 1T]"),
        flag("--unescape-formulas", "Remove the ' that neardup put before csv formulas."),
    ),
    grouped(
        "Resources",
        value("--threads N", "Threads to use.  [default: all processors]", type=int),
        seldom(value("--work-dir DIR", "The folder for temporary files.  [default: the output folder]")),
    ),
    as_json,
)

statistics = grouped(
    "Method",
    seldom(
        value("--stats FILE", "Document frequencies (neardup stats build).  [default: of INPUT]"),
        value(
            "--df-unit UNIT",
            "Unit of document frequency: texts, clusters, COLUMN, host:COLUMN.  [default: the method's own]",
        ),
    ),
)

resume = grouped(
    "Resources",
    value("--memory SIZE", "Memory to use, such as 4G.  [default: half of available memory]"),
    flag("--resume", "Continue a run that was stopped or killed."),
    seldom(
        value(
            "--checkpoint SECONDS",
            "Save finished work this often.",
            cls=NumberOption,
            type=click.FloatRange(min=0),
            default=5.0,
        ),
    ),
)

numbers = grouped(
    "Decision",
    choice("--numbers", ["words", "separate"], "Numbers are words, or keep texts apart that differ in them."),
)

decide = grouped(
    "Decision",
    choice("--decide", ["similarity", "containment"], "The measure that must reach the threshold."),
    numbers,
    seldom(
        value(
            "--normalize STEPS",
            "Compare text without these differences, beside case: some of nfkc, accents, digits, punctuation, joined "
            "by commas.",
        ),
    ),
)


def pairs(default: str) -> Option:
    """--pairs, with this default."""
    text = "Compare the pairs that clusters need, or all (quadratic)."
    return grouped("Decision", seldom(choice("--pairs", ["clusters", "all"], text, default)))


engine = grouped(
    "Engine",
    choice("--engine", ["local", "spark"], "Run on this machine, or on Spark."),
    seldom(
        value("--master URL", "The Spark master.  [default: local[*]]"),
        value("--conf KEY=VALUE", "A Spark setting; repeatable.", multiple=True),
    ),
)

run = grouped("Input", resume, reading, statistics, engine)  # of a command that runs on either engine

attributes = grouped(
    "Input",
    value(
        "--access-column NAME",
        "Column of groups with access: a list, or names joined by commas. Null: everybody; empty: nobody.",
    ),
    value("--quality-column NAME", "Column of quality scores, the highest best."),
    value("--time-column NAME", "Column of dates."),
    value("--url-column NAME", "Column of URLs."),
)

labels = grouped(
    "Labels",
    value("--labels FILE", "A table of clusters or judged pairs, or a folder.", required=True),
)

judgement = grouped(
    "Labels",
    seldom(
        value(
            "--positive-from GRADE",
            "The least grade of a near-duplicate, if judged pairs have grades.",
            type=float,
            default=1.0,
        ),
        value(
            "--duplicates LABEL,...",
            "Labels of pairs that count as near-duplicates: duplicate, containment, near.",
            default="duplicate,containment",
        ),
        value(
            "--document-labels FILE",
            "A table of id and label (yes, no, other, …): only documents that all raters label yes count.",
        ),
    ),
    value("--undecided FILE", "A table of cluster_a and cluster_b whose pairs of documents are left out."),
    value(
        "--goal GOAL",
        "The goal of the best threshold: f1, mcc, precision=P (most recall with at least that precision), "
        "recall=R, or wrong=W (at most that share of wrong removals).",
        default="f1",
    ),
)


time_column = value(
    "--time-column COLUMN",
    "A column of dates: hold labels out by time, so that the figures are those of later documents. Unless given, a "
    "column with a usual name, such as date; none: hold out at random.",
    default="auto",
)


def judging(bootstrap: int) -> Option:
    """The options of a command that judges by labels, with this number of bootstrap samples by default."""
    return grouped(
        "Labels",
        judgement,
        count(
            "--splits", "Times to halve the clusters: the threshold of one half is applied to the other.", 5
        ),
        count("--bootstrap", "Samples of clusters for the 95 % intervals; 0 leaves them out.", bootstrap),
    )


def new_file(name: str, force: bool, endings: tuple[str, ...] = ()) -> Path:
    """Where a file goes that a command makes on this machine; refused before the work rather than after."""
    refuse_address(name)
    path = with_ending(name, *endings)
    if path.exists() and not force:
        raise OutputError(f"{name} exists already: choose another output, or overwrite with --force")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist: create it first")
    return path


def new_target(name: str, force: bool, endings: tuple[str, ...] = ()) -> str:
    """The same for a file that may be remote."""
    if not is_address(name):
        return str(new_file(name, force, endings))
    with_ending(name, *endings)
    folder, last = split_target(name)
    with output_folder(folder, force=force) as output:
        output.file(last)
    return name


def target_file(name: str, *endings: str) -> tuple[Path | str, str, str]:
    """The folder, the name and the format of an output file that may be remote."""
    with_ending(name, *endings)
    folder, last = split_target(name)
    return folder, last, Path(last).suffix.lower()[1:]


def with_ending(name: str, *endings: str) -> Path:
    """The path of a file that must have one of these endings."""
    if endings and Path(name).suffix.lower() not in endings:
        formats = "the format that is written" if len(endings) == 1 else "the formats that can be written"
        raise OutputError(f"{name} must end in {listed_names(endings, 'or')}, {formats}")
    return Path(name)


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

    if not all(inputs):
        raise InputError("An INPUT has no name: give a file, a folder, a glob, or - for standard input.")
    threads, columns = checked_threads(values["threads"]), taken_columns(values)
    sources = documents.open_inputs(list(inputs), **reading_options(values))
    if values.get("unit") is not None:
        from neardup.engines.local.units.source import unit_inputs

        sources = unit_inputs(sources, columns, values["unit"])
    return OpenInputs(sources, columns, documents.Problems(strict=values["strict"]), threads)


def taken_columns(values: dict[str, Any]) -> InputColumns:
    """Which columns of the input mean what."""
    from neardup.engines.core.documents import InputColumns

    names = ("text_column", "id_column", "html", "duplicate_ids", "html_text")
    return InputColumns(*(values[name] for name in names))


def reading_options(values: dict[str, Any]) -> dict[str, Any]:
    """How inputs are opened: their format and dialect, and the caps on what one file may ask of the machine."""
    from neardup.documents.dialects import Dialect

    return {
        "format": values["format"],
        "limits": _limits(values),
        "unescape_formulas": values["unescape_formulas"],
        "html_text": values["html_text"],
        "dialect": Dialect.of(values["delimiter"], values["encoding"], values["columns"]),
    }


def _limits(values: dict[str, Any]) -> Limits:
    from neardup.documents import LIMITS, Limits, size_in_bytes

    record, expansion = values["max_record"], values["max_expansion"]
    decompressed = values["max_decompressed"]
    limits = Limits(
        LIMITS.record if record is None else size_in_bytes(record, "max_record"),
        LIMITS.expansion if expansion is None else expansion,
        LIMITS.decompressed if decompressed is None else size_in_bytes(decompressed, "max_decompressed"),
    )
    if "memory" not in values:
        return limits
    from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory

    return MemoryBudget(read_memory(values["memory"])).limited(limits)
