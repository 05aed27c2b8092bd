"""Options in named groups, as the help of a command shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

__all__ = ["GROUPS", "HELP_ALL", "WIDTH", "GroupedCommand", "grouped", "option_rows", "seldom"]

Command = Callable[..., Any]
OWN = "Options"  # of one command alone, shown first
GROUPS = (OWN, "Tokens", "Limits", "Input", "Labels", "Method", "Decision", "Output", "Resources", "Engine")
WIDTH = 31  # of the column of options
HELP_ALL = "--help-all"  # shows also what `seldom` marks


def grouped(group: str, *options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """The decorator that adds these options to a command, in a group of its help."""
    return _marked("group", group, options)


def seldom(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """The decorator that adds options which few people need: --help leaves them out, --help-all shows them."""
    return _marked("seldom", True, options)


def _marked(
    name: str, value: object, options: tuple[Callable[[Command], Command], ...]
) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        before = len(getattr(command, "__click_params__", ()))
        for option in reversed(options):
            command = option(command)
        for parameter in vars(command)["__click_params__"][before:]:
            vars(parameter).setdefault(name, value)
        return command

    return add


def option_rows(
    parameters: Iterable[click.Parameter], context: click.Context
) -> dict[str, list[tuple[str, str]]]:
    """The lines of the help in each group: option and sentence; the options of a method follow its choice."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for option in parameters:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            rows.setdefault(getattr(option, "group", OWN), []).append(record)
    order = {group: place for place, group in enumerate(GROUPS)}
    return dict(sorted(rows.items(), key=lambda item: order.get(item[0], order["Method"] + 0.5)))


class GroupedCommand(click.Command):
    """A command whose help shows its options in groups, and those that few people need only on request."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options, with --help-all where some are seldom needed."""
        params = super().get_params(ctx)
        count = sum(map(_is_seldom, params))
        if not count:
            return params
        text = f"Show these options and {count} more."
        option = click.Option([HELP_ALL], is_flag=True, is_eager=True, expose_value=False, help=text)
        option.callback = _show_all
        helping = self.get_help_option(ctx)
        vars(option)["group"] = getattr(helping, "group", OWN)
        return [*params, option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section for each group."""
        shown = [one for one in self.get_params(ctx) if ctx.meta.get(HELP_ALL) or not _is_seldom(one)]
        for group, records in option_rows(shown, ctx).items():
            with formatter.section(group):
                formatter.write_dl(records, col_max=WIDTH)


def _is_seldom(option: click.Parameter) -> bool:
    return getattr(option, "seldom", False)


def _show_all(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    """Prints the whole help and ends."""
    if asked and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
