"""neardup tune: bands for a threshold, their recall and their cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from neardup.candidates.curve import SHINGLES, Bands, Cost, cost, expected_recall_table
from neardup.candidates.decided import Decided, decided_curve
from neardup.candidates.groups import Groups
from neardup.cli.support import options
from neardup.cli.support.groups import grouped
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.errors import ParameterError
from neardup.plurals import counted
from neardup.signatures.estimate import standard_error, wilson_interval

if TYPE_CHECKING:
    from rich.table import Table

    from neardup.plan import Plan

BY_HAND = ("num_perm", "bands", "rows")
SIMILARITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


@click.command(cls=MethodCommand)
@click.argument("inputs", nargs=-1, metavar="[INPUT...]")
@click.option(
    "--labels", metavar="FILE",
    help="Labels of the documents of INPUT (see neardup evaluate): choose method and threshold by them.",
)  # fmt: skip
@click.option(
    "--try", "tried", multiple=True, metavar="NAME[:OPTION=VALUE,...]",
    help="With --labels, a method to try, as in neardup evaluate; repeatable.  [default: all methods]",
)  # fmt: skip
@options.judging(bootstrap=0)
@grouped("Labels", options.time_column)
@options.count("--documents", "How many documents to estimate memory and time for.", 1_000_000, least=1)
@grouped(
    "Output",
    options.value("--plot FILE", "Write the S-curve to a .png, .svg or .pdf file."),
    options.flag("--force", "Overwrite the plot if it exists."),
)
@options.reading
@options.statistics
def command(
    documents: int, plot: str | None, force: bool, as_json: bool, chosen: ChosenMethod, **values: Any
) -> None:
    """Show the bands for a threshold and a recall, the pairs that they find, and their cost.

    Takes the options of a method and reads no documents. Bands, rows and num-perm override the choice; the output
    shows the recall that they yield, with a warning if it is less than --recall.

    With INPUT and --labels, finds the method and the threshold that serve the --goal best, and measures the time and
    memory that --documents of the same kind need.

    With --method andd --verify signatures, shows what short signatures make of pairs by their similarity: how many are
    found and pass, and the standard error of the estimate.

    \b
    Examples:
      neardup tune --threshold 0.8
      neardup tune --preset fineweb --documents 50000000
      neardup tune --bands 20 --rows 5 --plot curve.svg
      neardup tune --method andd --verify signatures
      neardup tune news.jsonl --labels clusters.csv --goal precision=0.95 --documents 20000000
    """
    if values["labels"] is not None or values["inputs"]:
        from neardup.cli.support.tune_labels import tune_on_labels

        tune_on_labels(documents, as_json, plot, chosen, values)
        return
    plan = chosen.plan()
    curve = decided_curve(plan)
    if curve is not None:
        _show_decided(plan, curve, plot, force, as_json)
        return
    shape = _shape(plan)
    given = {name: int(chosen.options[name]) for name in BY_HAND if name in chosen.options}
    work = cost(shape, documents)
    if plot is not None:
        _save(plot, shape, plan.threshold, force)
    if as_json:
        click.echo(json.dumps(_as_dict(plan, shape, given, work), indent=2))
    else:
        _print(plan, shape, given, work)
    if plot is not None:
        click.echo(f"Curve written to {plot}.", err=as_json)


def _show_decided(plan: Plan, curve: Decided, plot: str | None, force: bool, as_json: bool) -> None:
    """What signatures that decide make of pairs."""
    from neardup.cli.support import decided_curve as shown

    if plot is not None:
        shown.save_decided(options.new_file(plot, force), plan, curve)
    if as_json:
        click.echo(json.dumps(shown.as_dict(plan, curve), indent=2))
    else:
        shown.print_decided(plan, curve)
    if plot is not None:
        click.echo(f"Curve written to {plot}.", err=as_json)


def _shape(plan: Plan) -> Bands:
    """The bands of a plan that has them."""
    found = plan.candidates
    if not isinstance(found, Groups) or found.agree != 1:
        raise ParameterError("method", "neardup tune", "a method with bands, such as minhash", plan.method)
    return Bands(found.groups, found.width)


def _save(plot: str, shape: Bands, threshold: float, force: bool) -> None:
    from neardup.cli.support.curve_plot import save_plot

    save_plot(options.new_file(plot, force), shape, threshold)


def _reason(shape: Bands, given: dict[str, int], plan: Plan) -> str:
    """The reason for these bands."""
    if plan.recall is None:
        return f"the method {plan.method} does not choose bands by recall"
    target = f"a recall of {plan.recall:g} at similarity {plan.threshold:g}"
    fixed = " and ".join(f"{name.replace('_', '-')} {value}" for name, value in given.items())
    unused = given.get("num_perm", shape.slots) - shape.slots
    rest = f" ({unused} of {given['num_perm']} unused)" if unused > 0 else ""
    if not given:
        return f"the least expected work for {target}"
    if len(given) > 1:
        return f"given {fixed}{rest}"
    if shape.probability(plan.threshold) < plan.recall:
        return f"given {fixed}, no bands reach {target}; these come closest{rest}"
    return f"given {fixed}, the bands for {target}{rest}"


def _similarities(threshold: float) -> list[float]:
    """Similarities from low to high, the threshold among them."""
    return sorted({*SIMILARITIES, threshold})


def _as_dict(plan: Plan, shape: Bands, given: dict[str, int], work: Cost) -> dict[str, Any]:
    """All results, as plain values."""
    found = shape.probability(plan.threshold)
    rows = expected_recall_table(shape, _similarities(plan.threshold))
    low, high = wilson_interval(round(plan.threshold * shape.slots), shape.slots)
    return {
        "threshold": plan.threshold,
        "bands": shape.bands,
        "rows": shape.rows,
        "slots": shape.slots,
        "given": given,
        "reason": _reason(shape, given, plan),
        "recall_target": plan.recall,
        "recall": found,
        "enough": plan.recall is None or found >= plan.recall,
        "midpoint": shape.midpoint,
        "recall_at": [{"similarity": s, "recall": p} for s, p in rows],
        "standard_error": standard_error(plan.threshold, shape.slots),
        "interval": [low, high],
        "cost": {**asdict(work), "seconds": work.seconds},
        "plan": plan.to_dict(),
    }


def _print(plan: Plan, shape: Bands, given: dict[str, int], work: Cost) -> None:
    """Print the bands, their recall, their cost and the curve."""
    from rich.console import Console

    from neardup.cli.support.curve_plot import terminal_plot

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    found = shape.probability(plan.threshold)
    console.print(
        f"{counted(shape.bands, 'band')} × {counted(shape.rows, 'row')} = "
        f"{counted(shape.slots, 'min-hash', 'min-hashes')}",
        style="bold",
    )
    console.print(f"Reason: {_reason(shape, given, plan)}.")
    console.print(
        f"Recall: {found:.2%} of the pairs at similarity {plan.threshold:g}, 50% at {shape.midpoint:.3f}."
    )
    if plan.recall is not None and found < plan.recall:
        warning = f"Warning: the recall is below the target of {plan.recall:g}"
        console.print(f"{warning}; use more bands or fewer rows.", style="bold yellow")
    console.print()
    console.print(_recall_table(shape, plan.threshold))
    console.print(
        f"Standard error and Wilson interval: of estimates from {counted(shape.slots, 'slot')}.",
        style="dim",
    )
    for part in ("", _cost_table(work), ""):
        console.print(part)
    console.print(terminal_plot(shape, plan.threshold))


def _recall_table(shape: Bands, threshold: float) -> Table:
    """The recall at several similarities, and the error of an estimate."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False)
    for heading in ("similarity", "found", "missed", "standard error", "95 % interval"):
        table.add_column(heading, justify="right")
    for similarity, found in expected_recall_table(shape, _similarities(threshold)):
        low, high = wilson_interval(round(similarity * shape.slots), shape.slots)
        here = similarity == threshold
        cells = (
            f"{'▸ ' * here}{similarity:g}",
            f"{found:.2%}",
            "none" if similarity == 1 else _missed(found),
            f"{standard_error(similarity, shape.slots):.3f}",
            f"{low:.3f} - {high:.3f}",
        )
        table.add_row(*cells, style="bold" if here else None)
    return table


def _missed(found: float) -> str:
    """The share of missed pairs, as a percentage or as 1 in n."""
    if found < 0.99:
        return f"{1 - found:.2%}"
    return f"1 in {1 / (1 - found):,.0f}" if found < 1 - 1e-6 else "< 1 in 1,000,000"


def _cost_table(work: Cost) -> Table:
    """Memory and time by step."""
    from rich.table import Table

    from neardup.cli.support.show import duration
    from neardup.plurals import size_in_words

    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False, show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("documents", f"{work.documents:,}", f"with {SHINGLES} n-grams each, on one core")
    table.add_row("keys", size_in_words(work.key_bytes), "for all bands at once")
    table.add_row("signatures", size_in_words(work.signature_bytes), "if they are kept, as for estimates")
    table.add_row("candidates", f"{work.candidates:,.0f}", "pairs to verify, in an average corpus")
    table.add_row("signing", duration(work.signing), "")
    table.add_row("sorting keys", duration(work.sorting), "")
    table.add_row("verifying", duration(work.verifying), "")
    table.add_row("total", duration(work.seconds), "without reading and writing", style="bold")
    return table
