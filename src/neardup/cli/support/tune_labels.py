"""neardup tune with labels: the best method and threshold for a goal, and their estimated cost."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from neardup.cli.evaluate import protocol, read_dated, read_truth
from neardup.cli.support.emit import emit
from neardup.cli.support.evaluation_table import as_table
from neardup.cli.support.method_options import ChosenMethod
from neardup.cli.support.show import TerminalProgress, duration
from neardup.errors import InputError, ParameterError
from neardup.evaluate.report import figure
from neardup.plurals import counted, size_in_words

if TYPE_CHECKING:
    from neardup.evaluate.recommendation import Choice, Tuning
    from neardup.evaluate.removals import OutcomeScores
    from neardup.evaluate.specs import Spec


def tune_on_labels(
    documents: int, as_json: bool, plot: str | None, chosen: ChosenMethod, values: dict[str, Any]
) -> None:
    """Find the best method and threshold, and print them."""
    from neardup.evaluate.recommendation import tune
    from neardup.evaluate.run import Bench

    inputs, labels = values["inputs"], values["labels"]
    if not inputs:
        raise InputError(
            f"--labels {labels} needs the labelled documents: give their file or folder as INPUT"
        )
    if labels is None:
        raise InputError(f"INPUT {inputs[0]} needs labels: give them with --labels")
    if plot is not None:
        raise ParameterError(
            "plot", "neardup tune", "omitted with --labels (use neardup evaluate --plots)", plot
        )
    specs, rules = _specs(chosen, values["tried"]), protocol(values)
    with TerminalProgress() as progress:
        texts, times = read_dated(inputs, values, progress, [spec.plan.text for spec in specs])
        bench = Bench(texts, read_truth(values, texts.ids, progress), rules, progress, times=times)
        found = tune(bench, specs, documents)
    goal = str(rules.goal)
    emit(as_json, {"goal": goal, **found.as_dict()}, _lines(found, goal, _reading(inputs, values)))


def _reading(inputs: tuple[str, ...], values: dict[str, Any]) -> str:
    """The inputs and their reading options, as typed on the command line."""
    shown = values | {"html_text": None if values["html_text"] == "article" else values["html_text"]}
    names = ("text_column", "id_column", "format", "html_text")
    given = [word for name in names if shown[name] for word in (f"--{name.replace('_', '-')}", shown[name])]
    html = {True: ["--html"], False: ["--no-html"], None: []}[values["html"]]
    return shlex.join([*inputs, *given, *html])


def _specs(chosen: ChosenMethod, tried: tuple[str, ...]) -> list[Spec]:
    """The methods to try: those of --try; or the one of --method with its options; or all."""
    from neardup.evaluate.recommendation import default_specs
    from neardup.evaluate.specs import Spec, make_specs

    requested = chosen.named or chosen.options
    if tried:
        if requested:
            raise ParameterError("try", "neardup tune", "used without --method and its options", tried[0])
        return make_specs(tried)
    return [Spec(chosen.method.name, dict(chosen.options))] if requested else default_specs()


def _lines(found: Tuning, goal: str, reading: str) -> list[str]:
    lines = [
        *_best(found, goal, reading),
        "",
        f"Methods tried, best for {goal} first:",
        _tried(found.choices),
        *(f"{choice.result.name} {choice.note}" for choice in found.choices if choice.note),
    ]
    by_time = found.held_out is not None and found.held_out.by_time
    lines.append(
        "held-out F1: on later clusters than those that chose the setting; ±: standard deviation over blocks of time."
        if by_time
        else "held-out F1: on clusters that were not used to choose the setting; ±: standard deviation over halves."
    )
    return lines


def _best(found: Tuning, goal: str, reading: str) -> list[str]:
    best, measured = found.best, found.measured
    if best is None or measured is None:
        return [f"No method reaches {goal} at any threshold on these labels."]
    seconds, memory = measured.seconds_for(found.documents), measured.memory_for(found.documents)
    clusters = [] if best.clusters is None else [f"--clusters {best.clusters}"]
    return [
        " ".join([f"Best for {goal}: {best.spec.name}", *clusters]),
        *_scores(found, best),
        f"  estimated cost for {counted(found.documents, 'document')} like these: {duration(seconds)} with "
        f"{counted(measured.threads, 'thread')} (without writing), {size_in_words(memory)} of memory",
        f"  measured cost of {counted(measured.documents, 'document')}: {size_in_words(measured.text_bytes)} in "
        f"{measured.seconds:.2f} s",
        f"  neardup dedup {reading} -o clean {' '.join([*best.spec.words(), *clusters])}",
    ]


def _scores(found: Tuning, best: Choice) -> list[str]:
    """What the command gives on the labels, and what to expect of it elsewhere."""
    if found.outcome is None:
        assert best.result.best is not None
        counts = best.result.best.counts
        shown = ", ".join(f"{name} {figure(getattr(counts, name))}" for name in ("precision", "recall"))
        return [f"  on the labels: {shown}, F1 {figure(counts.f1)}"]
    outcome = found.outcome
    lines = [
        f"  on the labels: {removals_in_words(outcome)}",
        f"  pairs inside its clusters: precision {figure(outcome.precision)}, recall {figure(outcome.recall)}, "
        f"F1 {figure(outcome.f1)}",
    ]
    if found.held_out is not None:
        known = found.held_out.as_dict()
        parts = (
            f"of later documents, from {counted(known['halves'], 'block')} of time with the choices of earlier clusters"
            if known["by_time"]
            else f"elsewhere, from {counted(known['halves'], 'half', 'halves')} of the clusters that did not choose"
        )
        lines.append(
            f"  expected {parts}: F1 {figure(known['f1'])} ±{figure(known['f1_deviation'])}, "
            f"{known['wrong_share']:.1%} of removals wrong, {known['duplicates_removed']:.1%} of duplicates removed"
        )
    if not found.safe:
        lines.append("  Warning: every setting removes documents wrongly; this one does so least.")
    if found.unlabelled is not None:
        lines.append(f"  Warning: {found.unlabelled}; label them too, or tune on the labelled ones alone.")
    if found.held_out is not None and found.held_out.warning is not None:
        lines.append(
            f"  Warning: {found.held_out.warning}; check the choice on other labels before you rely on it."
        )
    return lines


def removals_in_words(outcome: OutcomeScores) -> str:
    """How many documents a run removes, and how rightly."""
    wrong = f"{outcome.wrong:,.0f} of them wrongly ({outcome.wrong_share:.1%})"
    duplicates = counted(round(outcome.documents - outcome.clusters), "duplicate")
    rest = f"{outcome.duplicates_removed:.1%} of {duplicates} removed"
    return f"removes {counted(int(outcome.removed), 'document')}, {wrong}; {rest}"


def _tried(choices: list[Choice]) -> str:
    if all(choice.clusters is None for choice in choices):
        return _tried_on_pairs(choices)
    columns = ["method", "at", "clusters", "wrong", "removed", "F1", "held-out F1"]
    body = []
    for choice in choices:
        scores, outcome, cells = choice.held_out, choice.outcome, ["–"] * 6
        if outcome is not None:
            spread = scores.as_dict()["f1_deviation"] if scores else None
            cells = [
                f"{choice.spec.plan.threshold:.4g}", choice.setting.clusters, f"{outcome.wrong_share:.1%}",
                f"{outcome.duplicates_removed:.1%}", figure(outcome.f1),
                f"{figure(scores.as_dict()['f1'])} ±{figure(spread)}" if scores else "–",
            ]  # fmt: skip
        body.append([choice.result.name, *cells])
    return as_table(columns, body)


def _tried_on_pairs(choices: list[Choice]) -> str:
    columns = ["method", "at", "precision", "recall", "F1", "held-out F1", "AP"]
    body = []
    for choice in choices:
        best, splits = choice.result.best, choice.result.splits
        held_out = splits.as_dict()["f1"] if splits is not None and best is not None else None
        shown = f"{figure(held_out['mean'])} ±{figure(held_out['standard_deviation'])}" if held_out else "–"
        figures = ["–"] * 4
        if best is not None:
            counts = best.counts
            figures = [f"{best.threshold:.4g}", *map(figure, (counts.precision, counts.recall, counts.f1))]
        body.append([choice.result.name, *figures, shown, figure(choice.result.average_precision)])
    return as_table(columns, body)
