"""What a client returns: matches, checks, and what became of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Id = str | int
Json = dict[str, Any]


@dataclass(frozen=True)
class Match:
    """An indexed document that a text is a near-duplicate of."""

    id: Id
    similarity: float | None
    containment: float | None
    relation: str | None
    probability: float | None = None
    passages: tuple[Json, ...] = ()

    @staticmethod
    def of(value: Json) -> Match:
        """A match of an answer; names that a newer server adds are left out."""
        known = {name: value.get(name) for name in ("similarity", "containment", "relation", "probability")}
        return Match(value["id"], **known, passages=tuple(value.get("passages") or ()))


@dataclass(frozen=True)
class Checked:
    """Whether a document is new to the index."""

    status: str  # new, copy or near-duplicate
    matches: tuple[Match, ...] = ()

    @property
    def duplicate_of(self) -> Id | None:
        """The id of the closest indexed document."""
        return self.matches[0].id if self.matches else None


@dataclass(frozen=True)
class Stored:
    """What became of a document: new, replaced, unchanged or duplicate."""

    id: Id
    status: str
    duplicate_of: Id | None = None
    relation: str | None = None
    similarity: float | None = None


def read_stored(answer: Json) -> list[Stored]:
    """What became of each document of an answer."""
    names = Stored.__dataclass_fields__
    return [Stored(**{name: row[name] for name in names if name in row}) for row in answer["results"]]


def read_matches(answer: Json) -> list[list[Match]]:
    """The matches of each document of an answer."""
    return [[Match.of(match) for match in row["matches"]] for row in answer["results"]]


def read_checked(answer: Json) -> list[Checked]:
    """Whether each document of an answer is new."""
    return [Checked(row["status"], tuple(map(Match.of, row["matches"]))) for row in answer["results"]]
