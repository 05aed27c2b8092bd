"""Whole pages of the studio, and the small parts that sections share: forms, buttons with keys, messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from neardup.pages.document import asset
from neardup.pages.escaping import named, safe
from neardup.studio.app_sections import Section
from neardup.studio.app_session import Session

__all__ = [
    "button",
    "csrf_field",
    "exact",
    "form",
    "go",
    "link",
    "message",
    "page",
    "refusal",
    "show",
    "static_file",
]

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FROM_PAGES = {"pages.css": "style.css", "pages.js": "page.js"}  # of the reports
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" type="image/svg+xml" href="{icon}">
{links}
</head>
<body class="studio">
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<a class="brand" href="/">neardup <span>studio</span></a>
<p class="target">{target}</p>
{nav}
</header>
<main id="main" tabindex="-1">
{body}
</main>
</body>
</html>
"""
Attributes = Mapping[str, str | bool | None]


def show(request: Request, title: str, body: str, *, status: int = 200) -> HTMLResponse:
    """The page of a section; `body` is HTML, and has the h1 of the page."""
    studio = request.app.state.studio
    first = request.url.path.split("/")[1]
    section = next((one for one in studio.sections if one.name == first), None)
    text = page(title, body, studio.target.name, studio.sections, section, request.state.session)
    return HTMLResponse(text, status)


def page(
    title: str,
    body: str,
    target: str = "",
    sections: Sequence[Section] = (),
    current: Section | None = None,
    session: Session | None = None,
) -> str:
    """A page with its bar and its navigation."""
    styles = ("pages.css", "studio.css", *(current.styles if current else ()))
    scripts = ("keys.js", *(current.scripts if current else ()))
    links = [f'<link rel="stylesheet" href="{address(name)}">' for name in styles]
    links += [f'<script src="{address(name)}" defer></script>' for name in scripts]
    full = " – ".join(part for part in (title, target, "neardup studio") if part)
    return PAGE.format(
        title=safe(full),
        icon=address("icon.svg"),
        links="\n".join(links),
        target=named(target) if target else "",
        nav=_navigation(sections, current, session),
        body=body,
    )


def _navigation(sections: Sequence[Section], current: Section | None, session: Session | None) -> str:
    if session is None:
        return ""
    entries = "".join(
        f'<li><a href="{one.address}"{_current(one is current)}>{safe(one.label)}</a></li>'
        for one in sections
    )
    you = f'<a class="you" href="/you"><span class="unseen">You are </span>{named(session.name)}</a>'
    return f'<nav aria-label="Sections"><ul>{entries}</ul></nav>\n{you}'


def _current(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""


def refusal(
    target: str, sections: Sequence[Section], session: Session | None, status: int, sentence: str
) -> Response:
    """The page about a request that is not answered."""
    title = "Not allowed" if status in (401, 403, 421) else "Not possible"
    body = f"<h1>{title}</h1>\n{message(sentence, 'error')}"
    if session is not None:
        body += '<p><a href="/">To the first page</a></p>'
    return HTMLResponse(page(title, body, target, sections, None, session), status)


def go(where: str) -> RedirectResponse:
    """To another page of the studio, after a change."""
    return RedirectResponse(where, 303)


# parts ----------------------------------------------------------------------------------------------


def message(text: str, kind: str = "info") -> str:
    """A sentence that a screen reader announces: info, done or error."""
    role = "alert" if kind == "error" else "status"
    return f'<p class="message {kind}" role="{role}">{safe(text)}</p>\n'


def exact(name: str) -> str:
    """An id for the value of a field, which comes back as it is: control characters would be shown as pictures."""
    return json.dumps(name)


def csrf_field(session: Session) -> str:
    """The hidden field that every form has."""
    return f'<input type="hidden" name="csrf" value="{session.csrf}">'


def form(
    request: Request,
    action: str,
    body: str,
    hidden: Mapping[str, object] | None = None,
    **attributes: str | bool | None,
) -> str:
    """A form that posts to an address; `body` is HTML."""
    fields = "".join(
        f'<input type="hidden" name="{safe(name)}" value="{safe(value)}">'
        for name, value in (hidden or {}).items()
    )
    inner = csrf_field(request.state.session) + fields + body
    return f'<form method="post" action="{safe(action)}"{_attributes(attributes)}>{inner}</form>'


def button(
    label: str,
    *,
    key: str = "",
    name: str = "",
    value: object = "",
    help: str = "",
    **attributes: str | bool | None,
) -> str:
    """A button that submits its form; `key` presses it, `help` explains it in the list of keys."""
    named_value = f' name="{safe(name)}" value="{safe(value)}"' if name else ""
    return (
        f'<button type="submit"{named_value}{_keys(key, help or label)}{_attributes(attributes)}>'
        f"{safe(label)}{_cap(key)}</button>"
    )


def link(where: str, label: str, *, key: str = "", help: str = "", **attributes: str | bool | None) -> str:
    """A link; `key` follows it."""
    return f'<a href="{safe(where)}"{_keys(key, help or label)}{_attributes(attributes)}>{safe(label)}{_cap(key)}</a>'


def _keys(key: str, help: str) -> str:
    if not key:
        return ""
    return f' data-key="{safe(key)}" data-help="{safe(help)}" aria-keyshortcuts="{safe(key)}"'


def _cap(key: str) -> str:
    return f' <kbd aria-hidden="true">{safe(KEY_NAMES.get(key, key))}</kbd>' if key else ""


KEY_NAMES = {"Enter": "↵", "ArrowDown": "↓", "ArrowUp": "↑", " ": "space"}


def _attributes(attributes: Attributes) -> str:
    """Attributes of an element; class_ is class, data_x is data-x, True has no value, None and False are left out."""
    shown: Iterable[str] = (
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{safe(value)}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return "".join(shown)


# files ----------------------------------------------------------------------------------------------


def static_file(name: str) -> Response | None:
    """A style or a script of this package; browsers keep it as long as it does not change."""
    if name not in _static_names():
        return None
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(_static(name), media_type=KINDS[name[name.rindex(".") :]], headers=headers)


@cache
def _static_names() -> frozenset[str]:
    names = (one.name for one in files("neardup.studio").joinpath("static").iterdir())
    return frozenset({*FROM_PAGES, *(name for name in names if name.endswith(tuple(KINDS)))})


@cache
def _static(name: str) -> str:
    if name in FROM_PAGES:
        return asset(FROM_PAGES[name])
    return files("neardup.studio").joinpath("static", name).read_text(encoding="utf-8")


@cache
def address(name: str) -> str:
    """The address of a file of static/, which changes with it."""
    return f"/static/{name}?v={sha256(_static(name).encode()).hexdigest()[:12]}"
