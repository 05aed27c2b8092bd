"""neardup evaluate: scores of methods on labelled documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from neardup.evaluate.corpus import Documents
    from neardup.evaluate.labels import Truth
    from neardup.evaluate.results import Evaluation
    from neardup.evaluate.scores import Floats
    from neardup.evaluate.worst_errors import WorstPair
    from neardup.plan import Text

PAGE_ERRORS = 25  # false positives, and as many false negatives, on a page
FORMATS = ("table", "markdown", "csv", "json")


@click.command(cls=GroupedCommand)
@options.inputs
@options.labels
@options.judging(bootstrap=200)
@grouped("Labels", options.count("--seed", "The seed of splits and samples.", 1))
@grouped(
    "Method",
    click.option(
        "--method", "given", multiple=True, metavar="NAME[:OPTION=VALUE,...]",
        help="A method with options; repeatable. Values joined by / make one method each.  [default: minhash]",
    ),
    click.option(
        "--scores", multiple=True, metavar="FILE[:COLUMN]",
        help="Scores of another tool: a table of two ids and a score.",
    ),
)  # fmt: skip
@grouped(
    "Output",
    click.option(
        "--output-format", type=click.Choice(FORMATS), default="table", metavar="FORMAT",
        help=f"The format of the printed result: {', '.join(FORMATS)}.",
    ),
    options.value("--plots DIR", "Draw precision and recall, F1 and MCC, histograms and S-curves."),
    options.value("--errors FILE.html", "Write a page: scores, curves and the worst errors."),
    options.count("--worst", "Print the N worst errors.", 0),
    options.flag("--force", "Overwrite the page of --errors."),
)  # fmt: skip
@options.reading
@options.statistics
def command(inputs: tuple[str, ...], **values: Any) -> None:
    """Score methods on the labelled documents of INPUT.

    Labels are a table (csv, tsv, jsonl, parquet) of id and cluster, where an empty cluster or 'irrelevant' leaves the
    document out; a table of id_a, id_b and label (yes, no, unclear, duplicate, containment, near, different,
    irrelevant, broken, or a grade), by the majority if it has a column 'rater'; or a folder whose sub-folders are
    clusters, where documents have their paths as ids.

    Every pair of up to 5,000 labelled documents is compared exactly. Methods are compared with the first one.

    \b
    Examples:
      neardup evaluate news.jsonl --labels clusters.csv
      neardup evaluate news.jsonl --labels clusters.csv --method minhash:ngram=2/3/5 --goal precision=0.95
      neardup evaluate mail/ --labels mail/ --method minhash --plots plots --errors errors.html
      neardup evaluate docs.parquet --labels pairs.csv --scores other_tool.csv:cosine --json
    """
    from neardup.cli.support.evaluation_table import show
    from neardup.evaluate.report import to_csv, to_json, to_markdown

    page = (
        options.new_file(values["errors"], values["force"], (".html", ".htm")) if values["errors"] else None
    )
    format = "json" if values["as_json"] else values["output_format"]
    documents, evaluation = _evaluate(inputs, values)
    if values["plots"]:
        from neardup.evaluate.evaluation_plots import draw_evaluation

        draw_evaluation(evaluation.results, values["plots"])
    if format == "table":
        show(evaluation)
    else:
        click.echo({"markdown": to_markdown, "csv": to_csv, "json": to_json}[format](evaluation))
    _show_errors(documents, evaluation, page, values["worst"])


def read_input(
    inputs: tuple[str, ...],
    values: dict[str, Any],
    progress: Any,
    stages: Sequence[Text] = (),
) -> Documents:
    """The documents of INPUT, with the text and columns that these text stages need."""
    return read_dated(inputs, {**values, "time_column": "none"}, progress, stages)[0]


def read_dated(
    inputs: tuple[str, ...], values: dict[str, Any], progress: Any, stages: Sequence[Text] = ()
) -> tuple[Documents, Floats | None]:
    """The documents of INPUT, and their times if --time-column names a column of dates or finds one."""
    from neardup.evaluate.corpus import read_documents
    from neardup.evaluate.times import time_column, times_of

    if not Path(values["labels"]).exists():  # known before much is read
        raise InputError(f"{values['labels']} does not exist")
    opened = options.open_inputs(inputs, values)
    for note in opened.sources.notes:
        progress.note(note)
    column = time_column(values["time_column"], opened.sources)
    also = () if column is None else (column,)
    documents = read_documents(opened.sources, opened.columns, progress, values["strict"], stages, also)
    return documents, times_of(documents, column)


def read_truth(values: dict[str, Any], ids: pa.Array, progress: Any = None) -> Truth:
    """The labels of --labels; `progress` says how labels were used."""
    from neardup.evaluate.label_files import read_labels

    truth = read_labels(
        values["labels"],
        ids,
        positive_from=values["positive_from"],
        undecided=values["undecided"],
        duplicates=values["duplicates"],
        documents=values["document_labels"],
    )
    for note in truth.notes if progress is not None else ():
        progress.note(note)
    return truth


def protocol(values: dict[str, Any], seed: int = 1) -> Any:
    """The evaluation protocol of the options."""
    from neardup.evaluate.goals import parse_goal
    from neardup.evaluate.run import Protocol
    from neardup.statistics.file import load_statistics
    from neardup.statistics.units import parse_df_unit
    from neardup.workers import checked_threads

    return Protocol(
        goal=parse_goal(values["goal"]),
        splits=values["splits"],
        bootstrap=values["bootstrap"],
        seed=seed,
        threads=checked_threads(values["threads"]),
        work_dir=values["work_dir"],
        statistics=None if values["stats"] is None else load_statistics(values["stats"]),
        df_unit=None if values["df_unit"] is None else parse_df_unit(values["df_unit"]),
    )


def _evaluate(inputs: tuple[str, ...], values: dict[str, Any]) -> tuple[Documents, Evaluation]:
    """The documents, and the evaluation of every method."""
    from neardup.cli.support.show import TerminalProgress
    from neardup.evaluate.label_files import read_scores
    from neardup.evaluate.run import evaluate
    from neardup.evaluate.specs import make_specs

    settings = protocol(values, values["seed"])
    specs = make_specs(values["given"] or (() if values["scores"] else ("minhash",)))
    with TerminalProgress() as progress:
        documents = read_input(inputs, values, progress, [spec.plan.text for spec in specs])
        truth = read_truth(values, documents.ids)
        scores = {}
        for text in values["scores"]:
            file, column = (text, None) if Path(text).exists() else _file_and_column(text)
            name = Path(file).name + (f":{column}" if column else "")
            scores[text if name in scores else name] = read_scores(file, documents.ids, column)
        return documents, evaluate(documents, truth, specs, settings, progress, scores)


def _file_and_column(text: str) -> tuple[str, str | None]:
    file, colon, column = text.rpartition(":")
    return (file, column) if colon and file else (text, None)


def _show_errors(documents: Documents, evaluation: Evaluation, page: Path | None, count: int) -> None:
    """Show the worst errors of each method in the terminal, and write the page of all methods."""
    if page is None and not count:
        return
    from rich.console import Console

    from neardup.cli.support.worst_errors import print_errors
    from neardup.evaluate.evaluation_page import write_evaluation_page
    from neardup.evaluate.method_errors import find_errors

    most = max(count, PAGE_ERRORS if page is not None else 0)
    errors = [find_errors(documents, evaluation.truth, result, most) for result in evaluation.results]
    for found in errors if count else ():
        console = Console(highlight=False)
        console.print(f"\n{found.name} at {found.threshold:g}", style="bold", markup=False)
        print_errors(console, _first(found.pairs, count), found.errors)
    if page is not None:
        write_evaluation_page(page, evaluation, errors)
        click.echo(f"Report written to {page}.", err=True)


def _first(pairs: Sequence[WorstPair], count: int) -> list[WorstPair]:
    """The first `count` pairs of each kind."""
    kinds = ("false positive", "false negative")
    return [pair for kind in kinds for pair in [one for one in pairs if one.kind == kind][:count]]
