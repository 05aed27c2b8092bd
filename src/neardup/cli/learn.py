"""neardup learn: a model of what makes near-duplicates, from labelled documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from neardup.cli.evaluate import judgement_options, read_input, read_truth
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.cli.support.options import input_options, new_file
from neardup.errors import InputError
from neardup.learn.model.weight import STARTS
from neardup.text.words import TokenKind
from neardup.wording import counted

if TYPE_CHECKING:
    from neardup.learn.model.file import Model

TOLD = (
    "ngram", "tokens", "similarity", "fields", "tags", "queries", "features", "start", "negative", "aim", "goal",
    "seed", "threads",
)  # fmt: skip


@click.command(cls=GroupedCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@grouped(
    "Labels",
    click.option(
        "--labels", required=True, metavar="FILE", help="A table of clusters or judged pairs, or a folder."
    ),
)
@grouped(
    "Output",
    click.option(
        "-o", "--output", required=True, metavar="MODEL.json", help="The file to write the model to."
    ),
    click.option("--force", is_flag=True, help="Overwrite the file."),
)
@click.option(
    "--ngram",
    type=click.IntRange(1, 65536),
    default=1,
    show_default=True,
    metavar="K",
    help="Tokens in a k-gram.",
)
@click.option(
    "--tokens",
    type=click.Choice(get_args(TokenKind)),
    default="words",
    show_default=True,
    help="What a token is.",
)
@click.option(
    "--similarity",
    type=click.Choice(["cosine", "jaccard"]),
    default="cosine",
    show_default=True,
    help="What weights are learned for: the cosine, or the extended Jaccard coefficient.",
)
@click.option(
    "--features", metavar="NAME,...", help="The features to learn weights of.  [default: all that fit]"
)
@click.option(
    "--negative",
    type=click.Choice(["auto", "clip", "keep"]),
    default="auto",
    show_default=True,
    help="What becomes of weights below zero; auto: what is better on held-out labels.",
)
@click.option(
    "--fields",
    metavar="COLUMN,...",
    help="Columns whose words count, too: title or subject, url, any. What stands in a title or url is known by it.",
)
@click.option(
    "--tags", is_flag=True, help="The texts are HTML: learn what links, headings and emphasis are worth."
)
@click.option(
    "--queries",
    metavar="FILE",
    help="A table of query and count: how often people search for words is a feature then.",
)
@click.option(
    "--start",
    type=click.Choice(["auto", *STARTS]),
    default="auto",
    show_default=True,
    help="The weights to begin with; auto: front, unless another one serves the labels clearly better.",
)
@click.option(
    "--aim",
    type=click.Choice(["vectors", "signatures"]),
    default="vectors",
    show_default=True,
    help="What weights should be good for: exact scores, or what 384 sign bits leave of them.",
)
@judgement_options
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    metavar="N",
    help="The seed of what is drawn.",
)
@input_options
def command(inputs: tuple[str, ...], **values: Any) -> None:
    """Learn from labelled documents of INPUT how much each of their words counts, and write a model.

    Ten labelled documents are the least, sixty do nearly as well as any number. Documents without a label take part
    in counting which words are rare. How strongly to learn, the threshold and the probability of a score are
    decided on labels that were held out.

    \b
    Labels are those of `neardup evaluate`: a table of id and cluster, a table of judged pairs, or a folder.

    \b
    Examples:
      neardup learn news.jsonl --labels clusters.csv -o news-model.json
      neardup learn mail.jsonl --labels pairs.csv -o mail.json --fields subject --goal precision=0.98
      neardup dedup more-news.jsonl --method andd --model news-model.json -o clean
    """
    from neardup.cli.support.show import TerminalProgress
    from neardup.learn.training.public import make_lesson
    from neardup.learn.training.train import learn

    target = new_file(values["output"], values["force"])
    if not Path(values["labels"]).exists():
        raise InputError(f"{values['labels']} does not exist")
    lesson = make_lesson(**{name: values[name] for name in TOLD})
    with TerminalProgress() as progress:
        documents = read_input(inputs, values, progress, [lesson.text])
        truth = read_truth(values, documents.ids)
        model = learn(documents, truth, lesson, progress)
    model.write(target)
    if values["as_json"]:
        summary = {
            "model": str(target),
            "threshold": model.threshold,
            "weights": model.weights,
            **model.training,
        }
        click.echo(json.dumps(summary, indent=2))
    else:
        _show(model, target)


def _show(model: Model, target: Path) -> None:
    """What was learned, in a few lines."""
    figures = model.training
    held = "on held-out labels" if figures["held_out"] else "on the labels that were learned from"
    click.echo(
        f"{counted(figures['documents'], 'labelled document')}, "
        f"{counted(figures['positive_pairs'], 'pair')} of near-duplicates."
    )
    if "f1" in figures:
        scores = (
            f"F1 {figures['f1']:.3f}, precision {figures['precision']:.3f}, recall {figures['recall']:.3f}"
        )
        click.echo(f"{model.similarity.capitalize()} from {model.threshold:g} upwards: {scores} {held}.")
    click.echo(
        f"Learned from the start {figures['start']!r}, with the pull {figures['pull'] or 'of staying there'}."
    )
    click.echo("Weights: " + ", ".join(f"{name} {weight:+.3f}" for name, weight in model.weights.items()))
    if figures["negative_weights"]:
        fate = "dropped" if model.negative == "clip" else "kept"
        click.echo(f"{figures['negative_weights']:.1%} of all k-grams have a weight below zero: {fate}.")
    for note in figures["notes"]:
        click.echo(f"note: {note}")
    click.echo(f"The model is in {target}: use it with  --method andd --model {target}")
