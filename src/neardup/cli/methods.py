"""neardup methods: the methods and their options."""

from __future__ import annotations

import json

import click

from neardup.registry import get_method, methods, presets


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or describe the one NAMEd with its options.

    \b
    Example:
      neardup methods minhash
    """
    chosen = [get_method(name)] if name else list(methods().values())
    if as_json:
        click.echo(json.dumps([_describe(method.name) for method in chosen], indent=2))
        return
    for method in chosen:
        click.secho(method.name, bold=True, nl=False)
        click.echo(f"  {method.summary}")
        if name:
            click.echo(f"\n{method.description}\n")
            for parameter in method.parameters.values():
                default = "chosen" if parameter.default is None else parameter.default
                click.echo(
                    f"  --{parameter.name.replace('_', '-')}  {parameter.constraint} (default: {default})"
                )
                click.echo(click.wrap_text(parameter.help, 96, "      ", "      "))
    if not name:
        click.echo("\nPresets: " + ", ".join(presets()) + ".  Options: neardup methods NAME")


def _describe(name: str) -> dict[str, object]:
    method = get_method(name)
    return {
        "name": method.name,
        "summary": method.summary,
        "description": method.description,
        "parameters": [
            {"name": p.name, "default": p.default, "constraint": p.constraint, "help": p.help}
            for p in method.parameters.values()
        ],
    }
