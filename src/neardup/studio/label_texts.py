"""A document, or two beside each other, as a judge sees them."""

from __future__ import annotations

from starlette.requests import Request

from neardup.explain.passages import shared_passages
from neardup.labelling.store import Item, LabelStore
from neardup.pages.escaping import named, safe
from neardup.pages.side_by_side import LEGEND, Caption, side_by_side
from neardup.plan import Plan
from neardup.registry import get_method
from neardup.studio.app_page import link
from neardup.studio.label_shared import link_to, run_of

__all__ = ["VIEWS", "item_text", "view_links", "view_of"]

MOST = 60_000  # characters of a text that are shown
VIEWS = {"shared": ("Shared passages", "s"), "whole": ("Whole texts", "w"), "raw": ("As read", "r")}


def view_of(request: Request, item: Item) -> str:
    """The view that the address asks for."""
    usual = "shared" if item.kind == "pair" else "whole"
    view = request.query_params.get("view", usual)
    return view if view in VIEWS and (item.kind == "pair" or view != "shared") else usual


def view_links(request: Request, store: LabelStore, item: Item) -> str:
    """Links to the other views; the text as read only where it differs."""
    current = view_of(request, item)
    differs = any(raw is not None for _, raw in store.texts(filter(None, (item.a, item.b))).values())
    shown = [name for name in VIEWS if (name != "shared" or item.b) and (name != "raw" or differs)]
    if len(shown) < 2:
        return ""
    links = []
    for name in shown:
        label, key = VIEWS[name]
        marked = "true" if name == current else None
        links.append(
            f"<li>{link(link_to(request.url.path, view=name), label, key=key, aria_current=marked)}</li>"
        )
    return f'<nav class="views" aria-label="View"><ul>{"".join(links)}</ul></nav>\n'


def item_text(request: Request, store: LabelStore, item: Item) -> str:
    """The texts of an item in the view that is asked for."""
    view = view_of(request, item)
    texts = store.texts(filter(None, (item.a, item.b)))
    if view == "shared":
        return _shared(run_of(request).plan, item, texts)
    chosen = {id: (raw if view == "raw" and raw is not None else text) for id, (text, raw) in texts.items()}
    ends = [("A", item.a), ("B", item.b)] if item.b else [("", item.a)]
    figures = "".join(_figure(name, id, chosen.get(id, "")) for name, id in ends)
    return f'<div class="{"sides" if item.b else "alone"}">\n{figures}</div>\n'


def _shared(plan: Plan, item: Item, texts: dict[str, tuple[str, str | None]]) -> str:
    """Two texts with the passages that they share; by word 5-grams where the method needs a corpus."""
    used = get_method("minhash").plan() if plan.counts else plan
    left, right = (texts.get(id, ("", None))[0] for id in (item.a, item.b))
    compared = shared_passages(used, left, right)
    sides = side_by_side(compared, (Caption(f"A: {item.a}"), Caption(f"B: {item.b}")))
    return f'<p class="note">{safe(LEGEND)}</p>\n' + sides


def _figure(name: str, id: str, text: str) -> str:
    head = f"{name}: " if name else ""
    rest = len(text) - MOST
    more = f'<p class="note">{rest:,} more characters are not shown.</p>' if rest > 0 else ""
    body = safe(text[:MOST]) if text.strip() else '<span class="gap">no text</span>'
    return (
        f"<figure>\n<figcaption>{head}{named(id)}</figcaption>\n"
        f'<div class="text" dir="auto">{body}</div>{more}\n</figure>\n'
    )
