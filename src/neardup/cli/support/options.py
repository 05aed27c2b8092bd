"""Options of the commands, made from the registry: whatever a method can be told is an option here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from neardup.documents import LIMITS, Limits, size_in_bytes
from neardup.errors import OutputError, ParameterError
from neardup.plan import Plan
from neardup.registry import ALIASES, Parameter, get_method, methods
from neardup.registry import presets as known_presets
from neardup.text.article import HtmlText

if TYPE_CHECKING:
    from neardup.engines.core.documents import InputColumns

Command = Callable[..., Any]


def input_options(command: Command) -> Command:
    """Adds what every command that reads a corpus takes."""
    detected = "[default: text, content, contents, body or html]"
    numbered = "[default: id, doc_id, url or path; else file and number]"
    options: list[Callable[[Command], Command]] = [
        click.option("--text-column", metavar="NAME", help=f"The column to compare.  {detected}"),
        click.option("--id-column", metavar="NAME", help=f"The column of ids.  {numbered}"),
        click.option(
            "--html/--no-html",
            default=None,
            help="The text column is HTML: compare what a reader sees.  [default: if it is called html]",
        ),
        html_text_option,
        click.option("--format", metavar="FORMAT", help="The format of INPUT, where its name does not tell."),
        click.option(
            "--duplicate-ids",
            type=click.Choice(["error", "rename"]),
            default="error",
            show_default=True,
            help="What to do when an id occurs twice: stop, or rename the second one and report it.",
        ),
        click.option(
            "--max-record",
            metavar="SIZE",
            help="Skip records longer than this; a quarter for csv.  [default: 1G]",
        ),
        click.option(
            "--max-expansion",
            type=float,
            metavar="N",
            help="Stop reading a file that gives more than N times its size, and 1 GB.  [default: 1000]",
        ),
        click.option(
            "--max-decompressed",
            metavar="SIZE",
            help="Stop reading a file that gives more than this.  [default: 1T]",
        ),
        click.option(
            "--unescape-formulas",
            is_flag=True,
            help="INPUT is csv that neardup wrote: take back its apostrophes before formulas.",
        ),
        click.option("--threads", type=int, metavar="N", help="Threads to use.  [default: all processors]"),
        click.option(
            "--work-dir",
            metavar="DIR",
            help="Where texts are kept while running, as large as they are.  [default: the output folder, or the "
            "temporary folder where there is none]",
        ),
        click.option(
            "--stats",
            metavar="FILE",
            help="Document frequencies of a background collection (neardup stats build), for methods that weigh "
            "by them.  [default: counted over INPUT]",
        ),
        click.option(
            "--df-unit",
            metavar="GROUP",
            help="What counts once where frequencies are counted over INPUT: contents, clusters (of a first run), "
            "COLUMN (each of its values) or host:COLUMN.  [default: as the method says]",
        ),
        click.option("--strict", is_flag=True, help="Stop at the first bad record instead of counting it."),
        click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


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


def html_text_option(command: Command) -> Command:
    """Adds what is compared of HTML."""
    return click.option(
        "--html-text",
        type=click.Choice(get_args(HtmlText)),
        default="visible",
        show_default=True,
        help="What to compare of HTML, in a column or in files: all that is visible; its article, without menus, "
        "teasers and comments; or what another extractor takes for that. Pages without one are counted, and "
        "compared by all that is visible.",
    )(command)


def taken_columns(values: dict[str, Any]) -> InputColumns:
    """Which columns of the input mean what."""
    from neardup.engines.core.documents import InputColumns

    names = ("text_column", "id_column", "html", "duplicate_ids", "html_text")
    return InputColumns(*(values[name] for name in names))


def resume_options(command: Command) -> Command:
    """Adds what commands take that can go on where they were stopped."""
    options = [
        click.option(
            "--memory",
            metavar="SIZE",
            help="Memory to use, such as 500M or 4G; what does not fit waits in the work folder.  [default: half of "
            "what is available]",
        ),
        click.option(
            "--resume",
            is_flag=True,
            help="Go on where an earlier run of the same command was stopped or killed, if one was.",
        ),
        click.option(
            "--checkpoint",
            type=click.FloatRange(min=0),
            default=5.0,
            show_default=True,
            metavar="SECONDS",
            help="How much work may be lost when the run is killed.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def reading_options(values: dict[str, Any]) -> dict[str, Any]:
    """How inputs are opened: their format, and the caps on what one file may ask of the machine."""
    return {
        "format": values["format"],
        "limits": _limits(values),
        "unescape_formulas": values["unescape_formulas"],
        "html_text": values["html_text"],
    }


def _limits(values: dict[str, Any]) -> Limits:
    record, expansion = values["max_record"], values["max_expansion"]
    decompressed = values["max_decompressed"]
    return Limits(
        LIMITS.record if record is None else size_in_bytes(record, "max_record"),
        LIMITS.expansion if expansion is None else expansion,
        LIMITS.decompressed if decompressed is None else size_in_bytes(decompressed, "max_decompressed"),
    )


def decide_option(command: Command) -> Command:
    """Adds what decides on a pair."""
    return click.option(
        "--decide",
        type=click.Choice(["similarity", "containment"]),
        default="similarity",
        show_default=True,
        help="What must reach the threshold: the similarity of two documents, or the share of the smaller one that "
        "the larger one holds. All such pairs are found; the reason says which contains the other.",
    )(command)


def method_options(command: Command) -> Command:
    """Adds --method, --preset, and each parameter of each method under its own name and its aliases."""
    for name, (parameter, owners) in reversed(_all_parameters().items()):
        flags = [f"--{name.replace('_', '-')}"]
        flags += [
            f"--{other.replace('_', '-')}"
            for other, ours in ALIASES.items()
            if ours == name and len(other) > 1
        ]
        only = "" if len(owners) == len(methods()) else f"[{', '.join(owners)}] "
        command = click.option(*flags, name, metavar=_metavar(parameter), help=only + _help(parameter))(
            command
        )
    presets = ", ".join(known_presets())
    command = click.option("--preset", metavar="NAME", help=f"Settings that people know: {presets}.")(command)
    return click.option(
        "--method",
        default=None,
        metavar="NAME",
        help="One of: " + ", ".join(methods()) + ".  [default: minhash]",
    )(command)


def take_plan(values: dict[str, Any]) -> Plan:
    """The plan that the options describe; what belongs to it is taken out of `values`."""
    name, options = given_options(values)
    return get_method(name or "minhash").plan(**options)


def given_options(values: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The method that the options name, if any, and what they tell it; taken out of `values`."""
    name, preset = values.pop("method"), values.pop("preset")
    given = {key: values.pop(key) for key in _all_parameters()}
    options: dict[str, Any] = {}
    if preset is not None:
        options = dict(known_presets(preset))
        meant = options.pop("method", None)
        name = name or meant
    chosen = get_method(name or "minhash")
    for key, text in given.items():
        if text is None:
            continue
        if key not in chosen.parameters:
            raise ParameterError(
                key, chosen.name, f"one of its options ({', '.join(chosen.parameters)})", text
            )
        options[key] = chosen.parameters[key].read(text, chosen.name)
    return name, options


def _all_parameters() -> dict[str, tuple[Parameter, list[str]]]:
    found: dict[str, tuple[Parameter, list[str]]] = {}
    for name, method in methods().items():
        for parameter in method.parameters.values():
            found.setdefault(parameter.name, (parameter, []))[1].append(name)
    return found


def _metavar(parameter: Parameter) -> str:
    if parameter.choices:
        return "|".join(parameter.choices)
    return {float: "NUMBER", int: "N", str: "TEXT", bool: "true|false"}[parameter.kind]


def _help(parameter: Parameter) -> str:
    default = "chosen" if parameter.default is None else parameter.default
    return f"{parameter.help}  [default: {default}]"
