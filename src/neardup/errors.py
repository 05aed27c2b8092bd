"""The exceptions for users, each with one sentence: what happened, and what to do.

NeardupError
├── ParameterError    an option has a value that its method cannot take
│   └── UnknownParameter   a method does not have the option
├── PlanError         a plan that cannot be read, or that belongs to other data
├── InputError        a file, column or record that cannot be used
│   └── RecordError   one bad record, met with `strict`
├── OutputError       a result that cannot be written, or would overwrite something
├── EvidenceError     a question that the stored evidence cannot answer
├── StatisticsError   document frequencies that do not fit what they are used for
└── MissingExtra      an optional dependency is not installed

The command line prints the sentence and exits 2. Any other exception is a bug in neardup.
"""

from __future__ import annotations

__all__ = [
    "EvidenceError",
    "InputError",
    "MissingExtra",
    "NeardupError",
    "OutputError",
    "ParameterError",
    "PlanError",
    "RecordError",
    "StatisticsError",
    "UnknownParameter",
]


class NeardupError(Exception):
    """An error that a user can correct: the message says how."""


class ParameterError(NeardupError, ValueError):
    """One sentence for every bad parameter."""

    def __init__(self, name: str, owner: str, constraint: str, value: object) -> None:
        self.name, self.owner, self.constraint, self.value = name, owner, constraint, value
        super().__init__(self.sentence(f"'{name}' parameter"))

    def sentence(self, what: str) -> str:
        """The message about a parameter, or about the option of the command line that sets it."""
        return f"The {what} of {self.owner} must be {self.constraint}. Got {self.value!r} instead."


class UnknownParameter(ParameterError):
    """One sentence for every parameter that a method does not have; the hint names the methods that have it."""

    def __init__(self, name: str, owner: str, hint: str) -> None:
        self.name, self.owner, self.constraint, self.value = name, owner, hint, None
        NeardupError.__init__(self, self.sentence(f"parameter '{name}'"))

    def sentence(self, what: str) -> str:
        """The message about a parameter, or about the option of the command line."""
        return f"The method {self.owner} has no {what}: {self.constraint}."


class PlanError(NeardupError, ValueError):
    """A plan that cannot be read, or does not fit the data it is used with."""


class InputError(NeardupError):
    """A file, column or record that cannot be used."""


class RecordError(InputError):
    """The first bad record of a strict run."""


class OutputError(NeardupError):
    """A result that cannot be written, or would overwrite something."""


class EvidenceError(NeardupError, ValueError):
    """A question that the stored evidence cannot answer."""


class StatisticsError(NeardupError, ValueError):
    """Document frequencies that do not fit what they are used for."""


class MissingExtra(NeardupError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs {package}: install it with  pip install 'neardup[{extra}]'")
