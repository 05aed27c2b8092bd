"""neardup pairs: the near-duplicate pairs of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.against import base_plan, pairing, write_cross_pairs
from neardup.cli.support.emit import emit
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.cli.support.spark_engine import run_on_spark, take_engine
from neardup.cli.support.standard_output import STDOUT, StandardOutput
from neardup.errors import ParameterError
from neardup.plurals import counted, listed_names

if TYPE_CHECKING:
    from neardup.engines.spark.io.frames import SparkResult


@click.command(cls=MethodCommand)
@options.inputs
@options.output("FILE", "The file to write: .parquet, .csv or .jsonl; - is standard output.", remote=True)
@options.decide
@options.pairs(default="all")
@pairing
@options.run
def command(inputs: tuple[str, ...], output: str, chosen: ChosenMethod, **values: Any) -> None:
    """List the pairs of near-duplicates among the documents of INPUT.

    Writes a parquet, csv or jsonl file, by the ending of FILE, with the columns left, right (ids), similarity,
    containment, relation (of left to right: copy, near-duplicate, contains or contained), reason (similar or copy) and
    bridge; with a model also the probability of a near-duplicate at this similarity. Shows the
    closest pairs and those nearest to the threshold. With --engine spark, FILE is a folder of parquet files. With -o -
    the pairs go to standard output as JSON lines, and everything else to standard error.

    \b
    Examples:
      neardup pairs news.jsonl -o pairs.parquet --threshold 0.8
      neardup pairs news.jsonl -o news-pairs.csv
      neardup pairs a.jsonl --against b.jsonl -o across.csv
      neardup pairs news.jsonl -o - | head
    """
    from neardup.cli.support.pair_lines import pair_lines
    from neardup.cli.support.run import run_command
    from neardup.cli.support.show import problem_lines
    from neardup.engines.local.pair_examples import example_pairs
    from neardup.engines.local.write import run_report
    from neardup.engines.local.write_tables import TABLE_FORMATS, as_table_format, write_pairs
    from neardup.output import refuse_address
    from neardup.plans import complete_plan
    from neardup.remote_output import output_folder, work_place

    engine = take_engine(values)
    pairs, force = values.pop("pairs"), values.pop("force")
    decisions = {name: values.pop(name) for name in ("decide", "numbers", "normalize")}
    base = base_plan(chosen, values["against"])
    plan = complete_plan(base, pairs=pairs, clusters="components", **decisions)
    endings = (".parquet",) if engine is not None else tuple(f".{format}" for format in TABLE_FORMATS)
    piped, shown = output == STDOUT, list[str]()
    if piped and engine is not None:
        raise ParameterError("engine", "pairs", "local with -o -: Spark writes a folder", "spark")
    if engine is not None:
        refuse_address(output)
    place, name, format = options.target_file("stdout.jsonl" if piped else output, *endings)
    folder = StandardOutput() if piped else output_folder(place, force=force)
    written = "" if piped else f", written to {output}"
    if values["against"]:
        table, report = write_cross_pairs(plan, inputs, values, folder, name, format)
        found = f"{counted(len(table), 'pair')} with documents of {listed_names(report['against'], 'and')}"
        lines = [f"{found}{written}", *problem_lines(report["problems"])]
        lines += problem_lines(report["reference_problems"], "in the references")
        emit(values["as_json"], report, lines, err=piped)
        return
    if engine is not None:
        tables = {name: "pairs"}

        def show(result: SparkResult) -> None:
            if not values["as_json"]:
                shown.extend(pair_lines(*result.example_pairs(), plan.threshold))

        report = run_on_spark(
            engine, plan, inputs, values, Path(place), tables, force, has_report=False, show=show
        )
    else:
        work = None if piped else work_place(place)
        with folder:
            path = folder.file(name)
            with run_command(plan, inputs, values, work, force) as run:
                with run.progress.stage("write pairs"):
                    rows = write_pairs(run, path, as_table_format(format))
                folder.commit()
                report = {**run_report(run, [name]), "rows": rows}
                if not values["as_json"]:
                    shown = pair_lines(*example_pairs(run), plan.threshold)
    found = f"{counted(report['rows'], 'pair')} among {counted(report['documents'], 'document')}"
    lines = [f"{found}{written}", *shown, *problem_lines(report["problems"])]
    emit(values["as_json"], report, lines, err=piped)
