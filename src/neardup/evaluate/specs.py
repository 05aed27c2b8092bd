"""Methods or presets with options as one text: minhash:ngram=3,threshold=0.6."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from neardup.errors import ParameterError
from neardup.plan import Plan
from neardup.registry import ALIASES, Parameter, get_method, presets


@dataclass(frozen=True)
class Spec:
    """A method or preset and its options; its name contains both."""

    method: str
    options: dict[str, Any] = field(default_factory=dict)  # those that the preset does not set
    preset: str | None = None

    @property
    def name(self) -> str:
        """The text of this method or preset and its options."""
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        head = self.preset or self.method
        return f"{head}:{options}" if options else head

    @property
    def plan(self) -> Plan:
        """The plan of this method."""
        known = (
            {} if self.preset is None else {k: v for k, v in presets(self.preset).items() if k != "method"}
        )
        return get_method(self.method).plan(**{**known, **self.options})

    def at(self, threshold: float) -> Spec:
        """The same with another threshold, if the method has one; its candidates follow the threshold."""
        if "threshold" not in get_method(self.method).parameters:
            return self
        if threshold == self.plan.threshold:
            return self
        return replace(self, options={**self.options, "threshold": threshold})

    def words(self) -> list[str]:
        """The options of `neardup dedup` for this method."""
        options = [
            f"--{key.replace('_', '-')} {shlex.quote(str(value))}" for key, value in self.options.items()
        ]
        return [f"--preset {self.preset}" if self.preset else f"--method {self.method}", *options]


def parse_specs(text: str) -> list[Spec]:
    """The specs of a text: values separated by / give one spec each (ngram=3/5/8)."""
    name, _, rest = text.strip().partition(":")
    preset = name.strip() if name.strip() in presets() else None
    method = get_method(presets(preset)["method"] if preset else name.strip())
    names: list[str] = []
    choices: list[list[Any]] = []
    for part in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = (word.strip() for word in part.partition("="))
        key = ALIASES.get(key.replace("-", "_"), key.replace("-", "_"))
        if not equals or key not in method.parameters:
            known = ", ".join(method.parameters)
            raise ParameterError(
                "method", "evaluate", f"NAME:option=value,… with options of {name} ({known})", text
            )
        if key in names:
            raise ParameterError(
                "method", "evaluate", f"{key} given once (separate several values by /)", text
            )
        names.append(key)
        parameter = method.parameters[key]
        choices.append([parameter.read(word, name) for word in _values(parameter, value)])
    return [Spec(method.name, dict(zip(names, values, strict=True)), preset) for values in product(*choices)]


def _values(parameter: Parameter, text: str) -> list[str]:
    """The values of one option; a free text, for example a path, may contain slashes."""
    return [text] if parameter.kind is str and not parameter.choices else text.split("/")


def make_specs(given: Iterable[str | Spec]) -> list[Spec]:
    """All specs, each once, in order."""
    found: dict[str, Spec] = {}
    for one in given:
        for spec in [one] if isinstance(one, Spec) else parse_specs(one):
            found.setdefault(spec.name, spec)
    return list(found.values())
