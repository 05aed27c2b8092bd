"""The report of a run of `dedup` as one page, and its head for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neardup.pages.charts import Bar, bars, legend
from neardup.pages.document import document
from neardup.pages.escaping import safe, shortened_name
from neardup.pages.graphs import ClusterGraph, cluster_graph
from neardup.pages.parts import Cell, note, share, table, tiles, warning
from neardup.pages.removal_list import RemovalGroup, removal_list
from neardup.pages.run_record import cost_section, files_section, problem_section, settings_section
from neardup.pages.thresholds import SimilarityCounts, pair_chart, threshold_section
from neardup.plurals import counted, size_in_words

__all__ = ["Breakdown", "RunPage", "run_head", "run_page"]

SIZES = (2, 3, 4, 5, 10, 20, 50, 100, 1000, 10_000, 100_000)  # the least size of each class of clusters
RESTS_ON = {
    "copies": "an equal text",
    "direct": "a similarity that reaches the threshold",
    "by_chain": "a chain of pairs",
    "by_cluster": "the cluster as a whole",
    "unverified": "a candidate pair that was not verified",
    "by_person": "the word of a person (--decisions)",
    "empty": "an empty text (--empty)",
}
PICTURES = (
    "A dot is a document (large: kept). A line is a recorded pair, or a removed document that reaches the threshold "
    "with the one that it duplicates; a thick line is a bridge, without which the cluster falls apart, as far as pairs "
    "were measured. Of a large cluster the kept documents and the least similar ones are drawn."
)
HEAD_STYLE = (
    ".neardup .chart{max-width:36rem;display:block}.neardup .bar{fill:#2f6690}.neardup .grid{stroke:#8885}"
    ".neardup .threshold,.neardup .cut{stroke:#b3541e}.neardup text{fill:currentcolor;font-size:12px}"
)


@dataclass(frozen=True)
class Breakdown:
    """Kept and removed documents by something."""

    heading: str
    rows: Sequence[Bar]


@dataclass(frozen=True)
class RunPage:
    """Everything that the page shows."""

    name: str
    report: Mapping[str, Any]
    similarities: SimilarityCounts
    sizes: Mapping[int, int]  # clusters by size
    breakdowns: Sequence[Breakdown]
    graphs: Sequence[ClusterGraph]
    groups: Sequence[RemovalGroup]
    notes: Sequence[str] = ()


def run_page(page: RunPage) -> str:
    """The whole page."""
    report, found = page.report, page.similarities
    sections = [
        ("removals", "Removals to check first", _removals(page)),
        ("similarity", f"{found.measure.capitalize()} and threshold", threshold_section(found)),
        ("clusters", "Clusters", _clusters(page)),
        ("documents", "Where documents were removed", _breakdowns(page.breakdowns)),
        ("problems", "Problems of the input", problem_section(report["problems"])),
        ("run", "What ran, and on what", settings_section(report, found.threshold, found.measure)),
        ("cost", "Time and memory", cost_section(report)),
        ("files", "Data", files_section(report)),
    ]
    intro = f"<p>{safe(_sentence(page))}</p>\n{_tiles(report)}" + "".join(map(warning, report["warnings"]))
    foot = f"Made by neardup {report['neardup']} from the record of the run; nothing was decided again."
    return document(page.name, "Report of neardup dedup", intro, sections, foot)


def run_head(report: Mapping[str, Any], threshold: float, pairs: Sequence[int]) -> str:
    """The counts, the largest clusters and the histogram of pairs, for a notebook."""
    names = ("documents", "kept", "removed", "clusters")
    rows: list[Sequence[Cell]] = [(name, report[name]) for name in names]
    rows.append(("verified pairs", report["pairs"]["verified"]))
    for one in report["largest_clusters"][:5]:
        rows.append((f"cluster led by {shortened_name(one['leader'], 60)}", counted(one["size"], "document")))
    title = f"neardup {report['plan']['method']}, threshold {threshold:g}"
    chart = pair_chart(pairs, threshold) if any(pairs) else ""
    return f'<div class="neardup"><style>{HEAD_STYLE}</style>{table(title, ("", ""), rows)}{chart}</div>'


def _sentence(page: RunPage) -> str:
    report = page.report
    return (
        f"{counted(report['documents'], 'document')} ({size_in_words(report['text_bytes'])}) compared by "
        f"{report['plan']['method']} at a threshold of {page.similarities.threshold:g}: {report['removed']:,} removed, "
        f"{report['kept']:,} kept."
    )


def _tiles(report: Mapping[str, Any]) -> str:
    documents, copies = report["documents"], counted(report["exact_copies"], "exact copy")
    lowest = report["removals"].get("lowest_similarity")
    return tiles([
        ("Documents", f"{documents:,}", size_in_words(report["text_bytes"])),
        ("Kept", f"{report['kept']:,}", share(report["kept"], documents)),
        ("Removed", f"{report['removed']:,}", f"{share(report['removed'], documents)}; {copies}"),
        ("Clusters", f"{report['clusters']:,}", counted(report["pairs"]["verified"], "verified pair")),
        ("Lowest similarity", "–" if lowest is None else f"{lowest:.3f}", "of a removed document"),
    ])  # fmt: skip


def _removals(page: RunPage) -> str:
    """What removals rest on, and the ones to look at."""
    counts = [(words, page.report["removals"].get(key, 0)) for key, words in RESTS_ON.items()]
    rows = [(words, count, share(count, page.report["removed"])) for words, count in counts if count]
    if not rows:
        return note("No document was removed.")
    notes = "".join(map(note, page.notes))
    shown = removal_list(page.groups, page.report)
    return table("What removals rest on", ("Evidence", "Removals", "Share"), rows) + notes + shown


def _clusters(page: RunPage) -> str:
    """Sizes, and pictures of the largest."""
    if not page.sizes:
        return note("No cluster was found.")
    rows = []
    for least, above in zip(SIZES, [*SIZES[1:], None], strict=True):
        inside = {
            size: n for size, n in page.sizes.items() if least <= size and (above is None or size < above)
        }
        if inside:
            rows.append(
                (_class(least, above), sum(inside.values()), sum(size * n for size, n in inside.items()))
            )
    sizes = table("Clusters by size", ("Documents in a cluster", "Clusters", "Documents"), rows)
    if not page.graphs:
        return sizes
    pictures = "".join(map(cluster_graph, page.graphs))
    return f'{sizes}<h3>The largest clusters</h3>\n{note(PICTURES)}<div class="graphs">{pictures}</div>\n'


def _class(least: int, above: int | None) -> str:
    """The sizes of a class of clusters."""
    if above is None:
        return f"{least:,} or more"
    return f"{least:,}" if above == least + 1 else f"{least:,}–{above - 1:,}"


def _breakdowns(breakdowns: Sequence[Breakdown]) -> str:
    shown = "".join(
        f"<h3>{safe(one.heading)}</h3>\n{bars(one.rows, label=one.heading)}" for one in breakdowns
    )
    return legend([("kept", "kept"), ("removed", "removed")]) + shown if shown else ""
