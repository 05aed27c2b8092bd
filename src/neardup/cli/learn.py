"""neardup learn: a similarity model learned from labelled documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args

import click

from neardup.cli.evaluate import read_dated, read_truth
from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand
from neardup.learn.model.weight import INITIAL_CHOICES
from neardup.plurals import counted
from neardup.text.words import TokenKind

if TYPE_CHECKING:
    from neardup.learn.model.file import Model

TRAINING_OPTIONS = (
    "ngram", "tokens", "similarity", "fields", "tags", "queries", "features", "initial_weights", "regularization",
    "negative", "aim", "goal", "seed", "threads",
)  # fmt: skip


@click.command(cls=GroupedCommand)
@options.inputs
@options.labels
@options.output("MODEL.json", "The file to write the model to.", remote=True)
@options.count("--ngram", "Tokens in a k-gram.", 1, least=1, most=65536)
@options.choice("--tokens", get_args(TokenKind), "The unit of text.")
@options.choice(
    "--similarity",
    ["cosine", "jaccard"],
    "The similarity that weights are learned for: cosine or extended Jaccard.",
)
@options.value("--features NAME,...", "The features to learn weights for.  [default: all available]")
@options.choice(
    "--negative",
    ["auto", "clip", "keep"],
    "Drop (clip) or keep k-grams with weights below zero; auto: the better on held-out labels.",
)
@options.value("--fields COLUMN,...", "Columns whose words count too, for example title, subject or url.")
@options.flag("--tags", "The texts are HTML: learn weights for links, headings and emphasis.")
@options.value("--queries FILE", "A table of queries and counts, for the feature query_frequency.")
@options.choice(
    "--initial-weights",
    ["auto", *INITIAL_CHOICES, "random"],
    "The initial weights; auto: front, unless others are clearly better on the labels.",
)
@options.value(
    "--regularization auto|best|NUMBER",
    "How strongly weights stay near the initial ones; auto: 0.3, unless another strength is clearly better on "
    "held-out labels; best: the highest held-out F1.",
    default="auto",
)
@options.time_column
@options.choice(
    "--aim", ["vectors", "signatures"], "Optimize exact scores, or their estimates by 384 sign bits."
)
@options.judgement
@options.count("--seed", "The random seed.", 1)
@options.reading
def command(inputs: tuple[str, ...], **values: Any) -> None:
    """Learn from the labelled documents of INPUT how much each word counts, and write a model.

    Learning needs at least 10 labelled documents; more than 60 add little. Documents without a label count towards
    document frequencies. The regularization strength, the threshold, the clustering and the probability of a score are
    chosen on held-out labels; with labelled clusters by the removals that follow, else by pairs.

    Labels are as for `neardup evaluate`: a table of id and cluster, a table of judged pairs, or a folder.

    \b
    Examples:
      neardup learn news.jsonl --labels clusters.csv -o news-model.json
      neardup learn mail.jsonl --labels pairs.csv -o mail.json --time-column date
      neardup dedup more-news.jsonl --method andd --model news-model.json -o clean
    """
    from neardup.cli.support.show import TerminalProgress
    from neardup.evaluate.times import AUTO
    from neardup.learn.training.learner import learn
    from neardup.learn.training.public import training_setup

    target = options.new_target(values["output"], values["force"])
    setup = training_setup(**{name: values[name] for name in TRAINING_OPTIONS})
    with TerminalProgress() as progress:
        documents, times = read_dated(inputs, values, progress, [setup.text])
        truth = read_truth(values, documents.ids, progress)
        asked = values["time_column"] != AUTO
        model = learn(documents, truth, setup, progress, times, asked)
    model.write(target)
    summary = {"model": str(target), "threshold": model.threshold, "weights": model.weights, **model.training}
    emit(values["as_json"], summary, _lines(model, target), indent=2)


def _lines(model: Model, target: str) -> Iterator[str]:
    """A summary of the model."""
    figures = model.training
    labels = "on held-out labels" if figures["held_out"] else "on the training labels"
    if figures["held_out_by_time"]:
        labels = "on later labels, learned from earlier ones"
    yield (
        f"{counted(figures['documents'], 'labelled document')}, "
        f"{counted(figures['positive_pairs'], 'pair')} of near-duplicates."
    )
    if "f1" in figures:
        scores = (
            f"F1 {figures['f1']:.3f}, precision {figures['precision']:.3f}, recall {figures['recall']:.3f}"
        )
        yield f"{model.similarity.capitalize()} ≥ {model.threshold:g}: {scores} {labels}, by pairs."
    if figures["outcome"]:
        outcome = figures["outcome"]
        yield (
            f"Clusters ({model.clusters}): F1 {outcome['f1']:.3f}; {outcome['duplicates_removed']:.1%} of the "
            f"duplicates removed, {outcome['wrong_share']:.1%} of the removals wrong."
        )
    if expected := figures["expected"]:
        of = (
            "later documents, decided by earlier ones"
            if expected["by_time"]
            else "clusters that did not decide"
        )
        yield (
            f"Expected of {of}: F1 {expected['f1']:.3f}; {expected['duplicates_removed']:.1%} of the duplicates "
            f"removed, {expected['wrong_share']:.1%} of the removals wrong."
        )
    strength = figures["regularization"]
    trained = "kept unchanged" if strength is None else f"trained with regularization {strength:g}"
    yield f"Initial weights {figures['initial_weights']!r}, {trained}."
    yield "Weights: " + ", ".join(f"{name} {weight:+.3f}" for name, weight in model.weights.items())
    if figures["negative_weights"]:
        treatment = "dropped" if model.negative == "clip" else "kept"
        yield f"{figures['negative_weights']:.1%} of all k-grams have a weight below zero: {treatment}."
    yield from (f"warning: {warning}" for warning in figures["warnings"])
    yield f"Model written to {target}. Use it with: --method andd --model {target}"
