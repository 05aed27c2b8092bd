"""The exceptions for users, each with one sentence: what happened, and what to do.

NeardupError
├── ParameterError    an option has a value that its method cannot take
│   └── UnknownParameter   a method does not have the option
├── PlanError         a plan that cannot be read, or that belongs to other data
├── InputError        a file, column or record that cannot be used
│   ├── NoDocuments   inputs without documents
│   └── RecordError   one bad record, met with `strict`
├── OutputError       a result that cannot be written, or would overwrite something
├── GuardError        documents of a run whose removals look wrong
├── EvidenceError     a question that the stored evidence cannot answer
├── StatisticsError   document frequencies that do not fit what they are used for
├── StorageError      an index whose files or server cannot be read or written
│   ├── IndexBusy     another process writes to the index
│   └── IndexDamaged  stored documents of an index that cannot be trusted
├── ServiceError      an answer of `neardup serve` that says why not
└── MissingExtra      an optional dependency is not installed

The command line prints the sentence and exits 2. Any other exception is a bug in neardup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = [
    "EvidenceError",
    "GuardError",
    "IndexBusy",
    "IndexDamaged",
    "InputError",
    "MissingExtra",
    "NeardupError",
    "NoDocuments",
    "OutputError",
    "ParameterError",
    "PlanError",
    "RecordError",
    "ServiceError",
    "StatisticsError",
    "StorageError",
    "UnknownParameter",
]


def nearest_name(word: str, names: Iterable[str]) -> str:
    """A question to append to a message about a word that none of these names is, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word[:100].lower(), list(names), 1)  # its time grows with the square of a word
    return f" Did you mean {close[0]!r}?" if close and close[0] != word else ""


def quoted_names(text: str) -> list[str]:
    """The names that a sentence lists: 'words' or 'bytes', longest:COLUMN."""
    return list(dict.fromkeys(re.findall(r"\b[a-z][a-z0-9_]*(?=[:',]|$)", text)))


class NeardupError(Exception):
    """An error that a user can correct: the message says how."""


class ParameterError(NeardupError, ValueError):
    """One sentence for every bad parameter."""

    def __init__(self, name: str, callable_name: str, constraint: str, value: object) -> None:
        self.name, self.callable_name, self.constraint, self.value = name, callable_name, constraint, value
        super().__init__(self._sentence(f"'{name}' parameter of {callable_name}"))

    def for_option(self, flag: str, *, of_method: bool) -> str:
        """The message on the command line, about the option that sets the parameter."""
        sentence = self._sentence(f"option {flag} of {self.callable_name}" if of_method else f"option {flag}")
        sentence = sentence.replace(" or None. Got", ". Got")  # which nobody can type
        return re.sub(r"\b(keep|verify)=none\b", r"--\1 none", sentence)

    def for_argument(self) -> str:
        """The message on the command line, about an argument."""
        return self._sentence(self.name.replace("_", " "))

    def _sentence(self, subject: str) -> str:
        must = f"The {subject} must be {self.constraint}."
        if self.constraint.startswith("left out"):
            return must
        word = self.value.partition(":")[0] if isinstance(self.value, str) else ""
        return f"{must} Got {self.value!r} instead.{nearest_name(word, quoted_names(self.constraint))}"


class UnknownParameter(ParameterError):
    """One sentence for every parameter that a method does not have; the hint names the methods that have it."""

    def __init__(self, name: str, callable_name: str, hint: str, nearest: str = "") -> None:
        self.name, self.callable_name, self.constraint, self.value = name, callable_name, hint, None
        self.nearest = nearest  # a question to append
        NeardupError.__init__(self, self._sentence(f"parameter '{name}'"))

    def for_option(self, flag: str, *, of_method: bool = True) -> str:
        """The message on the command line, about the option."""
        return self._sentence(f"option {flag}")

    def _sentence(self, subject: str) -> str:
        return f"The method {self.callable_name} has no {subject}: {self.constraint}.{self.nearest}"


class PlanError(NeardupError, ValueError):
    """A plan that cannot be read, or does not fit the data it is used with."""


class InputError(NeardupError):
    """A file, column or record that cannot be used."""


class NoDocuments(InputError):
    """Inputs without documents."""

    def __init__(self, inputs: Iterable[str], first_problem: str = "") -> None:
        hint = f" ({first_problem})" if first_problem else ""
        super().__init__(f"{', '.join(inputs)}: no documents found{hint}.")


class RecordError(InputError):
    """The first bad record of a strict run."""


class OutputError(NeardupError):
    """A result that cannot be written, or would overwrite something."""


class GuardError(NeardupError):
    """The documents of a run whose removals look wrong; `warnings` has the reasons, one sentence each."""

    def __init__(self, warnings: Sequence[str]) -> None:
        self.warnings = tuple(warnings)
        reasons = "; ".join(self.warnings)
        super().__init__(
            f"The guard stops at what looks wrong: {reasons}. guard=False removes them all the same."
        )


class EvidenceError(NeardupError, ValueError):
    """A question that the stored evidence cannot answer."""


class StatisticsError(NeardupError, ValueError):
    """Document frequencies that do not fit what they are used for."""


class StorageError(NeardupError):
    """An index whose files or server cannot be read or written: a full disk, a lost connection."""


class IndexBusy(StorageError):
    """Another process writes to the index, and did not end in the time that a writer waits."""

    def __init__(self, index: str, holder: str, seconds: float) -> None:
        self.index, self.holder = index, holder
        super().__init__(
            f"{index}: the index is being written by {holder}; gave up after {seconds:g} s. "
            "Try again when that has ended."
        )


class IndexDamaged(StorageError):
    """Stored documents of an index that cannot be trusted."""


class ServiceError(NeardupError):
    """An answer of `neardup serve` that says why not: its status, the kind of problem, and the id of the request."""

    def __init__(self, status: int, kind: str, detail: str, request_id: str = "") -> None:
        self.status, self.kind, self.detail, self.request_id = status, kind, detail, request_id
        where = f" (request {request_id})" if request_id else ""
        super().__init__(f"The server answers {status or 'nothing'}, {kind}: {detail}{where}")


class MissingExtra(NeardupError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs {package}: install it with  pip install 'neardup[{extra}]'")
