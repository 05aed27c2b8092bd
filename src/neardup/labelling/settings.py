"""The protocol of a label store: phases, judges for an item, honey pots, guidelines."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from neardup.checked_json import check, parse_json
from neardup.errors import ParameterError

__all__ = ["PRESETS", "SCHEMES", "LabelSettings"]

Scheme = Literal["two phases", "pairs", "five labels"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
LONGEST = 20_000  # characters of guidelines
QUESTION = (
    "Is this document one that you want to compare: an article, and not a list, a form or an error message?"
)
ABOUT_DOCUMENTS = """Yes: a text of its own, such as an article, a letter or a report.
No: navigation, a list of headlines or links, a calendar, a form, a weather table, a caption.
I don’t know: you read it and cannot tell.
Other: an error message, an empty page, text that cannot be read.
Not my language: you cannot judge it."""
ABOUT_PAIRS = """Judge the text itself. Ignore menus, advertisements and layout; headlines may differ.
Duplicate: the same text, perhaps with small changes, in as much detail.
A contains B, B contains A: one has all of the other and clearly more.
Near, not the same: the same template, event or product, but another text, date, place or number that matters.
Different: about other things.
Broken: nothing to judge on one side or on both."""


@dataclass(frozen=True)
class LabelSettings:
    """How items are judged; the defaults are those of Alonso, Fetterly and Manasse (section 4.2)."""

    scheme: Scheme = "two phases"
    document_judges: int = 2
    pair_judges: int = 3
    consensus: Literal["unanimous", "majority"] = "unanimous"
    honey_share: float = 0.1  # of the items that a judge gets
    honey_least: int = 5  # judged honey pots before a judge is flagged
    honey_bar: float = 0.7  # the least share of right answers
    lease_seconds: int = 600  # after which an item without an answer goes to another judge
    question: str = QUESTION
    about_documents: str = ABOUT_DOCUMENTS
    about_pairs: str = ABOUT_PAIRS

    def __post_init__(self) -> None:
        limits: dict[str, tuple[bool, str]] = {
            "scheme": (self.scheme in SCHEMES, f"one of {', '.join(SCHEMES)}"),
            "document_judges": (1 <= self.document_judges <= 20, "from 1 to 20"),
            "pair_judges": (1 <= self.pair_judges <= 20, "from 1 to 20"),
            "consensus": (self.consensus in ("unanimous", "majority"), "unanimous or majority"),
            "honey_share": (0 <= self.honey_share <= 0.5, "from 0 to 0.5"),
            "honey_least": (1 <= self.honey_least <= 1000, "from 1 to 1000"),
            "honey_bar": (0 <= self.honey_bar <= 1, "from 0 to 1"),
            "lease_seconds": (10 <= self.lease_seconds <= 86_400, "from 10 to 86,400"),
        }
        for name, (right, rule) in limits.items():
            if not right:
                raise ParameterError(name, "the protocol", rule, getattr(self, name))
        for name in ("question", "about_documents", "about_pairs"):
            if len(getattr(self, name)) > LONGEST:
                raise ParameterError(name, "the protocol", f"at most {LONGEST:,} characters", "more")

    def needed(self, kind: str) -> int:
        """How many judges an item needs."""
        return self.document_judges if kind == "document" else self.pair_judges

    def to_json(self) -> str:
        """The settings as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> LabelSettings:
        """The settings of `to_json`; others are ignored. `Invalid` says what is wrong."""
        raw = check(parse_json(text), dict, "the protocol")
        given = {one.name: raw[one.name] for one in fields(LabelSettings) if one.name in raw}
        for name, value in given.items():
            check(value, type(getattr(LabelSettings, name)), repr(name))
        return LabelSettings(**given)

    def with_texts(self, given: dict[str, str]) -> LabelSettings:
        """The settings with values as a form sends them."""
        values: dict[str, Any] = {}
        for one in fields(self):
            if one.name in given:
                kind = type(getattr(self, one.name))
                try:
                    values[one.name] = kind(given[one.name].strip())
                except ValueError:
                    raise ParameterError(one.name, "the protocol", "a number", given[one.name]) from None
        return replace(self, **values)


PRESETS: dict[str, LabelSettings] = {
    "one person": LabelSettings(scheme="pairs", pair_judges=1, honey_share=0.0),
    "crowd": LabelSettings(),
    "five labels": LabelSettings(scheme="five labels", pair_judges=2),
}
