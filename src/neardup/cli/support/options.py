"""Options that commands share, and the values that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from neardup.cli.support.groups import grouped
from neardup.errors import OutputError
from neardup.text import HtmlText

if TYPE_CHECKING:
    from neardup.documents import Limits
    from neardup.engines.core.documents import InputColumns

Command = Callable[..., Any]

html_text_option = click.option(
    "--html-text",
    type=click.Choice(get_args(HtmlText)),
    metavar="PART",
    default="visible",
    show_default=True,
    help="The part of HTML to compare: " + ", ".join(get_args(HtmlText)) + ".",
)

text_options = grouped(
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
    html_text_option,
    click.option("--format", metavar="FORMAT", help="The format, if it cannot be detected from the file name."),
)  # fmt: skip

json_option = grouped(
    "Output", click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary.")
)

input_options = grouped(
    "Input",
    text_options,
    click.option(
        "--duplicate-ids",
        type=click.Choice(["error", "rename"]),
        metavar="error|rename",
        default="error",
        show_default=True,
        help="Stop at a repeated id, or rename it.",
    ),
    click.option("--strict", is_flag=True, help="Stop at the first bad record instead of counting it."),
    click.option("--max-record", metavar="SIZE", help="Skip longer records (a quarter for csv).  [default: 1G]"),
    click.option(
        "--max-expansion",
        type=float,
        metavar="N",
        help="Stop at a file of N times its size unpacked.  [default: 1000]",
    ),
    click.option("--max-decompressed", metavar="SIZE", help="Stop at a file of this size unpacked.  [default: 1T]"),
    click.option("--unescape-formulas", is_flag=True, help="Remove the ' that neardup put before csv formulas."),
    grouped(
        "Resources",
        click.option("--threads", type=int, metavar="N", help="Threads to use.  [default: all processors]"),
        click.option("--work-dir", metavar="DIR", help="The folder for temporary texts.  [default: the output folder]"),
    ),
    json_option,
)  # fmt: skip

statistics_options = grouped(
    "Method",
    click.option("--stats", metavar="FILE", help="Document frequencies (neardup stats build).  [default: of INPUT]"),
    click.option(
        "--df-unit",
        metavar="UNIT",
        help="Unit of document frequency: texts, clusters, COLUMN, host:COLUMN.  [default: the method's own]",
    ),
)  # fmt: skip

resume_options = grouped(
    "Resources",
    click.option("--memory", metavar="SIZE", help="Memory to use, such as 4G.  [default: half of what is available]"),
    click.option("--resume", is_flag=True, help="Continue the same command where it was stopped or killed."),
    click.option(
        "--checkpoint",
        type=click.FloatRange(min=0),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="The work that a killed run may lose.",
    ),
)  # fmt: skip

decide_option = grouped(
    "Decision",
    click.option(
        "--decide",
        type=click.Choice(["similarity", "containment"]),
        metavar="MEASURE",
        default="similarity",
        show_default=True,
        help="The measure that must reach the threshold: similarity or containment.",
    ),
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
