"""Writes the reference pages from the code: docs/reference/cli.md and docs/reference/methods.md.

Run by `make docs`. `tests/test_docs.py` fails while a page differs from what this writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import click

from neardup.cli import group
from neardup.registry import ALIASES, Method, methods, presets

FOLDER = Path(__file__).parent / "reference"
WIDTH = 100  # of the help texts, whatever terminal this runs in


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
    """Every command with its help."""
    yield from (note(), "# The command line", "")
    yield from ("What each command prints with `--help`.", "")
    top = click.Context(group, info_name="neardup", **settings())
    yield from help_block(group, top)
    for name in group.list_commands(top):
        command = group.get_command(top, name)
        assert command is not None
        yield from (f"## neardup {name}", "")
        context = click.Context(command, info_name=name, parent=top, **settings())
        yield from help_block(command, context)
        if isinstance(command, click.Group):
            for part, inner in sorted(command.commands.items()):
                yield from (f"### neardup {name} {part}", "")
                yield from help_block(
                    inner, click.Context(inner, info_name=part, parent=context, **settings())
                )


def settings() -> dict[str, object]:
    """How help is laid out: as the command does it, at a fixed width."""
    return {**group.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}


def help_block(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help text as it appears in a terminal."""
    lines = [line.rstrip() for line in command.get_help(context).splitlines()]
    yield from ("```text", *lines, "```", "")


def methods_page() -> Iterator[str]:
    """Every method with its parameters, the presets, and the names that other tools use."""
    yield from (note(), "# Methods", "")
    yield "A method is a choice for each step from documents to pairs. Its parameters are options of every"
    yield "command (`num_perm` is `--num-perm`) and keyword arguments of every function."
    yield ""
    for method in methods().values():
        yield from method_section(method)
    yield from presets_section()
    yield from aliases_section()


def method_section(method: Method) -> Iterator[str]:
    """One method."""
    yield from (f"## {method.name}", "", method.summary, "", method.description, "")
    rows = [
        (f"`{p.name}`", "chosen" if p.default is None else f"`{p.default}`", p.constraint, p.help)
        for p in method.parameters.values()
    ]
    yield from table(("parameter", "default", "must be", "meaning"), rows)


def presets_section() -> Iterator[str]:
    """The settings that people know."""
    yield from ("## Presets", "", "Settings of published corpora and other tools, for `--preset`:", "")
    rows = [
        (f"`{name}`", ", ".join(f"{key} = {value}" for key, value in options.items()))
        for name, options in presets().items()
    ]
    yield from table(("preset", "stands for"), rows)


def aliases_section() -> Iterator[str]:
    """What other tools call our parameters."""
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
