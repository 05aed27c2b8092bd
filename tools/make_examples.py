"""Writes examples/articles.jsonl, its labels and the two harbour texts from examples/source/articles.txt.

Run it after a change to the stories:  .venv/bin/python tools/make_examples.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).parent.parent / "examples"
STORIES = EXAMPLES / "source" / "articles.txt"


OTHER_STORIES = ("picnic-other",)  # the words of another article, with other pictures: another post


class Article(NamedTuple):
    """One line of the corpus."""

    id: str
    title: str
    source: str
    date: str
    text: str


def read_stories(source: str) -> list[Article]:
    """All stories and versions, in the order of the file."""
    found: dict[str, Article] = {}
    for block in source.split("\n=== ")[1:]:
        head, _, body = block.partition("\n")
        id, outlet, date, title, *of = (part.strip() for part in head.split("|"))
        paragraphs = body.strip().split("\n\n") if body.strip() else []
        if of:
            original = found[of[0].removeprefix("of ")].text.split("\n\n")
            paragraphs = edited(original, paragraphs)
        found[id] = Article(id, title, outlet, date, "\n\n".join(paragraphs))
    return list(found.values())


def label(source: str) -> dict[str, str]:
    """The story that each article tells: the one that it is a version of, or its own."""
    stories: dict[str, str] = {}
    for block in source.split("\n=== ")[1:]:
        head, _, body = block.partition("\n")
        id, _, _, _, *of = (part.strip() for part in head.split("|"))
        origin = of[0].removeprefix("of ") if of else id
        has_text = bool(body.strip() or of)
        stories[id] = "" if not has_text else id if id in OTHER_STORIES else stories.get(origin, id)
    return stories


def edited(paragraphs: list[str], edits: list[str]) -> list[str]:
    """The paragraphs after all edits."""
    for edit in edits:
        kind, _, rest = edit.partition(" ")
        paragraphs = EDITS[kind](paragraphs, rest)
    return paragraphs


def swap(paragraphs: list[str], rest: str) -> list[str]:
    """One place in another wording; it must be there exactly once."""
    old, _, new = rest.partition(" => ")
    if sum(paragraph.count(old) for paragraph in paragraphs) != 1:
        raise ValueError(f"not there, or not only once: {old}")
    return [paragraph.replace(old, new) for paragraph in paragraphs]


def retyped(paragraphs: list[str], rest: str) -> list[str]:
    """The same words in another typesetting."""
    words = " ".join(paragraphs).replace("'", "’").replace(": ", " – ").split(" ")
    return [" ".join([*(word.upper() for word in words[:3]), *words[3:]])]


EDITS = {
    "LEAD": lambda paragraphs, rest: [rest, *paragraphs[1:]],
    "ADD": lambda paragraphs, rest: [*paragraphs, rest],
    "DROP": lambda paragraphs, rest: paragraphs[: -int(rest)],
    "SWAP": swap,
    "RETYPED": retyped,
}


def main() -> None:
    """Write the files, the articles in order of date."""
    articles = read_stories(STORIES.read_text(encoding="utf-8"))
    articles.sort(key=lambda article: (article.date, article.id))
    lines = [json.dumps(article._asdict(), ensure_ascii=False) + "\n" for article in articles]
    (EXAMPLES / "articles.jsonl").write_text("".join(lines), encoding="utf-8")
    stories = label(STORIES.read_text(encoding="utf-8"))
    rows = [f"{article.id},{stories[article.id]}\n" for article in articles]
    (EXAMPLES / "stories.csv").write_text("id,cluster\n" + "".join(rows), encoding="utf-8")
    for article in articles:
        if article.id in ("harbour", "harbour-syndicated"):
            (EXAMPLES / f"{article.id}.txt").write_text(article.text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
