"""neardup index info, compact, verify, export, refresh: the upkeep of an index."""

from __future__ import annotations

from typing import Any

import click

from neardup.cli.index.shared import index_argument, open_index
from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand
from neardup.errors import IndexDamaged
from neardup.plurals import counted


def _lines(known: dict[str, Any]) -> list[str]:
    """A summary as lines."""

    def printed(value: Any) -> str:
        if isinstance(value, int):
            return f"{value:,}"
        return ", ".join(value) if isinstance(value, list) else str(value)

    shown = {name: value for name, value in known.items() if value not in ("", [], None)}
    return [f"{name.replace('_', ' ')}: {printed(value)}" for name, value in shown.items()]


@click.command(cls=GroupedCommand, short_help="Summarize an index.")
@index_argument
@options.as_json
def info(folder: str, as_json: bool) -> None:
    """Summarize INDEX: documents, method, what is stored, segments, document frequencies.

    \b
    Example:
      neardup index info news.index
    """
    with open_index(folder) as index:
        known = index.info()
    emit(as_json, known, _lines(known))


@click.command(cls=GroupedCommand, short_help="Merge all segments into one.")
@index_argument
@options.as_json
def compact(folder: str, as_json: bool) -> None:
    """Merge the segments of INDEX into one, without deleted documents. No answer changes.

    Segments are merged in the background as documents are added: this command is for an index that is only read from
    now on.

    \b
    Example:
      neardup index compact news.index
    """
    with open_index(folder) as index:
        known = index.compact()
    emit(as_json, known, _lines(known))


@click.command(cls=GroupedCommand, short_help="Check everything that an index has stored.")
@index_argument
@options.as_json
def verify(folder: str, as_json: bool) -> None:
    """Check all stored documents of INDEX by their checksums, and its segments against the documents.

    Damaged segments are rebuilt: they are derived from the documents. Damaged documents are named, and the exit code
    is 2; `neardup index export --salvage` writes all others to a file.

    \b
    Example:
      neardup index verify news.index
    """
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.damaged import verify_path

    with TerminalProgress() as progress:
        found = verify_path(folder, progress)
    lines = [*found.truth, *(f"{one} (rebuilt)" for one in found.derived)]
    sizes = f"{counted(found.documents, 'document')}, {counted(found.segments, 'segment')}"
    emit(as_json, found.to_dict(), [*lines, f"{sizes}: {'sound' if found.sound else 'damaged'}"])
    if not found.sound:
        raise IndexDamaged(
            f"{folder} is damaged in {counted(len(found.truth), 'place')}. Write what is readable to a file with: "
            f"neardup index export {folder} -o FILE --salvage"
        )


@click.command(cls=GroupedCommand, short_help="Write the documents of an index to a file.")
@index_argument
@options.output("FILE", "The file to write: .jsonl or .parquet.", remote=True)
@options.flag("--salvage", "Write what is readable of a damaged index.")
@options.as_json
def export(folder: str, output: str, force: bool, salvage: bool, as_json: bool) -> None:
    """Write the documents of INDEX to a file: id, text, fields and attributes, in the order they were added.

    `neardup index build` makes an index of the file again.

    \b
    Examples:
      neardup index export news.index -o news-export.jsonl
      neardup index export news.index -o rescued.parquet --salvage
    """
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.damaged import salvage_path
    from neardup.index.export import FORMATS

    target = options.new_target(output, force, FORMATS)
    with TerminalProgress() as progress:
        if salvage:
            rows = salvage_path(folder, target, progress, force)
        else:
            with open_index(folder) as index:
                rows = index.export(target, force=force, progress=progress)
    emit(as_json, {"documents": rows}, [f"{counted(rows, 'document')} written to {output}"])


@click.command(cls=GroupedCommand, short_help="Count document frequencies again.")
@index_argument
@options.as_json
def refresh(folder: str, as_json: bool) -> None:
    """Recount document frequencies over the stored texts of INDEX, and sign all documents again.

    Weights use frozen frequencies, so that new documents do not change the matches of others. They are counted again
    by this command, and after --refresh-after new documents. The index must store texts.

    \b
    Example:
      neardup index refresh pages.index
    """
    from neardup.cli.support.show import TerminalProgress

    with open_index(folder) as index, TerminalProgress() as progress:
        done = index.refresh(progress=progress)
        digest = index.info()["statistics"]
    line = f"{counted(done, 'document')} signed again" if done else "the document frequencies are up to date"
    emit(as_json, {"signed": done, "statistics": digest}, [line])
