"""Pages of other kinds, made from labelled ones: guides, listicles, tables, recipes, manuals, reviews and so on.

The labelled pages are nearly all news. Their articles are rewritten here into the forms that other sites use, inside
their own boilerplate and with what often stands among an article (`article_intrusions.py`); the gold text changes with
them. Nothing of the result is kept: `train_article_weights.py`
makes the pages when it learns.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from html import escape, unescape
from typing import Any

from article_intrusions import appeal, layout_table, teasers, thread
from article_pieces import SENTENCE_END, Piece, Words, cell, element, item_list, link_element, wrap

PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p\s*>", re.IGNORECASE | re.DOTALL)
TAG = re.compile(r"<[^>]*>")
NAMES = re.compile(r"\b(class|id)\s*=\s*(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
LEAST = 40  # characters of a paragraph that is rewritten
INTRUDED = 0.3  # of the runs of paragraphs get teasers or an appeal among them
COMMENTED = 0.25  # of the pages get comments after the article
COMMENTS_HERE = "<!-- comments -->"  # they keep their names where the others lose them
IN_TABLE = 0.15  # of the pages are put into a layout table


Rewrite = Callable[[list[str], Words, random.Random], list[Piece]]


def rewritten(document: dict[str, Any], kind: str, words: Words, rng: random.Random) -> dict[str, Any] | None:
    """The page with its article in another form; None if it has too few paragraphs to rewrite."""
    html, gold = document["html"], " ".join(document["gold"].split())
    spans = [
        (found.start(), found.end(), text)
        for found in PARAGRAPH.finditer(html)
        if len(text := plain(found[1])) >= LEAST and text in gold
    ]
    if len(spans) < 3:
        return None
    groups = _neighbours(spans, html)
    parts, at = [], 0
    for group in groups:
        pieces = KINDS[kind]([text for _, _, text in group], words, rng)
        if rng.random() < INTRUDED:
            pieces.insert(
                rng.randint(0, len(pieces)), Piece(rng.choice((teasers, teasers, appeal))(words, rng), "")
            )
        parts += [html[at : group[0][0]], "\n".join(piece.html for piece in pieces)]
        at = group[-1][1]
        first = gold.find(group[0][2])
        last = gold.find(group[-1][2], max(first, 0))
        if first < 0 or last < 0:
            return None
        gold = f"{gold[:first]} {' '.join(p.text for p in pieces)} {gold[last + len(group[-1][2]) :]}"
    page = "".join(parts) + COMMENTS_HERE + html[at:]
    if rng.random() < IN_TABLE:
        page = layout_table(page, words, rng)
    if rng.random() < 0.4:
        page = without_names(page, rng)
    page = page.replace(COMMENTS_HERE, thread(words, rng) if rng.random() < COMMENTED else "")
    return {**document, "id": f"{document['id']} {kind}", "html": page, "gold": gold}


def plain(html: str) -> str:
    """The text of a paragraph."""
    return " ".join(unescape(TAG.sub("", html)).split())


def without_names(html: str, rng: random.Random) -> str:
    """The page with names of classes as build tools make them, which say nothing."""
    known: dict[str, str] = {}

    def replace(found: re.Match[str]) -> str:
        name = found[2].strip("\"'")
        known.setdefault(name, f"{rng.choice('abcxyz')}{rng.randrange(16**6):06x}")
        return f'{found[1]}="{known[name]}"'

    return NAMES.sub(replace, html)


def _neighbours(spans: list[tuple[int, int, str]], html: str) -> list[list[tuple[int, int, str]]]:
    """Runs of paragraphs with nothing but white space between them."""
    groups = [[spans[0]]]
    for span in spans[1:]:
        between = html[groups[-1][-1][1] : span[0]]
        if between.strip():
            groups.append([])
        groups[-1].append(span)
    return [group for group in groups if group]


def guide(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Sections with sub-headings, paragraphs, and lists of sentences or of a few words."""
    found: list[Piece] = []
    for number, text in enumerate(texts):
        if number and rng.random() < 0.45:
            found.append(element(rng.choice(("h2", "h2", "h3", "h4")), words.title(rng)))
        sentences = SENTENCE_END.split(text)
        if len(sentences) > 1 and rng.random() < 0.4:
            found += [element("p", sentences[0]), item_list(sentences[1:], rng)]
        else:
            found.append(element("p", text))
        if rng.random() < 0.25:
            found.append(item_list([words.some(rng, 1, 8) for _ in range(rng.randint(3, 9))], rng))
    return found


def listicle(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Numbered entries, each with a title, a short text and sometimes facts or a button."""
    found: list[Piece] = []
    heading, box = rng.choice(("h2", "h3", "strong")), rng.random() < 0.5
    for number, text in enumerate(texts, 1):
        title = words.title(rng)
        shown = f"{number}. {title}" if rng.random() < 0.6 else title
        sentences = SENTENCE_END.split(text)
        entry = [link_element(heading, shown) if rng.random() < 0.3 else element(heading, shown)]
        entry.append(element("p", " ".join(sentences[: rng.randint(1, 3)])))
        if rng.random() < 0.4:
            entry.append(item_list([words.some(rng, 2, 6) for _ in range(rng.randint(2, 5))], rng))
        found.append(wrap("<div><div>", entry, "</div></div>") if box else wrap("", entry, ""))
    return found


def table(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Paragraphs with tables of short cells between them."""
    found: list[Piece] = []
    for text in texts:
        found.append(element("p", text))
        if rng.random() < 0.35:
            width = rng.randint(2, 4)
            rows = [
                wrap("<tr>", [element("td", cell(words, rng)) for _ in range(width)], "</tr>")
                for _ in range(rng.randint(3, 9))
            ]
            head = wrap("<tr>", [element("th", words.some(rng, 1, 2)) for _ in range(width)], "</tr>")
            found.append(wrap("<table>", [head, *rows], "</table>"))
    return found


def answers(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Questions with their answers, definitions, and quotations."""
    found: list[Piece] = []
    defined = rng.random() < 0.4
    for text in texts:
        question = words.some(rng, 3, 9) + "?"
        if defined:
            found.append(wrap("<dl>", [element("dt", question), element("dd", text)], "</dl>"))
        else:
            found += [element(rng.choice(("h3", "h4", "strong")), question), element("div", text)]
        if rng.random() < 0.15:
            found.append(wrap("<blockquote>", [element("p", words.some(rng, 6, 25))], "</blockquote>"))
    return found


def lines(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Text without paragraphs: line breaks, or containers of one line each."""
    if rng.random() < 0.5:
        pieces = [Piece(escape(text, quote=False) + "<br><br>", text) for text in texts]
        return [wrap("<div>", pieces, "</div>")]
    sentences = [s for text in texts for s in SENTENCE_END.split(text)]
    return [element("div", sentence) for sentence in sentences]


def recipe(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """A text, facts, ingredients of a few words, numbered steps, and what to know."""
    found = [element("p", text) for text in texts[:2]]
    facts = [
        element(rng.choice(("span", "div")), f"{rng.randint(5, 90)} {words.some(rng, 1, 2)}")
        for _ in range(3)
    ]
    found.append(wrap("<div>", facts, "</div>"))
    for _ in range(rng.randint(1, 2)):
        found.append(element(rng.choice(("h2", "h3", "p")), words.title(rng)))
        items = [f"{rng.randint(1, 500)} {words.some(rng, 1, 5)}" for _ in range(rng.randint(4, 12))]
        found.append(item_list(items, rng, linked=rng.random() < 0.1))
    found.append(element(rng.choice(("h2", "h3")), words.title(rng)))
    steps = [s for text in texts[2:] for s in SENTENCE_END.split(text)]
    found.append(
        item_list(steps, rng, linked=False)
        if rng.random() < 0.6
        else wrap("", [element("p", s) for s in steps], "")
    )
    return found


def manual(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Documentation: headings, paragraphs, code, definitions and notes."""
    found: list[Piece] = []
    for text in texts:
        if rng.random() < 0.5:
            found.append(element(rng.choice(("h2", "h3", "h4")), words.some(rng, 1, 5)))
        found.append(element("p", text))
        chance = rng.random()
        if chance < 0.3:
            code = "\n".join(
                f"{words.some(rng, 1, 3).replace(' ', '_')}({rng.randint(0, 99)})"
                for _ in range(rng.randint(1, 8))
            )
            found.append(element("pre", code))
        elif chance < 0.45:
            pairs = [
                wrap("", [element("dt", words.some(rng, 1, 2)), element("dd", words.some(rng, 3, 14))], "")
                for _ in range(rng.randint(2, 6))
            ]
            found.append(wrap("<dl>", pairs, "</dl>"))
        elif chance < 0.6:
            found.append(
                wrap(
                    "<div><p>",
                    [element("strong", "Note"), Piece(" ", " "), element("span", words.some(rng, 6, 20))],
                    "</p></div>",
                )
            )
    return found


def review(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Products: a title, a table of facts, points for and against, a text; buttons to a shop are no article."""
    found: list[Piece] = []
    while texts:
        part, texts = texts[: rng.randint(1, 3)], texts[3:]
        entry = [element(rng.choice(("h2", "h3")), words.title(rng))]
        if rng.random() < 0.5:
            rows = [
                wrap("<tr>", [element("td", words.some(rng, 1, 2)), element("td", cell(words, rng))], "</tr>")
                for _ in range(rng.randint(3, 7))
            ]
            entry.append(wrap("<table>", rows, "</table>"))
        entry += [element("p", text) for text in part]
        if rng.random() < 0.6:
            for name in ("Pros", "Cons"):
                points = [words.some(rng, 1, 6) for _ in range(rng.randint(2, 4))]
                entry.append(
                    wrap("<div>", [element("h4", name), item_list(points, rng, linked=False)], "</div>")
                )
        if rng.random() < 0.5:
            entry.append(Piece('<div><a href="/shop">Check the price</a></div>', ""))
        found.append(
            wrap("<section>", entry, "</section>") if rng.random() < 0.5 else wrap("<div>", entry, "</div>")
        )
    return found


def ticker(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Entries with a time, a title and a few sentences."""
    found: list[Piece] = []
    tag = rng.choice(("li", "div", "section"))
    for text in texts:
        entry = [element("h3", words.title(rng))] if rng.random() < 0.7 else []
        entry += [element("p", sentence) for sentence in SENTENCE_END.split(text)]
        found.append(wrap(f"<{tag}>", entry, f"</{tag}>"))
    return [wrap("<ul>", found, "</ul>")] if tag == "li" else found


def cards(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Text in containers that say nothing, one or several around each paragraph."""
    found: list[Piece] = []
    depth = rng.randint(1, 3)
    inner = rng.choice(("span", "p", "div"))
    for text in texts:
        if rng.random() < 0.4:
            found.append(
                wrap(
                    "<div>" * depth,
                    [element(rng.choice(("h2", "div", "span")), words.title(rng))],
                    "</div>" * depth,
                )
            )
        found.append(wrap("<div>" * depth, [element(inner, text)], "</div>" * depth))
        if rng.random() < 0.15:
            caption = element("div", words.some(rng, 3, 10)).html
            found.append(Piece(f'<figure><img src="/x"><figcaption>{caption}</figcaption></figure>', ""))
    return found


KINDS: dict[str, Rewrite] = {
    "guide": guide,
    "listicle": listicle,
    "table": table,
    "answers": answers,
    "lines": lines,
    "recipe": recipe,
    "manual": manual,
    "review": review,
    "ticker": ticker,
    "cards": cards,
}
