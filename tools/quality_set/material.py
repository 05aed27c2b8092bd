"""The stories, briefs and short texts as they stand in the text files beside this one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Story:
    """An article: sentences in paragraphs, and more of them for a longer version."""

    id: str
    headlines: tuple[str, ...]
    paragraphs: tuple[tuple[str, ...], ...]
    more: tuple[str, ...] = field(default=())

    @property
    def language(self) -> str:
        """The language of the text, as its id says."""
        return self.id[:2] if self.id[2:3] == "-" else "en"

    def with_paragraphs(self, paragraphs: list[tuple[str, ...]]) -> Story:
        """The same story in other words, without paragraphs that have become empty."""
        return replace(self, paragraphs=tuple(part for part in paragraphs if part))


def _lines(name: str) -> list[str]:
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [line.strip() for line in text.split("\n") if not line.startswith("#")]


def read_stories(name: str) -> list[Story]:
    """The stories of a file in its order."""
    stories = []
    for block in "\n".join(_lines(name)).split("== ")[1:]:
        head, _, body = block.partition("\n")
        id, *headlines = (part.strip() for part in head.split("|"))
        paragraphs = [part.split("\n") for part in body.strip().split("\n\n")]
        more = tuple(line[2:] for part in paragraphs for line in part if line.startswith("+ "))
        kept = tuple(tuple(line for line in part if not line.startswith("+ ")) for part in paragraphs)
        stories.append(Story(id, tuple(headlines), kept, more))
    return stories


def read_briefs() -> list[Story]:
    """Reports of one paragraph."""
    rows = [[part.strip() for part in line.split("|")] for line in _lines("briefs.txt") if line]
    return [Story(id, (headline,), ((text,),)) for id, headline, text in rows]


def read_shorts() -> list[list[str]]:
    """Short texts in clusters."""
    blocks = "\n".join(_lines("shorts.txt")).strip().split("\n\n")
    return [block.split("\n") for block in blocks]
