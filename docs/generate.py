"""Writes the reference pages from the code: docs/reference/cli.md and docs/reference/methods.md.

Run by `make docs`. `tests/test_docs.py` fails while a page differs from what this writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import click

from neardup.cli import group
from neardup.cli.support.groups import GROUPS, HELP_ALL, option_rows
from neardup.cli.support.groups import WIDTH as WIDTH_OF_OPTIONS
from neardup.registry import ALIASES, Method, methods, presets

FOLDER = Path(__file__).parent / "reference"
WIDTH = 100  # of the help texts, whatever terminal this runs in
Rows = dict[str, list[tuple[str, str]]]  # option and help, by group


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    return {"cli.md": join_lines(cli_page()), "methods.md": join_lines(methods_page())}


def join_lines(lines: Iterable[str]) -> str:
    """A page that ends in one line feed."""
    return "\n".join(lines).rstrip() + "\n"


def note() -> str:
    """The first line of each page; help texts are laid out by click, so its version belongs to them."""
    return f"<!-- Written by docs/generate.py (make docs) with click {click_version()}: do not edit. -->"


def click_version() -> str:
    """The version of click without its last part."""
    return ".".join(version("click").split(".")[:2])


def cli_page() -> Iterator[str]:
    """The options that commands share, then every command with its own."""
    yield from (note(), "# The command line", "")
    yield "The help of each command. Options that three commands or more have alike are listed once, below; the options"
    yield "of the methods are in [methods](methods.md). `neardup COMMAND --help` prints those that most people need,"
    yield "`neardup COMMAND --help-all` all of them."
    yield ""
    top = click.Context(group, info_name="neardup", **settings())
    yield from block(group.get_help(top))
    found = list(commands(group, top))
    shared = shared_options(found)
    yield from ("## Options that commands share", "")
    formatter = top.make_formatter()
    write_groups(formatter, shared)
    yield from block(formatter.getvalue().lstrip("\n"))
    for context in found:
        yield from command_section(context, shared)


def commands(parent: click.Group, above: click.Context) -> Iterator[click.Context]:
    """Every command in the order of the help, each before its subcommands."""
    for name in parent.list_commands(above):
        command = parent.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=above, **settings())
        yield context
        if isinstance(command, click.Group):
            yield from commands(command, context)


def shared_options(contexts: Iterable[click.Context]) -> Rows:
    """The options that at least three commands have, with the same help, by group."""
    times: dict[str, Counter[tuple[str, str]]] = {group: Counter() for group in GROUPS}
    for context in contexts:
        for name, records in rows_of(context).items():
            times.setdefault(name, Counter()).update(records)
    shared: Rows = {}
    for name, found in times.items():
        often = [record for record, count in found.items() if count >= 3]
        first = dict(reversed(often))  # of one option with several defaults, the first
        shared[name] = [record for record in often if first[record[0]] == record[1]]
    return shared


def rows_of(context: click.Context) -> Rows:
    """The options of a command by group, without those that show help."""
    helping = {*context.help_option_names, "--help", HELP_ALL}
    options = [one for one in context.command.get_params(context) if not helping & {*one.opts}]
    return option_rows(options, context)


def command_section(context: click.Context, shared: Rows) -> Iterator[str]:
    """A command: usage, description, examples, its own options, and the names of the shared ones."""
    yield from (f"{'#' * context.command_path.count(' ')}# {context.command_path}", "")
    if isinstance(context.command, click.Group):
        yield from block(context.command.get_help(context))
        return
    formatter = context.make_formatter()
    context.command.format_usage(context, formatter)
    context.command.format_help_text(context, formatter)
    rows = rows_of(context)
    own = {name: [row for row in found if row not in shared.get(name, ())] for name, found in rows.items()}
    write_groups(formatter, own)
    yield from block(formatter.getvalue())
    flags = [row[0] for name, found in rows.items() for row in found if row not in own[name]]
    if flags:
        names = ", ".join(f"`{flag.rpartition(', ')[2].split()[0]}`" for flag in flags)
        yield from (f"Shared options: {names}.", "")


def write_groups(formatter: click.HelpFormatter, rows: Rows) -> None:
    """The sections of groups that have options."""
    for name, records in rows.items():
        if records:
            with formatter.section(name):
                formatter.write_dl(records, col_max=WIDTH_OF_OPTIONS)


def settings() -> dict[str, object]:
    """How help is laid out: as the command does it, at a fixed width."""
    return {**group.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}


def block(text: str) -> Iterator[str]:
    """A help text as it appears in a terminal."""
    yield from ("```text", *(line.rstrip() for line in text.splitlines()), "```", "")


def methods_page() -> Iterator[str]:
    """Every method with its parameters, the presets, and the names that other tools use."""
    yield from (note(), "# Methods", "")
    yield "A method is a choice for each step from documents to pairs. Its parameters are options of every command"
    yield "that takes `--method` (`num_perm` is `--num-perm`) and keyword arguments of every function."
    yield ""
    known = methods()
    yield from table(known.HEADER, [(f"[{row[0]}](#{row[0]})", *row[1:]) for row in known.rows])
    yield "*By chance*: a pair is found with a probability that depends on its similarity; at other seeds, others are"
    yield "found. *Fast*: 15 MB of text a second on one core or more; *medium*: 5 MB or more, or more than linear in"
    yield "the number of documents; *slow*: less."
    yield ""
    for method in methods().values():
        yield from method_section(method)
    yield from presets_section()
    yield from aliases_section()


def method_section(method: Method) -> Iterator[str]:
    """One method."""
    yield from (f"## {method.name}", "", method.summary, "", method.description, "")
    rows = [
        (f"`{p.name}`", "–" if p.default is None else f"`{p.default}`", p.constraint, p.help)
        for p in method.parameters.values()
    ]
    yield from table(("parameter", "default", "must be", "meaning"), rows)


def presets_section() -> Iterator[str]:
    """The presets with their options."""
    yield from ("## Presets", "", "Options of published corpora and other tools, for `--preset`:", "")
    rows = [
        (f"`{name}`", ", ".join(f"{key} = {value}" for key, value in options.items()))
        for name, options in presets().items()
    ]
    yield from table(("preset", "stands for"), rows)


def aliases_section() -> Iterator[str]:
    """The names of other tools for our parameters."""
    yield from ("## Names that other tools use", "", "Accepted wherever ours are:", "")
    others: dict[str, list[str]] = {}
    for other, ours in ALIASES.items():
        others.setdefault(ours, []).append(f"`{other}`")
    yield from table(("ours", "theirs"), [(f"`{ours}`", ", ".join(names)) for ours, names in others.items()])


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A Markdown table."""
    for row in (header, ("---",) * len(header), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def main() -> None:
    """Write the pages that have changed."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(FOLDER.parent.parent)}")


if __name__ == "__main__":
    main()
