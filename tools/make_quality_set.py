"""Writes tests/quality/documents.jsonl and clusters.csv: our own labelled set for the floors of quality.

The texts are in tools/quality_set; the seed fixes the rest. Two documents are labelled the same when they come
from one text by editing, however much a site has put around it; reports in one frame with other figures, and
reports of one event by two authors, are different documents.

Run it after a change to the texts:  .venv/bin/python tools/make_quality_set.py
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from random import Random
from typing import NamedTuple

from quality_set.edits import RECIPES, TRANSLATED_RECIPES, Edit, drop, mistype
from quality_set.frames import FRAMES
from quality_set.mails import (
    CAMPAIGNS,
    CLOSINGS,
    FILLERS,
    FOOTER,
    HOSTS,
    NAMES,
    OPENERS,
    SALUTATIONS,
    Campaign,
)
from quality_set.material import Story, read_briefs, read_shorts, read_stories
from quality_set.sites import SITES, Site

FOLDER = Path(__file__).parent.parent / "tests" / "quality"
SEED = 20240611
FRAMED = 28  # reports of each frame, a third of them on two sites
WITH_MARKUP = 0.08  # the share of pages that also have their HTML


class Document(NamedTuple):
    """One line of the set, and the cluster that it belongs to."""

    cluster: str
    kind: str
    title: str
    text: str
    html: str | None


class Block(NamedTuple):
    """A visible piece of a page: what it is, and what it says."""

    role: str
    text: str


def make_documents() -> list[Document]:
    """All documents in a random but fixed order."""
    random = Random(SEED)
    stories = read_stories("stories_town.txt") + read_stories("stories_world.txt")
    rivals, briefs = read_stories("rivals.txt"), read_briefs()
    translated = read_stories("stories_languages.txt")
    headlines = {"en": [story.headlines[0] for story in stories + briefs]}
    for story in translated:
        headlines.setdefault(story.language, []).append(story.headlines[0])
    press = Press(random, headlines)
    documents: list[Document] = []
    for number, story in enumerate(stories):
        documents += press.versions(story, "story", RECIPES, count=4 + number % 4 + 2 * (number % 7 == 0))
    for number, story in enumerate(rivals):
        documents += press.versions(story, "story", RECIPES[:4], count=1 + number % 3)
    for number, story in enumerate(translated):
        documents += press.versions(story, "translated", TRANSLATED_RECIPES, count=3 + number % 3)
    for number, story in enumerate(briefs):
        documents += press.versions(story, "brief", RECIPES[:1] * 2, count=1 + (number % 6 == 0))
    for name in FRAMES:
        documents += press.framed(name)
    documents += [mail for campaign in CAMPAIGNS for mail in write_mails(campaign, random)]
    documents += short_texts()
    random.shuffle(documents)
    return documents


class Press:
    """Sites that print stories; the random numbers and the headlines that they link to."""

    def __init__(self, random: Random, headlines: dict[str, list[str]]) -> None:
        self.random, self.headlines = random, headlines

    def versions(
        self, story: Story, kind: str, recipes: tuple[tuple[Edit, ...], ...], count: int
    ) -> list[Document]:
        """So many versions of a story, each on the site of its language that chance picks."""
        rest = self.random.sample(recipes[1:], min(count - 1, len(recipes) - 1))
        found = []
        for recipe in [recipes[0], *rest]:
            edited = story
            for edit in recipe:
                edited = edit(edited, self.random)
            found.append(self.page(edited, kind, story.id))
        return found

    def framed(self, name: str) -> list[Document]:
        """Reports of one frame, each a document of its own; every third appears on a second site, hardly edited."""
        found = []
        for number in range(FRAMED):
            headline, paragraphs = FRAMES[name](self.random)
            story = Story(f"{name}-{number}", (headline,), paragraphs)
            found.append(self.page(story, name, story.id))
            if number % 3 == 0:
                found.append(
                    self.page(self.random.choice((drop, mistype))(story, self.random), name, story.id)
                )
        return found

    def page(self, story: Story, kind: str, cluster: str) -> Document:
        """A story with everything that a site puts around it."""
        site = self.random.choice([site for site in SITES if site.language == story.language])
        others = [headline for headline in self.headlines[site.language] if headline not in story.headlines]
        related = "  ".join(self.random.sample(others, min(len(others), self.random.randint(2, 5))))
        day = f"{self.random.randint(1, 28)}.{self.random.randint(1, 12)}.2025"
        blocks = [
            Block("nav", site.navigation),
            Block("h1", story.headlines[0]),
            Block("byline", f"{self.random.choice(site.bylines)}, {site.name}, {day}"),
            *(Block("p", " ".join(part)) for part in story.paragraphs),
            Block("aside", site.call),
            Block("related", site.related.format(related=related)),
            Block("footer", site.legal),
        ]
        blocks = [block for block in blocks if block.text]
        html = render(site, blocks) if self.random.random() < WITH_MARKUP else None
        text = "\n".join(block.text for block in blocks)
        return Document(cluster, kind, story.headlines[0], text, html)


def render(site: Site, blocks: list[Block]) -> str:
    """The page as markup; its visible text is that of the blocks."""
    marks = {
        "nav": '<nav class="menu">{}</nav>\n<main><article>',
        "h1": "<h1>{}</h1>",
        "byline": '<p class="byline">{}</p>',
        "p": "<p>{}</p>",
        "aside": '<aside class="newsletter"><p>{}</p></aside>',
        "related": '<div class="related">{}</div>',
        "footer": "</article></main>\n<footer><small>{}</small></footer>",
    }
    body = "\n".join(marks[block.role].format(escape(block.text, quote=False)) for block in blocks)
    head = f'<meta charset="utf-8"><title>{escape(site.name, quote=False)}</title>'
    return (
        f'<!doctype html>\n<html lang="{site.language}"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'
    )


def write_mails(campaign: Campaign, random: Random) -> list[Document]:
    """The mails of a campaign: one payload, and chance around it."""
    found = []
    for _ in range(random.randint(4, 9)):
        code = "".join(random.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=random.randint(6, 10)))
        facts = {
            "code": code,
            "days": random.randint(2, 21),
            "amount": f"{random.randint(2, 99)}.{random.randint(10, 99)} crowns",
            "link": f"https://{random.choice(HOSTS)}/{code.lower()[::-1]}",
            "name": random.choice(NAMES),
        }
        frame = [random.choice(SALUTATIONS), random.choice(OPENERS), random.choice(FILLERS), campaign.payload]
        frame += [random.choice(FILLERS), random.choice(CLOSINGS), FOOTER]
        text = "\n".join(line.format(**facts) for line in frame if line)
        found.append(
            Document(
                f"mail-{campaign.name}", "mail", random.choice(campaign.subjects).format(**facts), text, None
            )
        )
    return found


def short_texts() -> list[Document]:
    """Messages of a sentence or two."""
    blocks = enumerate(read_shorts())
    return [
        Document(f"short-{number}", "short", "", line, None) for number, block in blocks for line in block
    ]


def as_files(documents: list[Document]) -> dict[str, str]:
    """The contents of both files; ids say nothing about clusters."""
    lines, labels = [], ["id,cluster\n"]
    for number, document in enumerate(documents, 1):
        row = {"id": f"q{number:03}", **document._asdict()}
        labels.append(f"{row['id']},{row.pop('cluster')}\n")
        order = ("id", "title", "text", "html", "kind")
        lines.append(json.dumps({name: row[name] for name in order}, ensure_ascii=False) + "\n")
    return {"documents.jsonl": "".join(lines), "clusters.csv": "".join(labels)}


def main() -> None:
    """Write both files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in as_files(make_documents()).items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
