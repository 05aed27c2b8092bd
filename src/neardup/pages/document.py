"""A whole page in one file: its style and script are inside, and its policy forbids everything else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files

from neardup.pages.escaping import safe

__all__ = ["Section", "document", "section"]

Section = tuple[str, str, str]  # anchor, heading, HTML

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="neardup">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><p class="kind">{kind}</p><h1>{title}</h1>{intro}</header>
{contents}<main id="main">
{body}</main>
<footer><p>{foot}</p></footer>
<script>{script}</script>
</body>
</html>
"""


def document(
    title: str, kind: str, intro: str, sections: Iterable[Section], foot: str = "Made by neardup."
) -> str:
    """The page; `intro` and the bodies of sections are HTML, the other arguments are text."""
    chosen = [one for one in sections if one[2]]
    links = "".join(f'<li><a href="#{anchor}">{safe(heading)}</a></li>' for anchor, heading, _ in chosen)
    contents = f'<nav aria-label="Contents"><ol>{links}</ol></nav>\n' if len(chosen) > 1 else ""
    style, script = asset("style.css"), asset("page.js")
    return PAGE.format(
        policy=policy(style, script),
        title=safe(title),
        kind=safe(kind),
        style=style,
        intro=intro,
        contents=contents,
        body="".join(section(*one) for one in chosen),
        foot=safe(foot),
        script=script,
    )


def section(anchor: str, heading: str, body: str) -> str:
    """A section under its heading."""
    head = f'<h2 id="{anchor}-h">{safe(heading)}</h2>'
    return f'<section id="{anchor}" aria-labelledby="{anchor}-h">\n{head}\n{body}\n</section>\n'


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return files("neardup.pages").joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """A policy that allows this style and this script, by their digests, and nothing else."""
    allowed = (
        f"{kind}-src 'sha256-{_digest(text)}'" for kind, text in (("style", style), ("script", script))
    )
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
