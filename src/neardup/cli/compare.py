"""neardup compare: how similar two documents are, and where."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.named_documents import Where, are_same, read_texts, spoken
from neardup.cli.options import method_options, take_plan
from neardup.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from neardup.plan import Plan
    from neardup.verify.passages import Comparison, Side

Names = tuple[str, str]
SINGULAR = {"words": "word", "characters": "character"}


@click.command()
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option(
    "--in", "corpus", multiple=True, metavar="INPUT",
    help="A and B are ids of documents in this file or folder.",
)  # fmt: skip
@click.option("--text-column", metavar="NAME", help="The column with the text.  [default: detected]")
@click.option("--id-column", metavar="NAME", help="The column with the id.  [default: detected]")
@click.option("--format", metavar="NAME", help="The format of the input, where its suffix does not tell.")
@method_options
@click.option("--full", is_flag=True, help="Show every passage, and all of it.")
@click.option(
    "--context", type=click.IntRange(0), default=8, metavar="N", show_default=True,
    help="How many words to show at each end of a long shared passage.",
)  # fmt: skip
@click.option(
    "--width", type=click.IntRange(40), metavar="N",
    help="How many columns to print.  [default: as the terminal]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")
def command(left: str, right: str, as_json: bool, **values: Any) -> None:
    """Show how similar documents A and B are, and the passages that they share.

    A and B are files (text, Markdown, HTML, a mail), or - for standard input; with --in they are ids of
    documents in a corpus. The similarity is the one that `neardup dedup` finds with the same options.

    \b
    Examples:
      neardup compare a.txt b.txt
      neardup compare draft.md published.html --ngram 3 --full
      neardup compare 1042 2311 --in news.jsonl
    """
    plan = take_plan(values)
    where = Where(*(values.pop(name) for name in ("corpus", "text_column", "id_column", "format")))
    names = (left, right)
    if are_same(names, where) and not as_json:
        what = "document" if where.corpus else "file"
        click.echo(f"{left} and {right} are the same {what}: there is nothing to compare.")
        return
    comparison = _compare(plan, names, read_texts(names, where))
    if as_json:
        click.echo(json.dumps(_as_dict(plan, names, comparison), indent=2))
    else:
        _print(plan, names, comparison, **values)


def _compare(plan: Plan, names: Names, texts: tuple[str, str]) -> Comparison:
    from neardup.verify.passages import shared_passages

    comparison = shared_passages(plan, *texts)
    for name, side in zip(names, (comparison.left, comparison.right), strict=True):
        if not side.features:
            raise InputError(f"{spoken(name)} has no words: there is nothing to compare")
    return comparison


def _as_dict(plan: Plan, names: Names, comparison: Comparison) -> dict[str, Any]:
    """Everything that was found, as plain values."""
    return {
        "similarity": comparison.similarity,
        "containment": comparison.containment,
        "shared": comparison.shared,
        "estimate": comparison.estimate,
        "threshold": plan.threshold,
        "near_duplicates": comparison.near_duplicates,
        "left": _side_as_dict(names[0], comparison.left),
        "right": _side_as_dict(names[1], comparison.right),
        "plan": plan.to_dict(),
    }


def _side_as_dict(name: str, side: Side) -> dict[str, Any]:
    return {
        "name": name,
        "features": side.features,
        "containment": side.containment,
        "passages": [
            {**passage._asdict(), "text": side.text[passage.start : passage.end]} for passage in side.passages
        ],
    }


def _print(
    plan: Plan, names: Names, comparison: Comparison, *, width: int | None, context: int, full: bool
) -> None:
    """The verdict, the counts, and the passages side by side."""
    from rich.console import Console

    from neardup.cli.side_by_side import LEGEND, Show, passage_table

    console = Console(width=width, highlight=False, markup=False, emoji=False)
    style = "bold green" if comparison.near_duplicates else "bold"
    console.print(_verdict(plan, comparison), style=style)
    for line in _remarks(plan, comparison):
        console.print(line)
    console.print()
    console.print(_counts(plan, names, comparison))
    console.print()
    table, hidden = passage_table(comparison, names, Show(context, full))
    console.print(table)
    if hidden:
        console.print(f"… {hidden:,} more rows: --full shows them all")
    console.print()
    console.print(LEGEND, style="dim")


def _verdict(plan: Plan, comparison: Comparison) -> str:
    """The answer in one sentence."""
    if comparison.left.text == comparison.right.text:
        return "Identical texts."
    value = comparison.similarity if comparison.estimate is None else comparison.estimate
    what = "similarity" if comparison.estimate is None else "estimated similarity"
    shown = _digits(value, plan.threshold)
    if comparison.near_duplicates:
        return f"Near-duplicates: {what} {shown} reaches the threshold {plan.threshold:g}."
    return f"Not near-duplicates: {what} {shown} is below the threshold {plan.threshold:g}."


def _digits(value: float, threshold: float) -> str:
    """The value with three digits, or as many as show on which side of the threshold it is."""
    texts = (f"{value:.{digits}f}" for digits in range(3, 17))
    return next((text for text in texts if (float(text) < threshold) == (value < threshold)), repr(value))


def _remarks(plan: Plan, comparison: Comparison) -> list[str]:
    """What else is worth a line."""
    from neardup.signatures.estimate import wilson_interval

    lines = []
    if comparison.estimate is not None and plan.view.signature is not None:
        slots = plan.view.signature.slots
        low, high = wilson_interval(round(comparison.estimate * slots), slots)
        lines.append(
            f"{slots} slots say {low:.3f} to {high:.3f} (95 %); exactly: {comparison.similarity:.3f}."
        )
    if comparison.left.text != comparison.right.text and comparison.similarity == 1:
        lines.append("They differ in nothing that is compared: only in case, punctuation, space or repeats.")
    if not comparison.near_duplicates and comparison.containment >= plan.threshold:
        part, whole = ("A", "B") if comparison.left.features <= comparison.right.features else ("B", "A")
        lines.append(f"But {comparison.containment:.1%} of {part} is contained in {whole}.")
    return lines


def _counts(plan: Plan, names: Names, comparison: Comparison) -> Table:
    """Sizes, shared features and containment of both documents."""
    from rich.table import Table

    from neardup.cli.side_by_side import plain

    unit = getattr(plan.text, "tokens", "tokens")
    word = SINGULAR.get(unit, "token")
    width = getattr(plan.view.features, "width", None)
    union = comparison.left.features + comparison.right.features - comparison.shared
    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False)
    table.add_column("")
    for letter, name in zip("AB", names, strict=True):
        table.add_column(plain(f"{letter}  {spoken(name)}"), overflow="fold")
    sides = (comparison.left, comparison.right)
    table.add_row(f"{word}s", *(f"{sum(p.tokens for p in side.passages):,}" for side in sides))
    table.add_row(
        f"distinct runs of {width} {word}s" if width else "distinct features",
        *(f"{s.features:,}" for s in sides),
    )
    table.add_row(
        "found in the other", *(f"{comparison.shared:,} ({side.containment:.1%})" for side in sides)
    )
    table.add_row("similarity", f"{comparison.similarity:.3f}", f"{comparison.shared:,} of {union:,} in both")
    return table
