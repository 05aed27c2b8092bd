"""neardup fingerprints: cluster sizes by distance, evenness, and a suggested distance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import grouped
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.escapes import escape_controls
from neardup.plurals import counted

DEFAULT_DISTANCE = 3


@click.command(cls=MethodCommand, default_method="simhash")
@options.inputs
@options.count("--most", "The largest distance, in bits.", DEFAULT_DISTANCE)
@grouped(
    "Output",
    options.value("--plots DIR", "Draw figures into this folder."),
    options.value("--document ID", "The document whose weights are drawn.  [default: the first]"),
    click.option("--list", "listed", is_flag=True, help="Print the fingerprint of each document instead."),
)
@options.reading
@options.statistics
def command(
    inputs: tuple[str, ...],
    most: int,
    plots: str | None,
    document: str | None,
    listed: bool,
    chosen: ChosenMethod,
    **values: Any,
) -> None:
    """Summarize the fingerprints of INPUT: cluster sizes by distance, evenness, and a suggested distance.

    Each document leads a cluster: itself and the documents within the distance of it. For each distance the average
    size is reported. The suggested distance is the smallest from which the average grows by less than a tenth up to
    the largest. Random values have a chi-square of about 255 (± 23).
    With --plots: clusters by size, values by leading byte, and the weights of a document's features by position after
    each weight stage.

    \b
    Example:
      neardup fingerprints news.jsonl --weights 'tfidf, position(cosine)' --plots figures
    """
    from neardup.cli.support.pages import report_problems
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.overview import overview
    from neardup.plans import with_statistics

    plan, statistics = with_statistics(chosen.plan(), values["stats"], values["df_unit"])
    pages = options.open_inputs(inputs, values)
    with TerminalProgress() as progress:
        found = overview(
            plan, pages.sources, pages.columns, statistics=statistics, most=most, document=document,
            threads=pages.threads, progress=progress, problems=pages.problems, folder=values["work_dir"],
        )  # fmt: skip
    report_problems(pages.problems)
    if listed:
        for name, made in zip(found.ids, found.fingerprints, strict=True):
            click.echo(f"{escape_controls(name)}\t{'' if made is None else made[::-1].hex()}")
    else:
        emit(values["as_json"], found.to_dict(), _lines(found.to_dict()))
    if plots is not None:
        from neardup.evaluate.simhash_plots import draw_overview

        for path in draw_overview(Path(plots), plan, found):
            click.echo(f"drawn: {path}", err=True)


def _lines(known: dict[str, Any]) -> list[str]:
    rows = zip(known["average_cluster_size"], known["documents_with_near_duplicates"], strict=True)
    low, high = known["least_and_greatest_share_of_a_bit"]
    return [
        f"{counted(known['documents'], 'document')}, {known['without_features']:,} without features, "
        f"{counted(known['distinct_fingerprints'], 'distinct fingerprint')}",
        *(
            f"distance ≤ {counted(distance, 'bit')}: {counted(count, 'document')} with near-duplicates, "
            f"average cluster size {average:.2f}"
            for distance, (average, count) in enumerate(rows)
        ),
        f"suggested distance: {counted(known['suggested_distance'], 'bit')}",
        f"evenness: chi-square {known['chi_square_of_fingerprints']:,} of fingerprints, "
        f"{known['chi_square_of_features']:,} of features (255 ± 23 if random); "
        f"each bit is set in {low:.0%} to {high:.0%} of the fingerprints",
    ]
