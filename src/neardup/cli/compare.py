"""neardup compare: how similar two documents are, and where."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import grouped
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.cli.support.named_documents import Where, are_same, read_texts, spoken
from neardup.cli.support.relation_words import (
    SLOTS,
    compares_whole_texts,
    feature_name,
    relation_sentence,
    threshold_sentence,
    token_name,
)
from neardup.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from neardup.explain.passages import Comparison, Side
    from neardup.learn.model.file import Model
    from neardup.plan import Plan
    from neardup.statistics import Statistics

Names = tuple[str, str]


@click.command(cls=MethodCommand)
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@grouped(
    "Input",
    click.option(
        "--in", "corpus", multiple=True, metavar="INPUT",
        help="A and B are ids of documents in this file or folder.",
    ),
    options.text,
)  # fmt: skip
@options.decide
@options.statistics
@grouped(
    "Output",
    options.flag("--full", "Show all passages at full length."),
    options.count("--context", "Words to show at each end of a long shared passage.", 8),
    options.count("--width", "Columns to print.  [default: the terminal's]", least=40),
    options.as_json,
)
def command(left: str, right: str, as_json: bool, chosen: ChosenMethod, **values: Any) -> None:
    """Show how documents A and B relate, how similar they are, and the passages that they share.

    The first line says whether they are copies or near-duplicates, one contains the other, they share a passage, or
    they are different.

    A and B are files (text, Markdown, HTML, a mail), or - for standard input; with --in they are ids of
    documents in a corpus. The similarity is the one that `neardup dedup` finds with the same options.

    \b
    Examples:
      neardup compare a.txt b.txt
      neardup compare draft.md published.html --ngram 3 --full
      neardup compare 1042 2311 --in news.jsonl
      neardup compare 1042 2311 --in news.jsonl --method rare_phrases
      neardup compare a.txt b.txt --model model.json
    """
    model = _model(chosen.options.get("model"), bool(values["corpus"] or values["stats"]))
    from neardup.plans import complete_plan, with_statistics

    plan = complete_plan(
        chosen.plan(), **{name: values.pop(name) for name in ("decide", "numbers", "normalize")}
    )
    plan, statistics = with_statistics(plan, values.pop("stats"), values.pop("df_unit"))
    given = (field.name for field in fields(Where) if field.name in values)
    stage: dict[str, Any] = {
        "fields": getattr(plan.text, "fields", ()),
        "markup": getattr(plan.text, "markup", False),
    }
    where = Where(**{name: values.pop(name) for name in given}, **stage)
    names = (left, right)
    if are_same(names, where) and not as_json:
        what = "document" if where.corpus else "file"
        click.echo(f"{spoken(left)} and {spoken(right)} are the same {what}: nothing to compare.")
        return
    texts = read_texts(names, where)
    if statistics is None:
        counted = None if model is None else model.statistics
        statistics = _frequencies(plan, where) if where.corpus else counted
    comparison = _compare(plan, names, texts, statistics)
    reasons = None if model is None else _reasons(plan, model, comparison, texts, statistics)
    if as_json:
        click.echo(json.dumps(_as_dict(plan, names, comparison) | (reasons or {}), indent=2))
    else:
        _print(plan, names, comparison, reasons, **values)


def _frequencies(plan: Plan, where: Where) -> Statistics | None:
    """The document frequencies that a run over the corpus counts, if the method weighs by them."""
    if not plan.counts:
        return None
    from neardup.cli.support.show import TerminalProgress
    from neardup.documents import Problems, open_inputs
    from neardup.engines.local.checkpoint.workspace import Workspace
    from neardup.engines.local.frequencies import frequencies
    from neardup.engines.local.read import Job, read
    from neardup.workers import default_threads

    sources = open_inputs(where.corpus, format=where.format, html_text=where.html_text)
    with TerminalProgress() as progress, Workspace() as work:
        job = Job(plan, sources, work, where.columns, Problems(), progress, default_threads())
        return frequencies(job, read(job, represent_now=False), None)


def _model(path: str | None, counts: bool) -> Model | None:
    """The model that learned weights come from; its statistics stand in for those of a corpus."""
    if path is None:
        return None
    from neardup.learn.model.file import read_model

    model = read_model(path)
    if model.statistics is None and not counts:
        raise InputError(
            f"The model {path} has no document frequencies, and two texts do not show which words are rare"
        )
    return model


def _reasons(
    plan: Plan,
    model: Model,
    comparison: Comparison,
    texts: tuple[str, str],
    statistics: Statistics | None,
) -> dict[str, Any]:
    """The probability of near-duplicates at this score, and the k-grams that contribute most."""
    from neardup.explain.contributions import contributions

    assert statistics is not None
    parts = contributions(plan, *texts, statistics)
    likely = None if model.probability is None else float(model.probability.of(comparison.similarity))
    return {"probability": likely, "contributions": [part._asdict() for part in parts]}


def _compare(
    plan: Plan, names: Names, texts: tuple[str, str], statistics: Statistics | None = None
) -> Comparison:
    from neardup.cli.support.show import TerminalProgress
    from neardup.explain.passages import shared_passages

    with TerminalProgress():  # says so if kernels have to be compiled
        comparison = shared_passages(plan, *texts, statistics)
    for name, side in zip(names, (comparison.left, comparison.right), strict=True):
        if not side.features:
            empty = not any(passage.tokens for passage in side.passages)
            lacks = "has no words" if empty else f"has no features of the method {plan.method}"
            raise InputError(f"{spoken(name)} {lacks}: nothing to compare")
    return comparison


def _as_dict(plan: Plan, names: Names, comparison: Comparison) -> dict[str, Any]:
    """Everything that was found, as plain values."""
    return {
        "relation": comparison.relation,
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
    plan: Plan,
    names: Names,
    comparison: Comparison,
    reasons: dict[str, Any] | None,
    *,
    width: int | None,
    context: int,
    full: bool,
) -> None:
    """The relation, the counts, and the passages side by side."""
    from rich.console import Console

    from neardup.cli.support.side_by_side import Show, passage_table

    console = Console(width=width, highlight=False, markup=False, emoji=False)
    style = "bold green" if comparison.near_duplicates else "bold"
    spoken_names = (spoken(names[0]), spoken(names[1]))
    in_one_line = width is None and not console.is_terminal  # so that `head -n 1` shows all of it
    sentence = relation_sentence(plan, spoken_names, comparison)
    console.print(sentence, style=style, soft_wrap=in_one_line)
    verdict = threshold_sentence(plan, comparison)
    for line in [*([] if verdict is None else [verdict]), *_remarks(plan, comparison)]:
        console.print(line)
    letters = (f"A  {spoken(names[0])}", f"B  {spoken(names[1])}")
    table, legend = passage_table(comparison, letters, Show(context, full))
    why = () if reasons is None else ("", _reason_table(reasons))
    if reasons is not None and reasons["probability"] is not None:
        console.print(f"Of pairs with this score, {reasons['probability']:.1%} are near-duplicates.")
    for part in ("", _counts(plan, comparison), *why, "", table, ""):
        console.print(part)
    console.print(legend, style="dim")


def _remarks(plan: Plan, comparison: Comparison) -> list[str]:
    """Lines below the first one: the estimate's interval, shared features, containment."""
    from neardup.signatures.estimate import wilson_interval

    left, right = comparison.left, comparison.right
    lines = []
    if comparison.estimate is not None and plan.check.measures == SLOTS and plan.view.signature is not None:
        slots = plan.view.signature.slots
        low, high = wilson_interval(round(comparison.estimate * slots), slots)
        lines.append(
            f"{slots} slots: {low:.3f} to {high:.3f} (95 % interval); exact similarity: {comparison.similarity:.3f}."
        )
    if not compares_whole_texts(plan):
        union = left.features + right.features - comparison.shared
        both = f"{comparison.shared:,} of {union:,} distinct {feature_name(plan)} are in both"
        lines.append(f"{both}; containment {comparison.containment:.3f}.")
    if left.text != right.text and comparison.similarity == 1:
        lines.append("They differ in case, punctuation, space or repeats only, which are not compared.")
    return lines


def _counts(plan: Plan, comparison: Comparison) -> Table:
    """Sizes and containment of both documents."""
    from rich.table import Table

    sides = (comparison.left, comparison.right)
    tokens = [sum(passage.tokens for passage in side.passages) for side in sides]
    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False)
    table.add_column("")
    for letter in "AB":
        table.add_column(letter, justify="right")
    table.add_row(f"{token_name(plan)}s", *(f"{count:,}" for count in tokens))
    if compares_whole_texts(plan):
        return table
    table.add_row(f"distinct {feature_name(plan)}", *(f"{side.features:,}" for side in sides))
    table.add_row("containment in the other", *(f"{side.containment:.3f}" for side in sides))
    return table


def _reason_table(reasons: dict[str, Any]) -> Table:
    """The k-grams that add most to the score."""
    from rich.table import Table

    from neardup.cli.support.side_by_side import plain

    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False)
    table.add_column("adds most to the score")
    for title in ("share", "weight in A", "weight in B"):
        table.add_column(title, justify="right")
    for part in reasons["contributions"]:
        table.add_row(
            plain(part["text"]), f"{part['share']:.1%}", f"{part['left']:.3f}", f"{part['right']:.3f}"
        )
    return table
