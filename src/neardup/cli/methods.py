"""neardup methods: a table of the methods, or the options of one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from neardup.cli.support import options

if TYPE_CHECKING:
    from neardup.registry import Method


@click.command()
@click.argument("name", required=False)
@options.as_json
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or describe the method NAME with its own options and defaults.

    \b
    Examples:
      neardup methods
      neardup methods minhash
    """
    from neardup.cli.support.units import PRESETS
    from neardup.recipes import recipe_lines
    from neardup.registry import Methods, get_method, methods, presets

    chosen = Methods({name: get_method(name)}) if name else methods()
    if as_json:
        click.echo(json.dumps([_describe(method) for method in chosen.values()], indent=2))
    elif name:
        _show(chosen[name])
    else:
        click.echo(repr(chosen))
        click.echo("\nRecommended:")
        click.echo("\n".join(f"  {line}" for line in recipe_lines()))
        click.echo("\nOptions of a method: neardup methods NAME.")
        click.echo(f"Presets: {', '.join(presets())}; of units, for dedup: {', '.join(PRESETS)}.")


def _show(method: Method) -> None:
    """The description, and each option with its constraint and default."""
    click.secho(method.name, bold=True, nl=False)
    click.echo(f"  {method.summary}\n\n{method.description}\n")
    for parameter in method.parameters.values():
        default = "" if parameter.default is None else f" (default: {parameter.default})"
        constraint = parameter.constraint.removesuffix(" or None")  # which nobody can type
        click.echo(f"  {parameter.flags[0]}  {constraint}{default}")
        click.echo(click.wrap_text(parameter.help, 96, "      ", "      "))


def _describe(method: Method) -> dict[str, object]:
    return {
        "name": method.name,
        "use": method.use,
        "threshold": method.threshold,
        "exact": method.exact,
        "speed": method.speed,
        "summary": method.summary,
        "description": method.description,
        "parameters": [
            {"name": p.name, "default": p.default, "constraint": p.constraint, "help": p.help}
            for p in method.parameters.values()
        ],
    }
