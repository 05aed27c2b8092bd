"""The worst errors as one self-contained HTML page, without network access or scripts.

Texts are untrusted: they are escaped, control characters are shown as symbols, the direction of a text does not affect
the page, and the content security policy forbids loading and running anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from neardup.columns import to_utf8
from neardup.errors import OutputError
from neardup.evaluate.worst_errors import WorstErrors, WorstPair
from neardup.explain.excerpts import cut_middle, visible
from neardup.explain.passages import Side
from neardup.plurals import counted

AROUND = 40  # words shown on either side of a shared passage
WITHIN = 30  # words at each end of a long shared passage
MOST_PASSAGES = 200  # of one text
TINTS = 6  # colours of shared passages, repeated

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #5a6472; --line: #d5dae1; --card: #f6f7f9;
  --t0: #cfe6f7; --t1: #fbe3b5; --t2: #c9eadf; --t3: #f5d9e8; --t4: #f9d6c2; --t5: #e4e2bd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --paper: #14171b; --soft: #9aa5b1; --line: #343b44;
  --card: #1c2127; --t0: #173f5c; --t1: #57400a; --t2: #0f4a3b; --t3: #55314a; --t4: #5c2f16; --t5: #45431a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin: 0; }
a { color: inherit; }
p.note, .details, .gap, figcaption small { color: var(--soft); font-size: .875rem; }
article { border: 1px solid var(--line); border-radius: .5rem; margin: 1rem 0; padding: .75rem;
  background: var(--card); }
.details { margin: .25rem 0 .75rem; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }
figure { margin: 0; min-width: 0; border-top: 3px solid var(--line); padding-top: .5rem; }
figcaption { font-weight: 600; overflow-wrap: anywhere; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .9375rem; unicode-bidi: isolate; }
mark { color: inherit; border-radius: .2rem; padding: 0 .1rem; }
mark::before { content: attr(data-n); font-size: .7em; vertical-align: super; color: var(--soft);
  padding-inline-end: .15em; }
.gap { white-space: nowrap; font-style: italic; unicode-bidi: isolate; }
.t0 { background: var(--t0); } .t1 { background: var(--t1); } .t2 { background: var(--t2); }
.t3 { background: var(--t3); } .t4 { background: var(--t4); } .t5 { background: var(--t5); }
ol.list { padding-inline-start: 1.5rem; } ol.list li { overflow-wrap: anywhere; }
@media (max-width: 44rem) { .sides { grid-template-columns: 1fr; } body { padding: .5rem; } }
"""

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
"""


def write_errors_page(
    path: str | Path, pairs: Sequence[WorstPair], errors: WorstErrors, *, title: str, threshold: float
) -> Path:
    """Writes the page and returns its path."""
    path = Path(path)
    try:
        path.write_text(errors_page(pairs, errors, title=title, threshold=threshold), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot write the error page ({error.strerror or error})") from error
    return path


def errors_page(pairs: Sequence[WorstPair], errors: WorstErrors, *, title: str, threshold: float) -> str:
    """The whole page."""
    parts = [HEAD.format(title=_safe(title), style=STYLE)]
    parts.append(
        f'<p class="note">Threshold {threshold:g}: {counted(errors.total_positives, "false positive")}, '
        f"{counted(errors.total_negatives, 'false negative')}. The worst are shown, spread over the clusters. "
        "Marked passages occur in both texts; equal numbers mark the same passage.</p>\n"
    )
    sections = (
        ("false positive", "False positives", "Labelled different, highest scores first."),
        ("false negative", "False negatives", "Labelled the same, lowest scores first."),
    )
    for kind, heading, note in sections:
        chosen = [(place, pair) for place, pair in enumerate(pairs, 1) if pair.kind == kind]
        parts.append(f'<h2>{heading}</h2>\n<p class="note">{note if chosen else "None."}</p>\n')
        parts.extend(_list(chosen))
        parts.extend(_article(place, pair) for place, pair in chosen)
    return "".join([*parts, "</body>\n</html>\n"])


def _list(chosen: Sequence[tuple[int, WorstPair]]) -> Iterator[str]:
    """Links to the pairs of a section."""
    if chosen:
        yield '<ol class="list">\n'
        for place, pair in chosen:
            names = f"<bdi>{_safe(pair.left)}</bdi> and <bdi>{_safe(pair.right)}</bdi>"
            yield f'<li value="{place}"><a href="#pair-{place}">{pair.score:.3f}  {names}</a></li>\n'
        yield "</ol>\n"


def _article(place: int, pair: WorstPair) -> str:
    """One pair: its scores, and both texts."""
    found = pair.comparison
    details = [
        f"score {pair.score:.3f}",
        f"{found.shared:,} shared features, similarity {found.similarity:.3f}, "
        f"containment {found.containment:.3f}",
    ]
    if pair.similar > 1:
        details.append(f"one of {pair.similar:,} errors between these clusters")
    return (
        f'<article id="pair-{place}">\n<h3>{place}. {pair.kind.capitalize()}</h3>\n'
        f'<p class="details">{"; ".join(details)}</p>\n<div class="sides">\n'
        + _figure(pair.left, pair.clusters[0], found.left)
        + _figure(pair.right, pair.clusters[1], found.right)
        + "</div>\n</article>\n"
    )


def _figure(name: str, cluster: str, side: Side) -> str:
    """One text under its id, in its own direction."""
    about = f"{side.features:,} features, {side.containment:.0%} of them shared"
    label = "" if cluster == name else f"cluster <bdi>{_safe(cluster)}</bdi>; "
    body = "".join(_pieces(side)) or '<span class="gap">no text</span>'
    return (
        f"<figure>\n<figcaption><bdi>{_safe(name)}</bdi><br><small>{label}{about}</small></figcaption>\n"
        f'<div class="text" dir="auto">{body}</div>\n</figure>\n'
    )


def _pieces(side: Side) -> Iterator[str]:
    """The passages of a text in order, the shared ones marked, the long ones shortened."""
    last = len(side.passages) - 1
    for place, passage in enumerate(side.passages[:MOST_PASSAGES]):
        words = visible(side.text[passage.start : passage.end])
        if passage.shared:
            inner = _shortened(words, WITHIN, WITHIN)
            yield f'<mark class="t{passage.number % TINTS}" data-n="{passage.number}">{inner}</mark>'
        else:
            yield _shortened(words, *_context(place, last))
    if last >= MOST_PASSAGES:
        yield f' <span class="gap">… {counted(last + 1 - MOST_PASSAGES, "more passage")}</span>'


def _context(place: int, last: int) -> tuple[int, int]:
    """The number of words to show at both ends of an unshared passage, next to the shared ones.

    The beginning of a text is always shown.
    """
    if place == last == 0:
        return 2 * AROUND, AROUND
    return AROUND, AROUND if place < last else 0


def _shortened(text: str, first: int, last: int) -> str:
    """The text, escaped and with its middle omitted if it is long."""
    head, note, tail = cut_middle(text, first, last)
    gap = f'<span class="gap">{note}</span>' if note else ""
    return _safe(head) + gap + _safe(tail)


def _safe(text: str) -> str:
    """The text, escaped for HTML."""
    return escape(visible(to_utf8(text).decode()))
