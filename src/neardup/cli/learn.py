"""neardup learn: a similarity model learned from labelled documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from neardup.cli.evaluate import read_input, read_truth
from neardup.cli.support import options
from neardup.cli.support.groups import GroupedCommand
from neardup.learn.model.weight import INITIAL_CHOICES
from neardup.plurals import counted
from neardup.text.words import TokenKind

if TYPE_CHECKING:
    from neardup.learn.model.file import Model

TRAINING_OPTIONS = (
    "ngram", "tokens", "similarity", "fields", "tags", "queries", "features", "initial_weights", "negative", "aim",
    "goal", "seed", "threads",
)  # fmt: skip


@click.command(cls=GroupedCommand)
@options.inputs
@options.labels
@options.output("MODEL.json", "The file to write the model to.")
@click.option("--ngram", type=click.IntRange(1, 65536), default=1, metavar="K", help="Tokens in a k-gram.")
@options.choice("--tokens", get_args(TokenKind), "The unit of text.")
@options.choice(
    "--similarity",
    ["cosine", "jaccard"],
    "The similarity that weights are learned for: cosine or extended Jaccard.",
)
@click.option(
    "--features", metavar="NAME,...", help="The features to learn weights for.  [default: all available]"
)
@options.choice(
    "--negative",
    ["auto", "clip", "keep"],
    "Drop (clip) or keep k-grams with weights below zero; auto: the better on held-out labels.",
)
@click.option(
    "--fields", metavar="COLUMN,...", help="Columns whose words count too, for example title, subject or url."
)
@click.option(
    "--tags", is_flag=True, help="The texts are HTML: learn weights for links, headings and emphasis."
)
@click.option(
    "--queries", metavar="FILE", help="A table of queries and counts, for the feature query_frequency."
)
@options.choice(
    "--initial-weights",
    ["auto", *INITIAL_CHOICES],
    "The initial weights; auto: front, unless others are clearly better on the labels.",
)
@options.choice(
    "--aim", ["vectors", "signatures"], "Optimize exact scores, or their estimates by 384 sign bits."
)
@options.judgement
@options.count("--seed", "The random seed.", 1)
@options.reading
def command(inputs: tuple[str, ...], **values: Any) -> None:
    """Learn a similarity from labelled documents of INPUT: how much each word counts; write it as a model.

    Learning needs at least 10 labelled documents; more than 60 add little. Documents without a label count towards
    document frequencies. The regularization strength, the threshold and the probability of a score are chosen on
    held-out labels.

    \b
    Labels are as for `neardup evaluate`: a table of id and cluster, a table of judged pairs, or a folder.

    \b
    Examples:
      neardup learn news.jsonl --labels clusters.csv -o news-model.json
      neardup learn mail.jsonl --labels pairs.csv -o mail.json --fields subject --goal precision=0.98
      neardup dedup more-news.jsonl --method andd --model news-model.json -o clean
    """
    from neardup.cli.support.show import TerminalProgress
    from neardup.learn.training.learner import learn
    from neardup.learn.training.public import training_setup

    target = options.new_file(values["output"], values["force"])
    setup = training_setup(**{name: values[name] for name in TRAINING_OPTIONS})
    with TerminalProgress() as progress:
        documents = read_input(inputs, values, progress, [setup.text])
        truth = read_truth(values, documents.ids)
        model = learn(documents, truth, setup, progress)
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
    """Print a summary of the model."""
    figures = model.training
    labels = "on held-out labels" if figures["held_out"] else "on the training labels"
    click.echo(
        f"{counted(figures['documents'], 'labelled document')}, "
        f"{counted(figures['positive_pairs'], 'pair')} of near-duplicates."
    )
    if "f1" in figures:
        scores = (
            f"F1 {figures['f1']:.3f}, precision {figures['precision']:.3f}, recall {figures['recall']:.3f}"
        )
        click.echo(f"{model.similarity.capitalize()} ≥ {model.threshold:g}: {scores} {labels}.")
    strength = figures["regularization"]
    trained = "kept unchanged" if strength is None else f"trained with regularization {strength:g}"
    click.echo(f"Initial weights {figures['initial_weights']!r}, {trained}.")
    click.echo("Weights: " + ", ".join(f"{name} {weight:+.3f}" for name, weight in model.weights.items()))
    if figures["negative_weights"]:
        treatment = "dropped" if model.negative == "clip" else "kept"
        click.echo(f"{figures['negative_weights']:.1%} of all k-grams have a weight below zero: {treatment}.")
    for warning in figures["warnings"]:
        click.echo(f"warning: {warning}")
    click.echo(f"Model written to {target}. Use it with: --method andd --model {target}")
