"""Output on the terminal: progress during a run, and a summary at its end."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import click

from neardup.engines.core.bars import BarProgress
from neardup.escapes import escape_controls
from neardup.plurals import counted, size_in_words


class TerminalProgress(BarProgress):
    """One line for each stage on a terminal; notes alone elsewhere."""

    def __init__(self) -> None:
        super().__init__(sys.stderr.isatty())
        self._compiled = 0
        _on_compilation(self._compiling)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        _on_compilation(None)

    def note(self, message: str) -> None:
        """A line above the bars."""
        message = escape_controls(message)
        if self._bars is not None:
            super().note(message)
        else:
            click.echo(f"neardup: {message}", err=True)

    def _compiling(self) -> None:
        self._compiled += 1
        if self._compiled == 1:
            self.note(
                "compiling kernels for this machine: the first run of each method takes up to a minute longer"
            )


_listener: Any = None


def _on_compilation(notify: Any) -> None:
    """Has Numba call `notify` each time that it compiles a function that its cache does not have."""
    global _listener
    from importlib import import_module

    from neardup.kernels import quick

    quick.waiting.clear()
    if "numba" not in sys.modules:
        if notify is not None:
            quick.waiting.append(lambda: _on_compilation(notify))
        return
    event: Any = import_module("numba.core.event")
    if _listener is not None:
        with suppress(ValueError, KeyError):
            event.unregister("numba:compile", _listener)
        _listener = None
    if notify is not None:
        _listener = _Listener(event, notify)
        event.register("numba:compile", _listener)


def _Listener(event: Any, notify: Any) -> Any:
    """A Numba listener, made here because Numba is loaded only now."""

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, happening: Any) -> None:
            notify()

        def on_end(self, happening: Any) -> None:
            pass

    return Listener()


BOILERPLATE = 0.1  # of the visible text of pages: less is not worth a line
OUTCOMES = {  # what a mode does with documents
    "remove": ("kept", "removed"),
    "annotate": ("kept", "marked as near-duplicates"),
    "none": ("to keep", "that would be removed"),
}


def summary(report: dict[str, Any], folder: str | None, seconds: float, mode: str = "remove") -> str:
    """The last lines of a run: counts, the largest clusters, problems, and the files written."""
    n, removed, pairs = report["documents"], report["removed"], report["pairs"]
    unverified, (keep, remove) = report["plan"]["check"]["level"] == "none", OUTCOMES[mode]
    if mode == "annotate" and report["removals"]["empty"]:
        remove += " or empty"
    within = report.get("against", {}).get("within", True)
    lines = [
        f"{counted(n, 'document')} ({size_in_words(report['text_bytes'])}) in {seconds:.1f} s: "
        f"{report['kept']:,} {keep}, {removed:,} {remove} ({removed / n:.1%})",
        *_reference_lines(report),
        *(
            [
                f"{counted(report['clusters'], 'cluster')}; {counted(report['exact_copies'], 'exact copy')}; "
                + (
                    f"{counted(pairs['verified'], 'pair')}, none of them verified"
                    if unverified
                    else _pair_counts(pairs)
                )
            ]
            if within
            else []
        ),
        *_recall_lines(report),
        *_signature_lines(report),
    ]
    skipped = report["buckets"]["pairs_skipped"]
    if skipped:
        lines.append(
            f"{counted(report['buckets']['above_limit'], 'hot bucket')}: {counted(skipped, 'pair')} skipped; each "
            "document was compared with a few pivots only (--pairs all compares all pairs)"
        )
    lines += _chain_lines(report)
    lines += _decision_lines(report)
    lines += [f"Warning: {escape_controls(warning)}" for warning in report["warnings"]]
    lines += _without_lines(report, mode)
    lines += _page_lines(report)
    lines += (
        _cluster_lines(report["largest_clusters"][:5], report.get("against") is not None) if within else []
    )
    lines += problem_lines(report["problems"])
    if folder is not None:
        lines.append(escape_controls(f"written to {folder}: " + ", ".join(report["files"])))
    return "\n".join(lines)


def _reference_lines(report: dict[str, Any]) -> list[str]:
    """How many documents the references of --against have."""
    against = report.get("against")
    if against is None:
        return []
    found = ", ".join(
        f"{one['removed']:,} in {escape_controls(one['name'])}" for one in against["references"]
    )
    copies = f", {counted(against['copies'], 'exact copy')} among them" if against["copies"] else ""
    problems = problem_lines(against["problems"], "in the references")
    return [f"removed against references: {found}{copies}", *problems]


def _pair_counts(pairs: dict[str, int]) -> str:
    """How many pairs were verified, and how many were compared for that."""
    further = pairs["compared_for_clusters"]
    more = f" and {further:,} more compared inside clusters" if further else ""
    return f"{counted(pairs['verified'], 'verified pair')} from {counted(pairs['candidates'], 'candidate')}{more}"


def _chain_lines(report: dict[str, Any]) -> list[str]:
    """A warning about documents that are removed without evidence of their own."""
    removals, threshold = report["removals"], report["plan"]["threshold"]
    spared, indirect = removals["kept_without_direct_evidence"], removals["by_chain"] + removals["by_cluster"]
    lines = []
    if spared:
        are = "is" if spared == 1 else "are"
        lines = [
            f"{counted(spared, 'document')} of clusters {are} kept without direct evidence (--direct-only)"
        ]
    if removals["unverified"]:
        are = "is" if removals["unverified"] == 1 else "are"
        lines.append(f"{counted(removals['unverified'], 'removal')} {are} unverified (--verify none)")
    if not indirect:
        return lines
    lowest = removals["lowest_similarity"]
    reach = "" if lowest is None else f", down to {lowest:.3f}"
    what, remedy = ("the cluster as a whole", "--direct-only keeps these documents")
    if removals["by_chain"]:
        fewer = f"{counted(removals['removed_by_leaders'], 'document')} in place of {report['removed']:,}"
        what, remedy = ("a chain of pairs", f"--clusters leaders removes {fewer}")
    rest = "rests" if indirect == 1 else "rest"
    return [
        *lines,
        f"{counted(indirect, 'removal')} {rest} on {what}: similarity with the kept document below the threshold of "
        f"{threshold:g}{reach} ({remedy})",
    ]


def _decision_lines(report: dict[str, Any]) -> list[str]:
    """What decisions of people changed, and which could not be followed."""
    found = report.get("decisions")
    if found is None:
        return []
    who = counted(found["people"], "person", "people")
    lines = [
        f"decisions of {who} about {counted(found['applied'], 'document')} followed: {found['restored']:,} restored, "
        f"{found['removed']:,} removed against the machine"
    ]
    for key, words in (("absent", "not in the input"), ("changed", "changed since")):
        if found[key]:
            about = [one["id"] for one in found["not_applied"] if one["why"] == key][:3]
            lines.append(
                f"{counted(found[key], 'decision')} not followed, the document is {words} or duplicates one that is: "
                + escape_controls(", ".join(about))
            )
    return lines


def _recall_lines(report: dict[str, Any]) -> list[str]:
    """The probability of finding a pair, and a warning if it is below the requested recall."""
    threshold, found = report["plan"]["threshold"], report["recall_at_threshold"]
    if found is None:  # candidates come from another similarity than the measured one
        return []
    if found == 1:
        return [f"every pair that reaches the threshold of {threshold:g} is found"]
    line = (
        f"a pair at the threshold of {threshold:g} is found with probability {_probability(found)}, a more similar "
        "pair with a higher one"
    )
    requested = report["plan"]["recall"]
    if requested is None or found >= requested:
        return [line]
    return [line, f"  this is less than the requested recall of {requested:g}: see neardup tune"]


def _signature_lines(report: dict[str, Any]) -> list[str]:
    """What signatures that decide make of pairs near the threshold."""
    made = report.get("signatures")
    if made is None:
        return []
    below, _, above = made["curve"]
    size, error = counted(made["bytes"], "byte"), made["standard_error"]
    return [
        f"signatures of {size} decide, with a standard error of {error:.3f}: "
        f"{below['decided']:.0%} of the pairs of similarity {below['similarity']:.2f} pass, and {above['decided']:.0%} "
        f"of those of {above['similarity']:.2f}"
    ]


def _probability(found: float) -> str:
    """Three decimals; a small one with two digits, never 0."""
    return f"{found:.3f}" if found >= 0.001 or found == 0 else f"{found:.1e}"


def _without_lines(report: dict[str, Any], mode: str) -> list[str]:
    """The number of documents that could not be compared, by reason."""
    lines, method = [], report["plan"]["method"]
    if report["without_tokens"]:
        lines.append(f"{_have(report['without_tokens'])} no tokens: {_empty_outcome(report, mode)}")
    if report["without_features"]:
        lines.append(
            f"{_have(report['without_features'])} no features of {method}: matched with exact copies only"
        )
    return lines


def _page_lines(report: dict[str, Any]) -> list[str]:
    """What --html-text article would leave out, if pages carry much boilerplate."""
    sampled = report["outside_article"]
    if sampled is None or sampled["share"] < BOILERPLATE:
        return []
    pages = counted(sampled["pages"], "sampled page")
    return [
        f"{sampled['share']:.0%} of the visible text of {pages} is outside the article (menus, links, notices): "
        "--html-text article compares the article alone"
    ]


def _empty_outcome(report: dict[str, Any], mode: str) -> str:
    removed, policy = report["removals"]["empty"], report["plan"]["keep"]["empty"]
    done = {"remove": "removed", "annotate": "marked", "none": "to remove"}[mode]
    return {
        "keep": "kept, never matched",
        "remove": f"{done} (--empty remove)",
        "one": f"1 kept, {removed:,} {done} (--empty one)",
    }[policy]


def _have(documents: int) -> str:
    return f"{counted(documents, 'document')} {'has' if documents == 1 else 'have'}"


def _cluster_lines(clusters: list[dict[str, Any]], against: bool) -> list[str]:
    if not clusters:
        return ["no near-duplicates among the other documents" if against else "no near-duplicates found"]
    lines = ["largest clusters:"]
    for cluster in clusters:
        link = _link(cluster)
        lines.append(f"  {cluster['size']:>7,} documents led by {_short(cluster['leader'])}  ({link})")
    return lines


def _link(cluster: dict[str, Any]) -> str:
    """The similarity that holds a cluster together."""
    if "merge_height" in cluster:
        height = cluster["merge_height"]
        return "by leaders" if height is None else f"merge height {height:.3f}"
    weakest = cluster["weakest_link"]
    return "unverified" if weakest is None else f"weakest link {weakest:.3f}"


def problem_lines(problems: dict[str, Any], where_found: str = "in the input") -> list[str]:
    """The number of problems of each type, and the first one."""
    if not problems.get("total"):
        return []
    types = ", ".join(f"{count:,} × {escape_controls(kind)}" for kind, count in problems["counts"].items())
    first = problems["first"][0]
    where = first["file"] + (f", record {first['record']}" if first["record"] is not None else "")
    return [
        f"{counted(problems['total'], 'problem')} {where_found}: {types}",
        escape_controls(f"  the first: {where}: {first['reason']}"),
    ]


def _short(name: Any, most: int = 60) -> str:
    text = escape_controls(name)
    return text if len(text) <= most else text[: most - 1] + "…"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
