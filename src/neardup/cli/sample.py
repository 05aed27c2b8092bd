"""neardup sample: pairs of documents to label."""

from __future__ import annotations

from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand
from neardup.plurals import counted


@click.command(cls=GroupedCommand)
@options.inputs
@options.output("FILE.csv", "The table of pairs to write.", remote=True)
@options.count("--pairs", "The number of pairs to write.", 456, least=1)
@options.count(
    "--draw", "How many pairs to draw and measure; an even spread of them is written.", 100_000, least=1
)
@options.count("--ngram", "Words in a phrase.", 7, least=1)
@click.option(
    "--idf", nargs=2, type=float, default=(0.2, 0.85), metavar="LOW HIGH",
    help="Normalised idf of the phrases that pairs share: 0 is in every document, 1 in one.",
)  # fmt: skip
@options.count("--seed", "The seed of the draw.", 1)
@options.reading
def command(inputs: tuple[str, ...], output: str, **values: Any) -> None:
    """Draw pairs of documents of INPUT to label, spread evenly over the range of similarity.

    Nearly all pairs of a corpus share nothing. The drawn pairs share a phrase that is neither common nor unique, and
    about equally many are taken for each similarity. Writes id_a, id_b, label (empty: fill in 1, 0 or a grade),
    jaccard and containment; `neardup evaluate --labels FILE` reads the completed table.

    \b
    Example:
      neardup sample crawl.parquet -o to-label.csv --pairs 300
    """
    from neardup.cli.support.show import TerminalProgress
    from neardup.evaluate.pair_sample import PairSampling, sample_pairs
    from neardup.remote_output import output_folder

    low, high = values["idf"]
    sampling = PairSampling(values["pairs"], values["draw"], values["ngram"], low, high, values["seed"])
    folder_name, name, _ = options.target_file(output, ".csv")
    with output_folder(folder_name, force=values["force"]) as folder, TerminalProgress() as progress:
        path = folder.file(name)
        opened = options.open_inputs(inputs, values)
        found = sample_pairs(
            opened.sources,
            opened.columns,
            sampling,
            progress,
            opened.threads,
            values["work_dir"],
            opened.problems,
        )
        import pyarrow.csv

        pyarrow.csv.write_csv(found.table, path)
        folder.commit()
    summary = {
        "pairs": len(found.table),
        "phrases": found.phrases,
        "drawn": found.drawn,
        "distance_from_uniform": round(found.distance, 4),
        "distance_of_all_drawn": round(found.distance_before, 4),
    }
    lines = [
        f"{counted(len(found.table), 'pair')} written to {output}, of {found.drawn:,} drawn by "
        f"{counted(found.phrases, 'shared phrase')}",
        f"earth mover's distance from uniform similarities: {found.distance:.3f} "
        f"(all drawn pairs: {found.distance_before:.3f}; pairs of one similarity: up to 0.5)",
    ]
    emit(values["as_json"], summary, lines)
