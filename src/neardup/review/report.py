"""The report of a finished run: everything that its page shows, and the page as a file."""

from __future__ import annotations

import os
from pathlib import Path

from neardup.documents.document_columns import require_column
from neardup.errors import InputError
from neardup.output import OutputFolder
from neardup.pages.charts import Bar
from neardup.pages.graphs import ClusterGraph, Link, Node
from neardup.pages.run_page import Breakdown, RunPage, run_page
from neardup.pages.thresholds import SimilarityCounts
from neardup.plurals import counted
from neardup.review.breakdown import by_column, by_date, date_column, largest, source_column
from neardup.review.evidence import (
    ClusterEvidence,
    Member,
    PairEvidence,
    decided_by,
    read_clusters,
    read_pairs,
)
from neardup.review.finished import Finished
from neardup.review.reference_texts import reference_texts
from neardup.review.removals import chosen_removals, removal_groups, wanted_documents

__all__ = ["make_page", "write_report"]

DRAWN = 6  # clusters
ROWS = 20  # values of a column
PERIODS = 60  # days, months or years


def write_report(
    finished: Finished,
    path: str | os.PathLike[str],
    *,
    by: str | None = None,
    date: str | None = None,
    force: bool = False,
) -> Path:
    """Writes the page and returns its path; the file is complete or is not there."""
    path = Path(path)
    page = run_page(make_page(finished, by=by, date=date))
    with OutputFolder(path.parent, force=force) as output:
        output.file(path.name).write_text(page, encoding="utf-8")
        output.commit()
    return path


def make_page(finished: Finished, *, by: str | None = None, date: str | None = None) -> RunPage:
    """What the page shows, from one pass over each table and the texts of the removals that are shown."""
    report, plan = finished.report, finished.plan
    large = [str(one["cluster"]) for one in report["largest_clusters"][:DRAWN]]
    clusters = read_clusters(finished, large)
    pairs = read_pairs(finished, (doc.id for members in clusters.members.values() for doc in members))
    chosen = chosen_removals(clusters, large, plan.threshold)
    found = finished.texts(wanted_documents(chosen))
    references, unread = reference_texts(finished, (one for group in chosen for one in group.rows))
    breakdowns, notes = _breakdowns(finished, by, date)
    return RunPage(
        name=finished.name,
        report=report,
        similarities=SimilarityCounts(
            plan.threshold,
            decided_by(plan),
            pairs.bins.tolist(),
            clusters.bins.tolist(),
            clusters.unmeasured,
            verified=plan.check.level != "none",
        ),
        sizes=clusters.sizes,
        breakdowns=breakdowns,
        graphs=_graphs(finished, clusters, pairs),
        groups=list(removal_groups(chosen, found.texts, references, plan)),
        notes=[*notes, *found.notes, *unread],
    )


def _breakdowns(finished: Finished, by: str | None, date: str | None) -> tuple[list[Breakdown], list[str]]:
    """Documents by input, by a column and by date; and sentences about what could not be counted."""
    names, notes, shown = finished.columns(), [], []
    for asked in (by, date):
        if asked is not None and not names:
            raise InputError(
                f"{finished.name} has no documents to count by {asked!r}: it was written with --mode none"
            )
        if asked is not None:
            require_column(asked, names, finished.name)
    sources = finished.report.get("sources") or []
    if len(sources) > 1:
        rows = [(one["name"], (one["documents"] - one["removed"], one["removed"])) for one in sources]
        shown.append(_breakdown("By input", dict(rows), ROWS))
    if column := by or source_column(names):
        counts = by_column(finished, column)
        if by or 1 < len(counts) < 0.5 * finished.report["documents"]:  # else it names documents, not sources
            shown.append(
                _breakdown(
                    f"By {'host of ' if column.lower() in ('url', 'uri') else ''}{column}", counts, ROWS
                )
            )
    if column := date or date_column(names):
        dated, unreadable = by_date(finished, column)
        if dated:
            shown.append(_breakdown(f"By {column}", dated, PERIODS))
        if unreadable:
            notes.append(f"{counted(unreadable, 'value')} of {column} cannot be read as a date.")
    return shown, notes


def _breakdown(heading: str, counts: dict[str, tuple[int, int]], most: int) -> Breakdown:
    return Breakdown(heading, [Bar(*row) for row in largest(counts, most)])


def _graphs(finished: Finished, clusters: ClusterEvidence, pairs: PairEvidence) -> list[ClusterGraph]:
    """The largest clusters as nodes and links."""
    shown = []
    for one in finished.report["largest_clusters"][:DRAWN]:
        members = clusters.members[str(one["cluster"])]
        nodes = [Node(doc.id, doc.kept, _known(doc.similarity)) for doc in members]
        shown.append(
            ClusterGraph(
                str(one["cluster"]),
                one["size"],
                nodes,
                _links(members, pairs, finished.plan.threshold),
                _held_together(one),
            )
        )
    return [graph for graph in shown if len(graph.nodes) > 2]  # a pair needs no picture


def _links(members: list[Member], pairs: PairEvidence, threshold: float) -> list[Link]:
    """Recorded pairs, and removed documents with what they duplicate where they reach the threshold with it."""
    place = {doc.id: number for number, doc in enumerate(members)}
    found = {
        (place[left], place[right]): Link(place[left], place[right], _known(similarity), bridge)
        for left, right, similarity, bridge in pairs.links
        if left in place and right in place
    }
    for number, doc in enumerate(members):
        reaches = not doc.kept and doc.similarity > threshold - 1e-9  # not where it is NaN
        other = place.get(doc.duplicate_of) if reaches else None
        if other is not None and not {(number, other), (other, number)} & found.keys():
            found[number, other] = Link(number, other, _known(doc.similarity), bridge=False)
    return list(found.values())


def _known(value: float) -> float | None:
    return None if value != value else value


def _held_together(cluster: dict[str, object]) -> str:
    """The similarity that holds a cluster together."""
    for key, words in (("weakest_link", "weakest link"), ("merge_height", "merge height")):
        if isinstance(value := cluster.get(key), float):
            return f"{words} {value:.3f}"
    return "not measured"
