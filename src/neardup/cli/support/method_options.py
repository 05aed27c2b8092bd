"""The method of a command: --method, --preset, and the options of the chosen method alone.

The command line is searched for the method first; the method's own parameters then become options. `--help`
without a method loads no method, and shows the options that all of them share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support.config import (
    CONFIG,
    SAVED,
    config_options,
    config_text,
    config_words,
    named_file,
    read_config,
    save_config,
)
from neardup.cli.support.groups import HELP_ALL, GroupedCommand

if TYPE_CHECKING:
    from neardup.plan import Plan
    from neardup.registry import Method, Parameter

__all__ = ["ChosenMethod", "MethodCommand"]

NAMING = ("method", "preset", "model")  # options that choose a method
LEARNED = "andd"  # the method that takes a model
METHOD = "neardup.method"  # in the context: the chosen method
WORDS = "neardup.words"  # in the context: the words of the command line


@dataclass(frozen=True)
class ChosenMethod:
    """The method of a command line, and its options; given options override the preset."""

    method: Method
    options: Mapping[str, Any]
    named: bool  # by the command line; otherwise the default of the command
    words: tuple[
        str, ...
    ] = ()  # the options that choose it and set its parameters, as another command takes them

    def plan(self, **usual: Any) -> Plan:
        """The plan; `usual` are options for which the command has defaults of its own."""
        return self.method.plan(**{**usual, **self.options})


class MethodCommand(GroupedCommand):
    """A command that takes the options of one method; its callback gets them as `chosen`."""

    def __init__(self, *arguments: Any, default_method: str = "minhash", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.default_method = default_method
        self.params = [*_common(default_method), *self.params, *config_options()]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options and those of the chosen method."""
        shared, method = super().get_params(ctx), ctx.meta.get(METHOD)
        if method is None:
            return shared
        own = [MethodOption(parameter, method.name) for parameter in method.parameters.values()]
        return [option for option in shared if option.name != "threshold"] + own

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Chooses the method, reads its options, and refuses those of others by the names of their methods."""
        if (config := named_file(args, "--config")) is not None:
            args = self._with_config(ctx, config, args)
        save, given = named_file(args, "--save-config"), list(args)
        named = _find_named(args)
        ctx.meta[WORDS] = tuple(args)
        asks_help = [word for word in _before_dashes(args) if word in (*ctx.help_option_names, HELP_ALL)]
        if named or not asks_help:
            ctx.meta[METHOD] = self._choose(named)
        try:
            rest = super().parse_args(ctx, asks_help[:1] or args)
        except click.NoSuchOption as error:
            _refuse_option(error, ctx.meta[METHOD])
            raise
        if save is not None and not asks_help:
            ctx.meta[SAVED] = save, config_text(save, ctx), "--force" in given
        _replace_values(ctx, bool(named))
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command, after its options have been saved where that is wanted."""
        if SAVED in ctx.meta:
            save_config(*ctx.meta[SAVED])
        return super().invoke(ctx)

    def _with_config(self, ctx: click.Context, path: str, args: list[str]) -> list[str]:
        """The words of a file of options, and behind them those of the command line, which win."""
        options = read_config(path)
        named = {name: str(options[name]) for name in NAMING if name in options} | _find_named(args)
        ctx.meta[METHOD], ctx.meta[CONFIG] = self._choose(named), path
        parameters = self.get_params(ctx)
        try:
            typed, _, _ = self.make_parser(ctx).parse_args(list(args))
        except click.UsageError:  # said when the words are parsed together
            typed = {}
        typed_inputs = typed.pop("inputs", ())
        words = config_words(path, options, parameters, set(typed))
        inputs = options.get("inputs", [])
        inputs = [inputs] if isinstance(inputs, str) else [str(one) for one in inputs]
        has_inputs = isinstance(typed_inputs, (tuple, list)) and len(typed_inputs) > 0
        return [*words, *args, *([] if has_inputs else inputs)]

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """--help, among the options that choose a method: it shows those of the chosen one."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = "Show these options; with --method NAME also those of the method."
            vars(option)["group"] = "Method"
        return option

    def _choose(self, named: Mapping[str, str]) -> Method:
        from neardup.registry import get_method, presets

        preset = presets(named["preset"])["method"] if "preset" in named else None
        learned = LEARNED if "model" in named else None
        return get_method(named.get("method") or preset or learned or self.default_method)


def _common(default: str) -> list[click.Option]:
    """The options that choose a method; and the threshold, which nearly all methods have."""
    helps = {
        "--method NAME": f"The method; `neardup methods` lists them.  [default: {default}]",
        "--preset NAME": "Options of a published pipeline: fineweb, slimpajama, … (neardup methods).",
        "--threshold NUMBER": "The least similarity of a near-duplicate.  [default: the method's own]",
    }
    options = []
    for option, text in helps.items():
        flag, metavar = option.split()
        options.append(click.Option([flag], metavar=metavar, help=text))
        vars(options[-1])["group"] = "Method"
    return options


class MethodOption(click.Option):
    """A parameter of a method as an option, by our name and by those of other tools; the registry checks its value."""

    def __init__(self, parameter: Parameter, method: str) -> None:
        super().__init__(
            [*parameter.flags, parameter.name], metavar=parameter.metavar, help=parameter.full_help
        )
        self.group = f"Options of {method}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Our name alone, and the method's own default."""
        return f"{self.opts[0]} {self.metavar}", self.help or ""


def repeated_words(ctx: click.Context, inputs: Sequence[str]) -> tuple[str, ...] | None:
    """The words that repeat a run, without those about its output; None for standard input, which is read once."""
    from neardup.review.repeat import repeatable_words

    return None if "-" in inputs else tuple(repeatable_words(ctx.meta[WORDS]))


def _before_dashes(args: Sequence[str]) -> Sequence[str]:
    """The words in which options may occur."""
    return args[: args.index("--")] if "--" in args else args


def _find_named(args: Sequence[str]) -> dict[str, str]:
    """The values of the options that choose a method, the last one of each."""
    words, found = _before_dashes(args), {}
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--")
        if flag.startswith("--") and name in NAMING and (equals or place + 1 < len(words)):
            found[name] = value if equals else words[place + 1]
    return found


def _refuse_option(error: click.NoSuchOption, method: Method) -> None:
    """Raises an UnknownParameter if the option is one of another method."""
    from neardup.registry import ALIASES, methods, unknown_parameter

    name = error.option_name.lstrip("-").replace("-", "_")
    if any(ALIASES.get(name, name) in other.parameters for other in methods().values()):
        raise unknown_parameter(name, method) from None


def _replace_values(ctx: click.Context, named: bool) -> None:
    """Puts the method and its options, read and checked, in the place of their words."""
    from neardup.registry import preset_options

    method: Method = ctx.meta[METHOD]
    ctx.params.pop("method")
    preset = ctx.params.pop("preset")
    options, words = preset_options(preset, method), ["--method", method.name]
    words += [] if preset is None else ["--preset", preset]
    for name, parameter in method.parameters.items():
        text = ctx.params.pop(name)
        if text is not None:
            options[name] = parameter.read(text, method.name)
            words += [parameter.flags[0], text]
    ctx.params["chosen"] = ChosenMethod(method, options, named, tuple(words))
