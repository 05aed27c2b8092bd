"""All methods with their options: names, defaults, constraints and help.

A method is a function with annotated keyword parameters that returns a Plan; `@method` reads its options from
the signature and their help from the docstring. The command line and the reference pages are made from this.
"""

from __future__ import annotations

import inspect
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from neardup.errors import ParameterError, UnknownParameter, nearest_name
from neardup.plan import Clustering, Plan
from neardup.plurals import listed_names
from neardup.text.stopwords import read_words

# Names of other tools for our parameters. Accepted everywhere, ours is printed.
ALIASES = {
    "num_permutations": "num_perm",
    "permutations": "num_perm",
    "num_hashes": "num_perm",
    "num_bands": "bands",
    "num_buckets": "bands",
    "b": "bands",
    "hashes_per_bucket": "rows",
    "band_size": "rows",
    "r": "rows",
    "ngram_size": "ngram",
    "n_grams": "ngram",
    "n_gram": "ngram",
    "shingle_size": "ngram",
    "jaccard_threshold": "threshold",
    "similarity_threshold": "threshold",
}

# Options of published corpora and other tools; verification stays exact.
PRESETS: dict[str, dict[str, Any]] = {
    "fineweb": {"method": "minhash", "bands": 14, "rows": 8, "ngram": 5, "threshold": 0.75},
    "refinedweb": {"method": "minhash", "bands": 20, "rows": 450, "ngram": 5, "threshold": 0.99},
    "slimpajama": {"method": "minhash", "ngram": 13, "threshold": 0.8},
    "datasketch": {"method": "minhash", "num_perm": 128, "threshold": 0.9},
    "text-dedup": {"method": "minhash", "num_perm": 250, "ngram": 5, "threshold": 0.7},
    # SantaCoder and StarCoder; The Stack 1.0 had single tokens and 0.85, which left many near-copies.
    "code": {"method": "minhash", "tokens": "code", "num_perm": 256, "ngram": 5, "threshold": 0.7},
    "news-2013": {  # Alonso, Fetterly and Manasse, MSR-TR-2013-60: the best of its tables 6 and 7
        "method": "rare_phrases", "ngram": 7, "function": "df2", "around": 0, "passage": 0, "rare": 0.5,
        "threshold": 0.25,
    },
    "news-pages": {  # whole pages with their boilerplate: the best options of docs/methods/rare_phrases.md
        "method": "rare_phrases", "ngram": 2, "function": "df4", "around": 30, "passage": 20,
        "threshold": 0.1,
    },
}  # fmt: skip


def presets(name: str | None = None) -> Mapping[str, Any]:
    """All presets, or the options of one; an unknown name is a ParameterError that lists the known ones."""
    if name is None:
        return PRESETS
    if not isinstance(name, str) or name not in PRESETS:
        raise ParameterError("preset", "neardup", "one of " + ", ".join(map(repr, PRESETS)), name)
    return PRESETS[name]


@dataclass(frozen=True)
class Between:
    """A number from low to high, both included unless excluded."""

    low: float
    high: float = float("inf")
    above: bool = False  # low itself is not allowed
    below: bool = False  # high itself is not allowed

    def admits(self, value: Any) -> bool:
        """Whether a number lies inside."""
        inside = self.low <= value <= self.high
        return bool(
            inside and not (self.above and value == self.low) and not (self.below and value == self.high)
        )

    def describe(self, kind: type) -> str:
        """The constraint in words."""
        noun = "a whole number" if kind is int else "a number"
        if self.high > 2**53:
            return f"{noun} {'above' if self.above else 'of at least'} {self.low:g}"
        start = f"above {self.low:g}" if self.above else f"from {self.low:g}"
        end = f"below {self.high:g}" if self.below else f"up to {self.high:g}"
        return f"{noun} {start} {'and ' if self.above or self.below else ''}{end}"


@dataclass(frozen=True)
class Listed:
    """A text that the method parses, a list of words, or '@' and the name of a file of words."""

    def take(self, value: Any) -> Any:
        """The text, or the words of a list or file: a plan must not depend on a file that may change."""
        if isinstance(value, str):
            return read_words(value[1:]) if value.startswith("@") else value
        if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
            return tuple(value)
        return None


RANDOM = "random"  # a seed that nobody knows beforehand; the plan records the number
WordList = Annotated[str | tuple[str, ...], Listed()]
Part = Annotated[float, Between(0, 1)]
Share = Annotated[float, Between(0, 1, above=True)]
Chance = Annotated[float, Between(0, 1, above=True, below=True)]
Count = Annotated[int, Between(1, 65536)]
Natural = Annotated[int, Between(0, 2**63 - 1)]


@dataclass(frozen=True)
class Parameter:
    """One option of a method."""

    name: str
    kind: type
    default: Any
    help: str
    optional: bool = False
    choices: tuple[str, ...] = ()
    range: Between | None = None
    listed: Listed | None = None

    @property
    def constraint(self) -> str:
        """The condition that a value must meet, in words."""
        if self.choices:
            text = "one of " + ", ".join(map(repr, self.choices))
        elif self.range:
            text = self.range.describe(self.kind)
        elif self.listed:
            text = "a text, a list of words, or '@' and the name of a file of words"
        else:
            text = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}[self.kind]
        if self.name == "seed":
            text += f" or {RANDOM!r}"
        return text + (" or None" if self.optional else "")

    @property
    def flags(self) -> list[str]:
        """The option on the command line: our name first, then the names of other tools."""
        others = [other for other, ours in ALIASES.items() if ours == self.name and len(other) > 1]
        return [f"--{name.replace('_', '-')}" for name in (self.name, *others)]

    @property
    def metavar(self) -> str:
        """The value in a help text: its choices, or its type."""
        return (
            "|".join(self.choices) or {float: "NUMBER", int: "N", str: "TEXT", bool: "true|false"}[self.kind]
        )

    @property
    def full_help(self) -> str:
        """The help and the default; where the default is None, the help says what happens."""
        return self.help if self.default is None else f"{self.help}  [default: {self.default}]"

    def read(self, text: str, callable_name: str) -> Any:
        """The value of a word on the command line, or a ParameterError."""
        if self.name == "seed" and text == RANDOM:
            return secrets.randbelow(1 << 63)
        try:
            words: Any = {"true": True, "yes": True, "false": False, "no": False}
            value = words[text.lower()] if self.kind is bool else self.kind(text)
        except (ValueError, KeyError):
            raise ParameterError(self.name, callable_name, self.constraint, text) from None
        return self.check(value, callable_name)

    def check(self, value: Any, callable_name: str) -> Any:
        """The value in the parameter's own type, or a ParameterError; the seed 'random' becomes a number."""
        if self.name == "seed" and value == RANDOM:
            return secrets.randbelow(1 << 63)
        if value is None and self.optional:
            return None
        if self.listed:
            taken = self.listed.take(value)
            if taken is None:
                raise ParameterError(self.name, callable_name, self.constraint, value)
            return taken
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        fits = isinstance(value, self.kind) and (self.kind is bool or not isinstance(value, bool))
        if fits and self.choices:
            fits = value in self.choices
        if fits and self.range:
            fits = self.range.admits(value)
        if not fits:
            raise ParameterError(self.name, callable_name, self.constraint, value)
        return value


Build = Callable[..., Plan]
Speed = Literal["fast", "medium", "slow"]


@dataclass(frozen=True)
class Method:
    """A registered method."""

    name: str
    build: Build
    summary: str
    description: str
    parameters: Mapping[str, Parameter]
    use: str
    speed: Speed
    exact: bool

    @property
    def threshold(self) -> float | None:
        """The default threshold; None for a method without one."""
        if "threshold" not in self.parameters:
            return None
        declared: float | None = self.parameters["threshold"].default
        return self.plan().threshold if declared is None else declared

    def plan(self, **options: Any) -> Plan:
        """The plan for these options; aliases are understood, anything unknown or unfit is an error.

        A preset may name its clustering, `clusters`, which is no option of a method.
        """
        if "clusters" in options:
            clustering = Clustering(options.pop("clusters"))
            return self.plan(**options).with_(clustering=clustering)
        values: dict[str, Any] = {}
        for given, value in options.items():
            name = ALIASES.get(given, given)
            if name not in self.parameters:
                raise unknown_parameter(given, self)
            if name in values:
                raise ParameterError(
                    given, self.name, f"left out if '{name}' is given by another name", value
                )
            values[name] = self.parameters[name].check(value, self.name)
        try:
            return self.build(**values)
        except ParameterError as error:  # of a stage, which does not know the method of its option
            if error.name in self.parameters and error.callable_name != self.name:
                raise ParameterError(error.name, self.name, error.constraint, error.value) from None
            raise


_METHODS: dict[str, Method] = {}


def method(*, use: str, speed: Speed, exact: bool = False) -> Callable[[Build], Build]:
    """The decorator that registers a method under its function's name.

    Args:
        use: What the method is for, in a few words.
        speed: fast (15 MB of text a second on one core, or more), medium (5 MB or more, or more than linear in
            the number of documents) or slow.
        exact: Whether the method finds every pair; otherwise it depends on a random seed.
    """

    def register(function: Build) -> Build:
        summary, description, helps = _read_docstring(inspect.getdoc(function) or "")
        hints = get_type_hints(function, include_extras=True)
        parameters = {
            name: _read_parameter(name, hints[name], parameter.default, helps.get(name, ""))
            for name, parameter in inspect.signature(function).parameters.items()
        }
        name = function.__name__
        _METHODS[name] = Method(name, function, summary, description, parameters, use, speed, exact)
        return function

    return register


def unknown_parameter(given: str, chosen: Method) -> UnknownParameter:
    """The error for a parameter that the chosen method does not have; it names the methods that have it."""
    name = ALIASES.get(given, given)
    others = [other.name for other in methods().values() if name in other.parameters]
    if others:
        return UnknownParameter(
            given, chosen.name, f"{listed_names(others)} {'has' if len(others) == 1 else 'have'} it"
        )
    known = sorted(chosen.parameters)
    return UnknownParameter(
        given, chosen.name, f"its parameters are {listed_names(known)}", nearest_name(given, known)
    )


def preset_options(preset: str | None, chosen: Method) -> dict[str, Any]:
    """The options of a preset for the chosen method, which must have them."""
    known = {} if preset is None else dict(presets(preset))
    usual = known.pop("method", None)
    lacking = [name for name in known if name not in chosen.parameters and name != "clusters"]
    if lacking:
        constraint = f"a preset for this method ({preset} sets {listed_names(lacking)}, options of {usual})"
        raise ParameterError("preset", chosen.name, constraint, preset)
    return known


class Methods(dict[str, Method]):
    """Methods by name, which print as a table to choose from."""

    HEADER = ("method", "for", "threshold", "finds pairs", "speed")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Name, use, default threshold, all pairs or most of them, and speed of each method."""
        return [
            (
                one.name,
                one.use,
                "–" if one.threshold is None else f"{one.threshold:.3g}",
                "all" if one.exact else "most",
                one.speed,
            )
            for one in self.values()
        ]

    def __repr__(self) -> str:
        lines = [self.HEADER, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = (zip(line, widths, strict=True) for line in lines)
        return "\n".join("  ".join(cell.ljust(width) for cell, width in line).rstrip() for line in shown)


@cache
def _load() -> None:
    package = import_module("neardup.methods")
    for module in iter_modules(package.__path__):
        import_module(f"neardup.methods.{module.name}")


def methods() -> Methods:
    """All methods by name, the default first; they print as a table to choose from."""
    _load()
    return Methods(sorted(_METHODS.items(), key=lambda item: (item[0] != "minhash", item[0])))


def get_method(name: str) -> Method:
    """The method of this name, or a ParameterError that lists the known ones."""
    known: Mapping[str, Method] = _METHODS
    if isinstance(name, str) and name.isidentifier():
        with suppress(ModuleNotFoundError):  # its own file alone: the others take a tenth of a short run
            import_module(f"neardup.methods.{name}")
        if name not in known:
            known = methods()
        if name in known:
            return known[name]
    raise ParameterError("method", "neardup", "one of " + ", ".join(map(repr, methods())), name)


def _read_docstring(text: str) -> tuple[str, str, dict[str, str]]:
    """Summary, description, and the help of each parameter in the block `Args:`, or `Args (others as in NAME):`."""
    head, like, block = ([*re.split(r"\nArgs(?: \(others as in (\w+)\))?:\n", text, maxsplit=1), "", ""])[:3]
    summary, _, description = head.partition("\n")
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", block, re.MULTILINE)
    others = {name: known.help for name, known in _METHODS[like].parameters.items()} if like else {}
    return (
        summary.strip(),
        description.strip(),
        others | {name: " ".join(body.split()) for name, body in entries},
    )


def _read_parameter(name: str, hint: Any, default: Any, text: str) -> Parameter:
    members = [hint]
    if get_origin(hint) is not Annotated and NoneType in get_args(hint):
        members = [arg for arg in get_args(hint) if arg is not NoneType]
    optional = members[0] is not hint
    inner, rule = members[0], None
    if get_origin(inner) is Annotated:
        inner, rule = get_args(inner)
    choices = get_args(inner) if get_origin(inner) is Literal else ()
    kind = str if choices or isinstance(rule, Listed) else inner
    span, listed = (None, rule) if isinstance(rule, Listed) else (rule, None)
    return Parameter(name, kind, default, text, optional, choices, span, listed)
