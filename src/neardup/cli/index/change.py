"""neardup index build, add, delete: documents come, are replaced, and go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.index.shared import index_argument, memory, open_index, refresh_after, refuse_empty
from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.cli.support.spark_engine import SparkEngine, started, take_engine
from neardup.errors import InputError
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.cli.support.options import OpenInputs
    from neardup.index.index import Index


@click.command(cls=MethodCommand, short_help="Make an index of documents, or continue one.")
@index_argument
@options.inputs
@click.option(
    "--store",
    type=click.Choice(["text", "features", "signatures"]),
    metavar="text|features|signatures",
    help="What to store of a document.  [default: text]",
)
@refresh_after
@options.decide
@options.attributes
@options.reading
@options.statistics
@memory
@options.engine
def build(
    folder: str,
    inputs: tuple[str, ...],
    store: Any,
    refresh_after: int | None,
    chosen: ChosenMethod,
    **values: Any,
) -> None:
    """Make INDEX with the options of a method, and add the documents of INPUT.

    The same command continues a build that was stopped or killed: documents that are in the index already are
    skipped. Another method or other options than those of an index that exists are refused. A method that weighs by
    document frequencies takes those of --stats, or counts them over INPUT.

    With --engine spark, Spark's workers read and sign the files, one task each; this process stores their documents.

    --store features or signatures takes less room than texts; such an index cannot return texts, nor count document
    frequencies again, and signatures are enough only for methods that compare signatures.

    \b
    Examples:
      neardup index build news.index archive/ --method minhash --threshold 0.8
      neardup index build pages.index crawl-0301.jsonl --method simhash --quality-column rank
      neardup index build news.index archive/ --engine spark
    """
    from neardup.plans import complete_plan

    engine = take_engine(values)
    pages = options.open_inputs(inputs, values)
    plan = complete_plan(
        chosen.plan(), decide=values["decide"], numbers=values["numbers"], normalize=values["normalize"]
    )
    settings = {"statistics": values["stats"], "df_unit": values["df_unit"], "refresh_after": refresh_after}
    with _removed_if_empty(folder), open_index(folder, values, plan=plan, store=store, **settings) as index:
        _add(index, pages, values, engine)


@contextmanager
def _removed_if_empty(folder: str) -> Iterator[None]:
    """Removes a new index that an error left without documents: its options may have been the error."""
    import shutil

    from neardup.errors import NeardupError
    from neardup.index.opened import POSTGRES
    from neardup.index.truth.sqlite import SqliteTruth

    new = not folder.startswith(POSTGRES) and not Path(folder).exists()
    try:
        yield
    except NeardupError:
        if new and SqliteTruth.exists(Path(folder)):
            truth = SqliteTruth(Path(folder))
            with truth.reading() as snapshot:
                empty = snapshot.count() == 0
            truth.close()
            if empty:
                shutil.rmtree(folder)
        raise


@click.command(cls=GroupedCommand, short_help="Add or replace documents.")
@index_argument
@options.inputs
@refresh_after
@options.attributes
@options.reading
@memory
def add(folder: str, inputs: tuple[str, ...], refresh_after: int | None, **values: Any) -> None:
    """Add the documents of INPUT to INDEX; a document with the id of an indexed one replaces it.

    Documents that are in the index already, with the same text and attributes, are skipped. Batches of up to 10,000
    documents are on disk as a whole, one after the other: a kill loses at most the last one.

    \b
    Examples:
      neardup index add news.index today.jsonl
      neardup index add pages.index crawl-0302.jsonl --quality-column rank
    """
    pages = options.open_inputs(inputs, values)
    with open_index(folder, values, refresh_after=refresh_after) as index:
        _add(index, pages, values)


def _add(index: Index, pages: OpenInputs, values: dict[str, Any], engine: SparkEngine | None = None) -> None:
    """Add documents, and report what was added."""
    from dataclasses import asdict

    from neardup.cli.support.pages import attribute_columns, report_problems
    from neardup.cli.support.show import TerminalProgress

    if values["duplicate_ids"] == "rename":
        raise InputError(
            "An index identifies documents by their ids, so that --duplicate-ids rename cannot be used: choose another "
            "--id-column."
        )
    # Spark starts before progress bars: the JVM's output is buffered.
    add = index.add_sources if engine is None else partial(index.add_on_spark, started(engine))
    with TerminalProgress() as progress:
        done = add(
            pages.sources,
            pages.columns,
            attributes=attribute_columns(values),
            problems=pages.problems,
            progress=progress,
        )
    refuse_empty(done.documents, pages)
    report_problems(pages.problems)
    total = len(index)
    lines = [
        f"{counted(done.documents, 'document')}: {done.new:,} new, {done.replaced:,} replaced, "
        f"{done.unchanged:,} unchanged; the index has {counted(total, 'document')}"
    ]
    if done.refreshed:
        lines.append("document frequencies were counted again, and all documents signed again")
    emit(values["as_json"], {**asdict(done), "indexed": total}, lines)


@click.command(cls=GroupedCommand, short_help="Delete documents by id.")
@index_argument
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--ids",
    "ids_file",
    type=click.File(errors="surrogateescape"),
    metavar="FILE",
    help="A file with one id a line; - for standard input.",
)
@options.flag("--ignore-missing", "Skip ids that the index does not have.")
@options.as_json
def delete(folder: str, ids: tuple[str, ...], ids_file: Any, ignore_missing: bool, as_json: bool) -> None:
    """Delete documents from INDEX by their ids, all of them or none.

    \b
    Examples:
      neardup index delete news.index 17 18
      neardup index delete news.index --ids withdrawn.txt --ignore-missing
    """
    names = [*ids, *(line.rstrip("\r\n") for line in ids_file or () if line.strip())]
    if not names:
        raise InputError("No document is named: give the ids to delete, or --ids FILE.")
    with open_index(folder) as index:
        if not ignore_missing:
            refuse_unknown(index, names, "nothing was deleted")
        done = index.delete(names)
        total = len(index)
    line = f"{counted(done, 'document')} deleted; the index has {counted(total, 'document')}"
    emit(as_json, {"deleted": done, "indexed": total}, [line])


def refuse_unknown(index: Index, names: list[str], consequence: str) -> None:
    """Refuses ids that the index does not have."""
    with index.reading() as (snapshot, _):
        seqs = snapshot.find(names).tolist()
    unknown = [name for name, seq in zip(names, seqs, strict=True) if seq == 0]
    if unknown:
        shown = ", ".join(repr(name) for name in unknown[:3]) + (" …" if len(unknown) > 3 else "")
        raise InputError(f"{index.name} has no document with the id {shown}: {consequence}.")
