"""neardup index query, check, get: what an index knows of a document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.index.change import refuse_unknown
from neardup.cli.index.shared import index_argument, json_lines, open_index, refuse_empty, threshold
from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.errors import InputError
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.index.decisions import IndexDecision
    from neardup.index.index import Index

ENDINGS = (".parquet", ".csv", ".jsonl")


@click.command(cls=GroupedCommand, short_help="List the near-duplicates of documents in an index.")
@index_argument
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option("--text", metavar="TEXT", help="A text to look up, instead of INPUT.")
@threshold
@grouped("Decision", options.count("--limit", "The most matches of a document.  [default: all]", least=1))
@grouped(
    "Output",
    click.option("-o", "--output", metavar="FILE", help="Write a table: .parquet, .csv or .jsonl."),
    options.flag("--force", "Overwrite an existing result."),
)
@options.reading
def query(
    folder: str,
    inputs: tuple[str, ...],
    text: str | None,
    threshold: float | None,
    limit: int | None,
    output: str | None,
    force: bool,
    **values: Any,
) -> None:
    """List the documents of INDEX that each document of INPUT is a near-duplicate of, best first.

    Every match is verified. It has a similarity and a relation of the document to the indexed one: copy,
    near-duplicate, contains or contained. With --json, one line for each document. A table (-o) has the columns query,
    id, similarity, containment and relation; with a model also the probability of a near-duplicate.

    \b
    Examples:
      neardup index query news.index today.jsonl
      neardup index query news.index --text "The harbour council voted on Tuesday" --limit 3
      neardup index query news.index today.jsonl -o matches.parquet
    """
    if (text is None) == (not inputs):
        raise InputError("A query needs either INPUT or --text TEXT.")
    target = None if output is None else options.new_target(output, force, ENDINGS)
    with open_index(folder, values) as index:
        if text is not None:
            found = [asdict(match) for match in index.query(text, threshold=threshold, limit=limit)]
            for match in found:
                emit(values["as_json"], match, [match_line(match)])
            if not found and not values["as_json"]:
                click.echo("no match")
            return
        _query(index, inputs, {"threshold": threshold, "limit": limit}, target, force, values)


def _query(
    index: Index,
    inputs: tuple[str, ...],
    how: dict[str, Any],
    target: Any,
    force: bool,
    values: dict[str, Any],
) -> None:
    """Look documents up, and print or write their matches."""
    from neardup.cli.support.pages import report_problems
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.answers import joined_tables
    from neardup.index.export import write_tables

    pages = options.open_inputs(inputs, values)
    documents, matched, tables = 0, 0, []
    with TerminalProgress() as progress, progress.stage("look up"):
        for ids, table in index.matches(
            pages.sources, pages.columns, problems=pages.problems, progress=progress, **how
        ):
            documents += len(ids)
            rows = _by_query(ids, table)
            matched += sum(bool(found) for found in rows)
            if target is not None:
                tables.append(table)
                continue
            for name, found in zip(ids, rows, strict=True):
                lines = [str(name), *("  " + match_line(match) for match in found)]
                emit(
                    values["as_json"],
                    {"query": name, "matches": found},
                    lines if found else [f"{name}\n  no match"],
                )
    refuse_empty(documents, pages)
    report_problems(pages.problems)
    report = {"documents": documents, "matched": matched}
    shown = f"{counted(documents, 'document')}, {matched:,} with a match"
    if target is not None:
        whole = joined_tables(tables)
        report["rows"] = write_tables(target, whole.schema, [whole], force=force)
        emit(values["as_json"], report, [f"{shown}; {counted(report['rows'], 'match')} written to {target}"])
    elif not values["as_json"]:
        click.echo(shown)


def _by_query(ids: Any, table: Any) -> list[list[dict[str, Any]]]:
    """The matches of each document, as plain values; documents are in order, and so are their matches."""
    found: list[list[dict[str, Any]]] = [[] for _ in ids]
    place = 0
    for row in table.to_pylist():
        asked = row.pop("query")
        while str(ids[place]) != str(asked):
            place += 1
        found[place].append(row)
    return found


def match_line(match: dict[str, Any]) -> str:
    """A match on the terminal: similarity, relation and id."""
    similarity = "    –" if match["similarity"] is None else f"{match['similarity']:.3f}"
    return f"{similarity}  {match['relation'] or 'match':14}  {match['id']}"


@click.command(cls=GroupedCommand, short_help="Decide about new documents: keep, demote or drop.")
@index_argument
@options.inputs
@grouped("Decision", options.flag("--never-drop", "Demote copies instead of dropping them."))
@threshold
@options.attributes
@options.reading
def check(
    folder: str, inputs: tuple[str, ...], never_drop: bool, threshold: float | None, **values: Any
) -> None:
    """Decide about each document of INPUT: keep it, demote it or drop it.

    A document is dropped if its text is that of an indexed document (by a digest of 128 bits), and demoted (a lower
    crawl or index priority) if it is a near-duplicate of one. The indexed document must be visible to every group with
    access to the new one. Documents of INPUT count as indexed after their decision, unless they are dropped. INDEX
    does not change.

    \b
    Example:
      neardup index check pages.index crawl-0302.jsonl
    """
    from neardup.cli.support.pages import attribute_columns, report_problems
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.inputs import input_chunks
    from neardup.index.new_documents import decide

    pages, attributes = options.open_inputs(inputs, values), attribute_columns(values)
    with open_index(folder, values) as index, TerminalProgress() as progress:
        index.check_threshold(threshold)
        chunks = input_chunks(index.plan, pages.sources, pages.columns, attributes, pages.problems)
        decisions = decide(index, chunks, threshold, not never_drop, progress)
    refuse_empty(len(decisions), pages)
    report_problems(pages.problems)
    for name, decision in decisions:
        emit(values["as_json"], {"id": name, **asdict(decision)}, [_decision_line(name, decision)])


def _decision_line(name: Any, decision: IndexDecision) -> str:
    line = f"{decision.action:8}{name}"
    if decision.because_of is None:
        return line
    relations = {"contains": "contains", "contained": "contained in", None: "matches"}
    how = relations.get(decision.relation, f"{decision.relation} of")
    measured = (
        "" if decision.relation == "copy" or decision.similarity is None else f", {decision.similarity:.3f}"
    )
    return f"{line}  ({how} {decision.because_of}{measured})"


@click.command(cls=GroupedCommand, short_help="Print documents by id.")
@index_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@json_lines
def get(folder: str, ids: tuple[str, ...], as_json: bool) -> None:
    """Print the texts of documents of INDEX; with --json also their attributes.

    \b
    Example:
      neardup index get news.index 17
    """
    from neardup.index.export import split_text

    with open_index(folder) as index:
        refuse_unknown(index, list(ids), "neardup index export lists all ids")
        for name in ids:
            found = index.get(name)
            assert found is not None
            texts = {"text": None} if found.text is None else split_text(index.plan, found.text)
            known = asdict(found.attributes) if found.attributes is not None else {}
            sizes = {"characters": found.characters, "tokens": found.tokens}
            shown = [text for text in texts.values() if text is not None]
            without = f"{found.id}: the index stores {index.store}, not texts"
            emit(as_json, {"id": found.id, **texts, **sizes, **known}, shown or [without])
