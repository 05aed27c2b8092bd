"""What stands on pages among the article and is no part of it: teasers, appeals, comments, menus in tables."""

from __future__ import annotations

import random
import re
from html import escape

from article_pieces import Words

BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)


def teasers(words: Words, rng: random.Random) -> str:
    """Links to other articles, which are no part of this one."""
    titles = [f'<a href="/x">{escape(words.some(rng, 4, 12))}</a>' for _ in range(rng.randint(1, 6))]
    chance = rng.random()
    if chance < 0.25:
        return f"<p><strong>Read more:</strong> {titles[0]}</p>"
    if chance < 0.6:
        return "<div><h3>Related stories</h3><ul><li>" + "</li><li>".join(titles) + "</li></ul></div>"
    shown = [f"<div><h4>{title}</h4><p>{escape(words.some(rng, 8, 24))}</p></div>" for title in titles]
    return f'<div class="{rng.choice(("related", "more", "x8f3", "grid"))}">{"".join(shown)}</div>'


def appeal(words: Words, rng: random.Random) -> str:
    """A request to subscribe."""
    field = '<form action="/n"><label>Your address</label><input><button>Sign up</button></form>'
    text = rng.choice(("Get the best stories in your inbox.", "Sign up for our newsletter and never miss a story.",
                       "Support our work. Become a member today."))  # fmt: skip
    name = rng.choice(("newsletter", "box", "c-93ab"))
    return f'<div class="{name}"><h4>{words.some(rng, 2, 5)}</h4><p>{text}</p>{field}</div>'


def thread(words: Words, rng: random.Random) -> str:
    """Comments of readers, some as long as an article."""
    shown = []
    for _ in range(rng.randint(3, 30)):
        said = " ".join(rng.choice(words.sentences) for _ in range(rng.randint(1, 6)))
        by = rng.choice(("comment-author", "author", "meta"))
        head = f'<div class="{by}">{words.some(rng, 1, 2)} <a href="/x">Reply</a></div>'
        shown.append(f'<li class="comment">{head}<p>{escape(said)}</p></li>')
    name = rng.choice(("comments", "comment-list", "comments-area", "respond"))
    return f'<div id="{name}"><h3>{len(shown)} comments</h3><ol>{"".join(shown)}</ol></div>'


def layout_table(html: str, words: Words, rng: random.Random) -> str:
    """The page as the middle cell of a table; the other cells have menus and teasers."""
    found = BODY.search(html)
    if not found:
        return html

    def menu() -> str:
        entries = [words.some(rng, 1, 3) for _ in range(rng.randint(6, 25))]
        linked = [f'<a href="/x">{escape(e)}</a>' if rng.random() < 0.9 else escape(e) for e in entries]
        if rng.random() < 0.5:
            return "<br>".join(linked)
        return "<table><tr><td>" + "</td></tr><tr><td>".join(linked) + "</td></tr></table>"

    def column() -> str:
        shown = [
            f'<a href="/x"><b>{escape(words.some(rng, 3, 8))}</b></a><br>{escape(words.some(rng, 6, 22))}'
            for _ in range(rng.randint(2, 8))
        ]
        return "<p>".join(shown)

    left, right = menu(), column() if rng.random() < 0.7 else menu()
    at = found.end()
    return f"{html[:at]}<table><tr><td>{left}</td><td>{html[at:]}</td><td>{right}</td></tr></table>"
