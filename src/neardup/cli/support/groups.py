"""Options in named groups, as the help of a command shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

__all__ = ["GROUPS", "WIDTH", "GroupedCommand", "grouped", "option_rows"]

Command = Callable[..., Any]
OWN = "Options"  # of one command alone, shown first
GROUPS = (OWN, "Tokens", "Limits", "Input", "Labels", "Method", "Decision", "Output", "Resources", "Engine")
WIDTH = 31  # of the column of options


def grouped(group: str, *options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """The decorator that adds these options to a command, in a group of its help."""

    def add(command: Command) -> Command:
        before = len(getattr(command, "__click_params__", ()))
        for option in reversed(options):
            command = option(command)
        for parameter in vars(command)["__click_params__"][before:]:
            vars(parameter).setdefault("group", group)
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
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section for each group."""
        for group, records in option_rows(self.get_params(ctx), ctx).items():
            with formatter.section(group):
                formatter.write_dl(records, col_max=WIDTH)
