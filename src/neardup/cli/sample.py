"""neardup sample: pairs of documents to label."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand
from neardup.errors import ParameterError
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
@options.choice(
    "--from",
    ["spread", "methods", "threshold"],
    "Which pairs: spread over all similarities, found by any of the methods, or around the threshold of the first one.",
)
@click.option(
    "--method",
    "given",
    multiple=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="A method for --from methods (default: minhash:threshold=0.4, imatch, simhash) or threshold (minhash).",
)
@options.reading
def command(inputs: tuple[str, ...], output: str, **values: Any) -> None:
    """Draw pairs of documents of INPUT to label.

    Nearly all pairs of a corpus share nothing. With --from spread, the drawn pairs share a phrase that is neither
    common nor unique, and about equally many are taken for each similarity. With --from methods, pairs that at least
    one method finds, equally many of those that each set of methods finds. With --from threshold, the pairs nearest
    to the threshold of a method, half of them below it.

    Writes id_a, id_b, label (empty: fill in 1, 0, a grade, or duplicate, containment, near, different, …) and
    similarities; `neardup evaluate --labels FILE` reads the completed table. `neardup studio` draws pairs and labels
    them in the browser.

    \b
    Examples:
      neardup sample crawl.parquet -o to-label.csv --pairs 300
      neardup sample news.jsonl -o to-label.csv --from methods --method minhash:threshold=0.4 --method imatch
      neardup sample news.jsonl -o to-label.csv --from threshold --method spotsigs --pairs 50
    """
    from neardup.cli.support.show import TerminalProgress
    from neardup.evaluate.pair_sample import PairSampling, sample_pairs
    from neardup.remote_output import output_folder

    if values["from"] != "spread":
        _by_methods(inputs, output, values)
        return
    if values["given"]:
        raise ParameterError(
            "method", "neardup sample", "used with --from methods or threshold", values["given"][0]
        )
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


def _by_methods(inputs: tuple[str, ...], output: str, values: dict[str, Any]) -> None:
    """Draw pairs that methods find, or around the threshold of one."""
    from functools import partial

    import pyarrow as pa
    import pyarrow.csv

    from neardup.cli.support.show import TerminalProgress
    from neardup.evaluate.specs import make_specs
    from neardup.labelling.pair_samples import UNION, around_threshold, from_methods
    from neardup.output import OutputFolder

    around = values["from"] == "threshold"
    specs = make_specs(values["given"] or (("minhash",) if around else UNION))
    if around and len(specs) > 1:
        raise ParameterError("method", "neardup sample", "given once with --from threshold", specs[1].name)
    target = options.with_ending(output, ".csv")
    with OutputFolder(target.parent, force=values["force"]) as folder, TerminalProgress() as progress:
        path = folder.file(target.name)
        opened = options.open_inputs(inputs, values)
        how = {
            "seed": values["seed"],
            "threads": opened.threads,
            "progress": progress,
            "work_dir": values["work_dir"],
        }
        given = (lambda: opened.sources, opened.columns, values["pairs"])
        draw = partial(around_threshold, plan=specs[0].plan) if around else partial(from_methods, specs=specs)
        found = draw(*given, **how)
        columns = {
            "id_a": [one.a for one in found], "id_b": [one.b for one in found], "label": [""] * len(found),
            "similarity": [one.similarity for one in found], "sample": [one.source for one in found],
        }  # fmt: skip
        types = {name: pa.float64() if name == "similarity" else pa.string() for name in columns}
        pyarrow.csv.write_csv(
            pa.table({name: pa.array(cells, types[name]) for name, cells in columns.items()}), path
        )
        folder.commit()
    by = Counter(one.source for one in found)
    lines = [
        f"{counted(len(found), 'pair')} written to {output}",
        *(f"  {n:,} {name}" for name, n in sorted(by.items())),
    ]
    emit(values["as_json"], {"pairs": len(found), "samples": dict(by)}, lines)
