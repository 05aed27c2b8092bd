"""The report of an evaluation as one page: methods compared, curves, and the worst errors of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from neardup.explain.passages import Comparison
from neardup.pages.charts import Line, curves
from neardup.pages.document import Section, document
from neardup.pages.escaping import named, safe
from neardup.pages.parts import Cell, note, table
from neardup.pages.side_by_side import LEGEND, Caption, side_by_side
from neardup.plurals import counted

__all__ = ["EvaluationPage", "MethodErrorList", "ShownError", "Table", "evaluation_page"]

ROOM = 3_500_000  # bytes for the texts of errors
OPEN = 1  # errors of each list whose texts are shown at once
KINDS = (
    ("false positive", "False positives", "Labelled different, highest scores first."),
    ("false negative", "False negatives", "Labelled the same, lowest scores first."),
)


@dataclass(frozen=True)
class ShownError:
    """A wrongly decided pair, with the comparison of its texts."""

    kind: str
    left: str
    right: str
    score: float
    clusters: tuple[str, str]  # their labels
    similar: int  # errors of this kind between the same two clusters
    comparison: Comparison


@dataclass(frozen=True)
class MethodErrorList:
    """The worst errors of a method at its threshold, and how many there are."""

    name: str
    threshold: float
    errors: Sequence[ShownError]
    false_positives: int
    false_negatives: int


@dataclass(frozen=True)
class Table:
    """A table of scores: the first column has names."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class EvaluationPage:
    """Everything that the page shows."""

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    precision_recall: Sequence[Line] = ()
    f1: Sequence[Line] = ()
    methods: Sequence[MethodErrorList] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def evaluation_page(page: EvaluationPage) -> str:
    """The whole page."""
    intro = "".join(f"<p>{safe(sentence)}</p>\n" for sentence in page.sentences)
    tables = "".join(table(one.caption, one.head, one.rows) for one in page.tables)
    sections = [
        ("methods", "Methods compared", tables + "".join(map(note, page.notes))),
        ("curves", "Precision, recall and F1", _curves(page)),
        *_errors(page.methods),
    ]
    return document(page.title, "Report of neardup evaluate", intro, sections)


def _curves(page: EvaluationPage) -> str:
    if not page.precision_recall:
        return ""
    words = note(
        "Curves are over all pairs; a dot is a method at its threshold, with the candidates that it found."
    )
    label = "Precision by recall, a line for each method"
    first = curves(page.precision_recall, label=label, x_axis="recall", y_axis="precision")
    second = curves(page.f1, label="F1 by threshold, a line for each method", x_axis="threshold", y_axis="F1")
    return f"{words}<h3>Precision by recall</h3>\n{first}<h3>F1 by threshold</h3>\n{second}"


def _errors(methods: Sequence[MethodErrorList]) -> Iterable[Section]:
    """A section for each method; they share the room for texts."""
    room = ROOM // max(len(methods), 1)
    for number, method in enumerate(methods, 1):
        yield f"errors-{number}", f"Errors of {method.name}", _method(method, room)


def _method(method: MethodErrorList, room: int) -> str:
    counts = (
        f"Threshold {method.threshold:g}: {counted(method.false_positives, 'false positive')}, "
        f"{counted(method.false_negatives, 'false negative')}. The worst are shown, spread over the clusters. {LEGEND}"
    )
    parts = [note(counts)]
    for kind, heading, words in KINDS:
        chosen = [one for one in method.errors if one.kind == kind]
        shown = [_error(one, place <= OPEN) for place, one in enumerate(chosen, 1)]
        parts.append(f"<h3>{heading}</h3>\n{note(words if chosen else 'None.')}")
        fitting = []
        for text in shown:
            room -= len(text.encode())
            fitting += [text] if room >= 0 else []
        parts += fitting
        if len(fitting) < len(shown):
            parts.append(
                note(f"{counted(len(shown) - len(fitting), 'more')} would make this page too large.")
            )
    return "".join(parts)


def _error(one: ShownError, is_open: bool) -> str:
    """One pair: its scores, and both texts."""
    found = one.comparison
    details = [
        f"{found.shared:,} shared features, similarity {found.similarity:.3f}, containment {found.containment:.3f}",
        *([f"one of {one.similar:,} errors between these clusters"] if one.similar > 1 else []),
    ]
    captions = [
        Caption(name, about="" if cluster == name else f"cluster {cluster}")
        for name, cluster in zip((one.left, one.right), one.clusters, strict=True)
    ]
    return (
        f'<details class="pair"{" open" if is_open else ""}><summary><strong>{one.score:.3f}</strong> '
        f'{named(one.left)} and {named(one.right)}<span class="tags">{safe("; ".join(details))}</span></summary>\n'
        f'<div class="inside">{side_by_side(found, (captions[0], captions[1]))}</div></details>\n'
    )
