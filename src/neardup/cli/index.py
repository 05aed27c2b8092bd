"""neardup index: fingerprints of documents on disk, and decisions about new documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.index.documents import MASTERS
from neardup.plurals import counted


@click.group()
def command() -> None:
    """Keep an index of documents, and check new documents against it.

    INDEX is a folder that `neardup index add` creates. It contains the method's options, the frozen document
    frequencies and a fingerprint of each document.

    \b
    Examples:
      neardup index add pages.index crawl-0301.jsonl --quality-column rank
      neardup index check pages.index crawl-0302.jsonl
      neardup index order pages.index
      neardup index clusters pages.index --master newest
    """


def _open_index(folder: str, **options: Any) -> Any:
    from neardup.index.store import IndexedDocuments

    return IndexedDocuments(folder, **options)


@command.command(
    cls=MethodCommand,
    default_method="simhash",
    short_help="Add or replace documents.",
)
@click.argument("folder", metavar="INDEX")
@options.inputs
@options.count(
    "--refresh-after",
    "Refresh the document frequencies after N new documents, and recompute stale fingerprints.  "
    "[default: 1000000, or as before]",
    least=1,
)
@options.attributes
@options.reading
@options.statistics
def add(
    folder: str, inputs: tuple[str, ...], refresh_after: int | None, chosen: ChosenMethod, **values: Any
) -> None:
    """Add the documents of INPUT to INDEX; a document with an indexed id replaces the indexed one.

    The first call fixes the method (default: simhash with tf-idf) and freezes document frequencies: those of --stats,
    or of its own documents. Later calls need no options. New documents are counted separately; after --refresh-after
    new documents the counts are merged, and all fingerprints are recomputed from the source files.

    \b
    Example:
      neardup index add pages.index crawl-0301.jsonl --quality-column rank
    """
    from neardup.cli.support.pages import attribute_columns, report_problems
    from neardup.cli.support.show import TerminalProgress

    attributes = attribute_columns(values)
    plan, statistics = _requested_plan(folder, chosen, values)
    pages = options.open_inputs(inputs, values)
    index = _open_index(folder, plan=plan, statistics=statistics, refresh_after=refresh_after)
    with index, TerminalProgress() as progress:
        done = index.add(pages.sources, pages.columns, attributes, threads=pages.threads, progress=progress,
                        problems=pages.problems)  # fmt: skip
        total = len(index)
    report_problems(pages.problems)
    lines = [
        f"{counted(done.documents, 'document')}: {done.new:,} new, {done.changed:,} changed; "
        f"the index has {counted(total, 'document')}"
    ]
    if done.refreshed:
        lines.append(f"document frequencies refreshed; {counted(done.recomputed, 'fingerprint')} recomputed")
    if done.stale:
        lines.append(
            f"{counted(done.stale, 'stale fingerprint')}: the source files are missing or have changed"
        )
    emit(values["as_json"], {**done.to_dict(), "indexed": total}, lines)


def _requested_plan(folder: str, chosen: ChosenMethod, values: dict[str, Any]) -> tuple[Any, Any]:
    """The plan of the options; None if no option is given and the index has a plan."""
    from pathlib import Path

    from neardup.api import with_statistics
    from neardup.index.fingerprints import check_fingerprints

    plan = chosen.plan()
    requested = chosen.named or chosen.options or not (Path(folder) / "documents.db").exists()
    _, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    check_fingerprints(plan)
    return plan if requested else None, statistics


@command.command(cls=GroupedCommand)
@click.argument("folder", metavar="INDEX")
@options.as_json
def info(folder: str, as_json: bool) -> None:
    """Summarize INDEX: documents, stale fingerprints, statistics, plan.

    \b
    Example:
      neardup index info pages.index
    """
    with _open_index(folder) as index:
        known = index.info()
    shown = ((name.replace("_", " "), value) for name, value in known.items())
    lines = (f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}" for name, value in shown)
    emit(as_json, known, lines)


@command.command(cls=GroupedCommand, short_help="Refresh document frequencies and fingerprints.")
@click.argument("folder", metavar="INDEX")
@options.as_json
def refresh(folder: str, as_json: bool) -> None:
    """Refresh the document frequencies now, and recompute stale fingerprints from the source files.

    \b
    Example:
      neardup index refresh pages.index
    """
    from neardup.cli.support.show import TerminalProgress

    with _open_index(folder) as index, TerminalProgress() as progress:
        done = {"recomputed": index.refresh(progress=progress), "stale": index.count_stale()}
    summary = f"{counted(done['recomputed'], 'fingerprint')} recomputed, {done['stale']:,} stale"
    emit(as_json, done, [summary])


_search_options = grouped(
    "Decision",
    options.count("--distance", "Bits that near-duplicates may differ in.  [default: that of the index]"),
    options.flag("--skip-stale", "Skip documents whose fingerprint is stale."),
)
_lines_option = grouped(
    "Output", click.option("--json", "as_json", is_flag=True, help="Print one JSON value a line.")
)


def _distance(index: Any, requested: int | None) -> dict[str, int]:
    """The requested distance or that of the index, and the bits that must be equal."""
    from neardup.index.documents import reserved_bits

    usual = int(index.plan.candidates.distance(index.plan.threshold))
    return {"distance": usual if requested is None else requested, "same": reserved_bits(index.plan)}


@command.command(cls=GroupedCommand)
@click.argument("folder", metavar="INDEX")
@options.inputs
@grouped(
    "Decision",
    options.flag("--never-drop", "Demote copies instead of dropping them."),
    _search_options,
)
@options.attributes
@options.reading
def check(folder: str, inputs: tuple[str, ...], never_drop: bool, **values: Any) -> None:
    """Decide about each document of INPUT: keep it, demote it or drop it.

    A document is dropped if its text is that of an indexed document, and demoted (a lower crawl or index priority) if
    its fingerprint is near that of one: it is likely a near-duplicate, but its text differs, even at 0 bits. The
    indexed document must be visible to every group with access to the new one. INDEX does not change.

    \b
    Example:
      neardup index check pages.index crawl-0302.jsonl
    """
    from neardup.cli.support.pages import attribute_columns, report_problems
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.decisions import check_documents

    pages = options.open_inputs(inputs, values)
    with _open_index(folder) as index, TerminalProgress() as progress:
        new = index.fingerprint(pages.sources, pages.columns, attribute_columns(values), threads=pages.threads,
                                progress=progress, problems=pages.problems)  # fmt: skip
        near = _distance(index, values["distance"])
        indexed = index.documents(stale=values["skip_stale"])
        decisions = check_documents(new, indexed, drop=not never_drop, **near)
    report_problems(pages.problems)
    for document, decision in zip(new, decisions, strict=True):
        line = f"{decision.action:8}{document.id}"
        if decision.evidence == "copy":
            line += f"  (copy of {decision.because_of})"
        elif decision.distance is not None:
            line += f"  (likely: {counted(decision.distance, 'bit')} from {decision.because_of})"
        emit(values["as_json"], {"id": document.id, **asdict(decision)}, [line])


@command.command(cls=GroupedCommand, short_help="List ids in the order to crawl them.")
@click.argument("folder", metavar="INDEX")
@_search_options
@_lines_option
def order(folder: str, distance: int | None, skip_stale: bool, as_json: bool) -> None:
    """List ids in the order to crawl them: unique pages first, then second copies, then third ones, …

    \b
    Example:
      neardup index order pages.index
    """
    from neardup.index.decisions import crawl_order

    with _open_index(folder) as index:
        for name in crawl_order(index.documents(stale=skip_stale), **_distance(index, distance)):
            emit(as_json, name, [name])


@command.command(cls=GroupedCommand, short_help="List clusters of two or more documents.")
@click.argument("folder", metavar="INDEX")
@options.choice("--master", MASTERS, "The document that represents its cluster.", default="longest")
@options.choice(
    "--order", ["rank", "time", "length"], "Order of members: as added, newest first, or longest first."
)
@_search_options
@_lines_option
def clusters(
    folder: str, master: Any, order: Any, distance: int | None, skip_stale: bool, as_json: bool
) -> None:
    """List clusters of two or more documents: a master, and the members within the distance of it.

    \b
    Example:
      neardup index clusters pages.index --master newest
    """
    from neardup.index.collapse import clusters_by_master, listed

    with _open_index(folder) as index:
        documents = index.documents(stale=skip_stale)
        found = clusters_by_master(documents, **_distance(index, distance), master=master)
    for place, *others in (cluster for cluster in found if len(cluster) > 1):
        name = documents[place].id
        members = [one.id for one in listed([documents[other] for other in others], order)]
        emit(as_json, {"master": name, "members": members}, [f"{name}: {', '.join(members)}"])
