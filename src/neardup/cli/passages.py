"""neardup passages: repeated passages anywhere in a corpus."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.errors import ParameterError
from neardup.escapes import escape_controls
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.documents import Inputs
    from neardup.engines.core.documents import InputColumns
    from neardup.engines.core.progress import Progress
    from neardup.engines.local.checkpoint.workspace import Workspace
    from neardup.engines.local.passages.write import PassageOptions

WHICH = ("later", "all")
MOST_TOKENS = 1_000_000
EXCERPT = 60  # characters of a passage on the terminal


class PassagesCommand(GroupedCommand):
    """A command whose --remove and --mask mean `later` unless a word says otherwise."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, with the word that may be left out."""
        words: list[str] = []
        for place, word in enumerate(args):
            words.append(word)
            if word in ("--remove", "--mask") and args[place + 1 : place + 2] not in ([one] for one in WHICH):
                words.append(WHICH[0])
        return super().parse_args(ctx, words)


@click.command(cls=PassagesCommand)
@options.inputs
@options.output("DIR", "The folder to write to, also s3://….", remote=True)
@grouped(
    "Options",
    options.count("--tokens", "The least length of a passage.", 50, least=2, most=MOST_TOKENS),
    options.value(
        "--remove WHICH",
        "Cut out the later occurrences of each passage (--remove), or all of them (--remove all).",
        type=click.Choice(WHICH),
    ),
    options.value(
        "--mask WHICH", "Put a mark in their places instead: later, all.", type=click.Choice(WHICH)
    ),
    options.value("--mask-with TEXT", "The mark.  [default: […]]"),
    options.value("--by COLUMN", "Also count what each source, a value of COLUMN, copies from each other."),
)
@grouped(
    "Output",
    options.value("--output-format FORMAT", "parquet, jsonl[.gz|.zst], csv, tsv.  [default: as INPUT]"),
    options.value(
        "--table-format FORMAT",
        "Of the tables: parquet, csv, jsonl.",
        type=click.Choice(["parquet", "csv", "jsonl"]),
        default="parquet",
    ),
)
@options.resume
@options.reading
def command(inputs: tuple[str, ...], output: str, **values: Any) -> None:
    """Find the passages of at least 50 tokens that occur more than once among the documents of INPUT.

    Every run of N tokens whose text occurs elsewhere is found, in another document or in the same one, and verified on
    the text; case and punctuation make no difference. DIR gets passages (each with its length and the number of its
    occurrences), places (where each occurs), spans (the repeated text of each document), and with --remove or --mask
    the documents, and removed_spans with the place that stays. INPUT is as in `neardup dedup`.

    \b
    Examples:
      neardup passages corpus.parquet -o repeats
      neardup passages corpus.parquet -o clean --remove
      neardup passages news.jsonl -o copied --tokens 30 --by source --table-format csv
    """
    from neardup.cli.support.run import limit_arrow, resumable, work_folder
    from neardup.cli.support.show import TerminalProgress
    from neardup.documents import Problems
    from neardup.engines.local.passages.write import result_files
    from neardup.output import only_writer
    from neardup.remote_output import output_folder, work_place

    start = perf_counter()
    asked = _asked(values)
    place = work_place(output)
    with only_writer(place):
        sources, columns, _, threads = options.open_inputs(inputs, values)
        _check_column(sources, asked.by)
        limit_arrow(threads)
        force = asked.force or (values["resume"] and _can_be_resumed(values, place))
        with output_folder(output, force=force) as folder:
            for name in result_files(sources, columns, asked):
                folder.file(name)
        work = work_folder(lambda: _identity(asked, values, sources, columns), sources, values, place, force)
        try:
            with TerminalProgress() as progress, resumable(work, progress):
                for note in sources.notes:
                    progress.note(note)
                problems = Problems(strict=values["strict"], folder=work.folder)
                report = _run(asked, force, sources, columns, problems, work, progress, threads, output)
        except BaseException:
            work.close(keep=True)
            raise
        work.close()
    emit(values["as_json"], report, _summary(report, output, perf_counter() - start))


def _asked(values: dict[str, Any]) -> PassageOptions:
    """What to write, from the options of the command line."""
    from neardup.engines.local.passages.write import PassageOptions

    remove, mask, mark = (values.pop(name) for name in ("remove", "mask", "mask_with"))
    if remove and mask:
        raise ParameterError(
            "mask", "passages", "left out with --remove: a passage is cut out or masked", mask
        )
    if mark is not None and not mask:
        raise ParameterError("mask_with", "passages", "left out without --mask", mark)
    return PassageOptions(
        tokens=values.pop("tokens"),
        cut=remove or mask,
        mark=("[…]" if mark is None else mark) if mask else None,
        by=values.pop("by"),
        format=values.pop("output_format"),
        table_format=values.pop("table_format"),
        force=values["force"],
    )


def _can_be_resumed(values: dict[str, Any], place: Path) -> bool:
    from neardup.engines.local.checkpoint.workspace import can_be_resumed

    return can_be_resumed(values["work_dir"] or place)


def _check_column(sources: Inputs, column: str | None) -> None:
    from neardup.documents.document_columns import require_column

    for source in sources:
        if column is not None:
            require_column(column, source.names(), source.name, " (--by)")


def _identity(
    asked: PassageOptions, values: dict[str, Any], sources: Inputs, columns: InputColumns
) -> dict[str, Any]:
    """Everything that the work of a run depends on."""
    import neardup
    from neardup.engines.local.checkpoint.workspace import inputs_identity

    reading = {name: str(value) for name, value in options.reading_options(values).items()}
    return {
        "neardup": neardup.__version__,
        "plan": {"passages": asked.tokens, "by": asked.by},
        "columns": {**asdict(columns), **reading},
        "inputs": inputs_identity(sources),
    }


def _run(
    asked: PassageOptions,
    force: bool,
    sources: Inputs,
    columns: InputColumns,
    problems: Any,
    work: Workspace,
    progress: Progress,
    threads: int,
    output: str,
) -> dict[str, Any]:
    """The report of a run."""
    from dataclasses import replace

    from neardup.engines.local.passages.run import find_passages
    from neardup.engines.local.passages.write import write_passages
    from neardup.engines.local.read import Job, read
    from neardup.plan import Keep
    from neardup.plans import make_plan
    from neardup.text.words import Words

    plan = make_plan("minhash").with_(keep=Keep(column=asked.by))  # whose text and columns are read
    corpus = read(Job(plan, sources, work, columns, problems, progress, threads), represent_now=False)
    found = find_passages(work, asked.tokens, Words(), progress, threads)
    return write_passages(corpus, found, output, replace(asked, force=force), progress)


def _summary(report: dict[str, Any], output: str, seconds: float) -> list[str]:
    """What was found, the passages that most is copied of, who copies, problems, and the files."""
    from neardup.cli.support.show import problem_lines
    from neardup.plurals import size_in_words

    total, earlier = report["tokens"], report["tokens_that_stand_earlier"]
    size = f"{counted(report['documents'], 'document')} ({size_in_words(report['text_bytes'])})"
    lines = [
        f"{size} in {seconds:.1f} s: {counted(report['passages'], 'passage')} of at least "
        f"{report['tokens_of_a_passage']} tokens more than once",
        f"{earlier:,} of {total:,} tokens ({earlier / max(total, 1):.1%}) stand earlier in the corpus",
    ]
    if report["largest"]:
        lines.append("most copied:")
        lines += [_passage_line(one) for one in report["largest"]]
    if report["copied"]:
        by = report["by"]
        lines.append(f"copied most, by {escape_controls(by)}:")
        lines += [
            f"  {row['tokens']:>9,} tokens by {row[f'{by}_copies']} of {row[f'{by}_copied']} ({row['share']:.1%})"
            for row in report["copied"][:5]
        ]
    if report["cut"]:
        done = "cut out" if report["mask"] is None else f"masked with {report['mask']}"
        lines.append(f"{counted(report['spans_cut'], 'span')}, {report['tokens_cut']:,} tokens, {done}")
    lines += problem_lines(report["problems"])
    return [*lines, f"written to {output}: {', '.join(report['files'])}"]


def _passage_line(row: dict[str, Any]) -> str:
    text = " ".join(row["text"].split())
    text = text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
    length, times = counted(row["tokens"], "token"), counted(row["occurrences"], "occurrence")
    return f"  {length}, {times} in {counted(row['documents'], 'document')}: {escape_controls(text)}"
