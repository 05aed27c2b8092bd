"""Hostile documents come out of every page as text and nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256

import pytest
from parsed import check_page

import neardup
from hostile_documents import DOCUMENTS
from neardup.explain.passages import shared_passages
from neardup.pages.charts import Bar, Line, bars, curves, histogram
from neardup.pages.document import document
from neardup.pages.escaping import NAME, safe
from neardup.pages.evaluation_page import EvaluationPage, MethodErrorList, ShownError, Table, evaluation_page
from neardup.pages.graphs import ClusterGraph, Link, Node, cluster_graph
from neardup.pages.removal_list import RemovalGroup, ShownRemoval
from neardup.pages.run_page import Breakdown, RunPage, run_page
from neardup.pages.side_by_side import MOST_CHARACTERS, Caption, one_text, side_by_side
from neardup.pages.thresholds import SimilarityCounts

STORY = "the council met on monday and voted for the new bridge over the river after a long debate"
PLAN = neardup.make_plan(ngram=3)


@cache
def plain_result() -> neardup.Result:
    return neardup.dedup([STORY, STORY + " again", "other words altogether, not like it"])


def plain_report() -> dict:
    return plain_result().report


def report_of(hostile: str) -> dict:
    """A report whose every string is hostile."""
    report = plain_report()
    report["largest_clusters"][0] |= {"cluster": hostile, "leader": hostile}
    first = {"file": hostile, "record": 3, "reason": hostile, "action": hostile}
    problems = {"total": 1, "counts": {hostile: 1}, "first": [first]}
    plan = {**report["plan"], "method": hostile, "clustering": {"kind": hostile}, "keep": {"policy": hostile}}
    return report | {
        "warnings": [hostile], "problems": problems, "inputs": [hostile], "files": [hostile], "engine": hostile,
        "neardup": hostile, "digest": hostile, "seconds": {hostile: 1.0}, "compare": ["--in", hostile], "plan": plan,
        "against": {"references": [{"name": hostile, "removed": 1}]},
    }  # fmt: skip


def hostile_run_page(*texts: str) -> str:
    """The page of a run whose documents, names and settings are hostile."""
    removals = [removal for hostile in texts for removal in hostile_removals(hostile)]
    return run_page(
        RunPage(
            name=texts[0],
            report=report_of(texts[0]),
            similarities=SimilarityCounts(0.7, texts[0], [0] * 800 + [1] * 201, [0] * 800 + [1] * 201, 1),
            sizes={2: 1, 7: 1},
            breakdowns=[Breakdown(hostile, [Bar(hostile, 3, 4)]) for hostile in texts],
            graphs=[hostile_graph(hostile) for hostile in texts],
            groups=[RemovalGroup(texts[0], texts[0], removals)],
            notes=texts,
        )
    )


def hostile_removals(hostile: str) -> Iterator[ShownRemoval]:
    compared = shared_passages(PLAN, f"{STORY} {hostile}", f"{hostile} {STORY}")
    yield ShownRemoval(hostile, f"2 {hostile}", 0.5, hostile, hostile, 3, None, True, compared, None)
    yield ShownRemoval(hostile, hostile, None, None, hostile, 0, hostile, False, None, hostile)


def hostile_graph(hostile: str) -> ClusterGraph:
    nodes = [Node(hostile, True, None), Node(f"2 {hostile}", False, 0.5), Node("c", False, 1.0)]
    return ClusterGraph(hostile, 3, nodes, [Link(0, 1, 0.5, True), Link(1, 2, 0.7, False)], hostile)


def hostile_evaluation_page(*texts: str) -> str:
    """The page of an evaluation of hostile documents by hostile methods."""
    errors = [
        ShownError(
            kind, one, one, 0.5, (one, "b"), 2, shared_passages(PLAN, f"{STORY} {one}", f"{one} {STORY}")
        )
        for one in texts
        for kind in ("false positive", "false negative")
    ]
    lines = [Line(one, [(0.0, 1.0), (1.0, 0.0)], (0.5, 0.5)) for one in texts]
    return evaluation_page(
        EvaluationPage(
            title=texts[0],
            sentences=texts,
            tables=[Table(one, (one, one), [(one, one)]) for one in texts],
            precision_recall=lines,
            f1=lines,
            methods=[MethodErrorList(texts[0], 0.7, errors, 1, 1)],
            notes=texts,
        )
    )


def test_there_are_enough_of_them() -> None:
    assert len(set(DOCUMENTS)) == len(DOCUMENTS) >= 120


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
def test_a_hostile_run_stays_text(number: int) -> None:
    check_page(hostile_run_page(DOCUMENTS[number]))


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
def test_a_hostile_evaluation_stays_text(number: int) -> None:
    check_page(hostile_evaluation_page(DOCUMENTS[number]))


def test_hostile_texts_can_be_read() -> None:
    for hostile in (one for one in DOCUMENTS if len(one) < 100 and one.isprintable()):
        page = check_page(hostile_run_page(hostile))
        assert page.text.count(hostile) >= 10, hostile  # title, heading, tables, captions and texts


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
def test_the_escaping_function_leaves_no_markup(number: int) -> None:
    text = safe(DOCUMENTS[number])
    assert not set(text) & set("<>\"'\x00\x1b\u202e")
    assert not re.search(r"&(?!(amp|lt|gt|quot|#x27);)", text)


def test_names_and_texts_are_bounded() -> None:
    compared = shared_passages(PLAN, f"{STORY} {'x' * 10**6} {STORY}", f"{'<' * 10**6} {STORY}")
    shown = side_by_side(compared, (Caption("n" * 10**6), Caption("&" * 10**6)))
    assert len(shown) < 2 * (5 * MOST_CHARACTERS + 5 * NAME)
    assert len(one_text(Caption("a"), "<" * 10**6, "")) < 10_000
    many = shared_passages(PLAN, *(" ".join(f"{STORY} {side}{k}" for k in range(5000)) for side in "ab"))
    assert len(side_by_side(many, (Caption("a"), Caption("b")))) < 3 * MOST_CHARACTERS
    assert "more passages" in side_by_side(many, (Caption("a"), Caption("b")))


def test_the_largest_page_is_below_five_megabytes() -> None:
    hostile = " ".join('"' * 9 for _ in range(20_000))
    compared = shared_passages(PLAN, f"{STORY} {hostile}", f"{hostile} {STORY}")
    removal = ShownRemoval('"' * 500, "'" * 500, 0.5, "copy", "direct", 3, None, False, compared, None)
    groups = [RemovalGroup("many", "words", [removal] * 400)]
    similarities = SimilarityCounts(0.0, "similarity", [10**9] * 1001, [10**9] * 1001)
    bars = [Breakdown("h", [Bar('"' * 300, 3, 4)] * 60)] * 3
    graphs = [
        ClusterGraph('"' * 500, 99, [Node('"' * 500, True, 0.1)] * 40, [Link(0, 1, 0.5, False)] * 780, "")
    ] * 6
    report = report_of("x") | {"files": ["'" * 100] * 20, "warnings": ["w" * 1000] * 10}
    page = run_page(RunPage('"', report, similarities, {}, bars, graphs, groups))
    assert 2_000_000 < len(page.encode()) < 5_000_000
    assert "would make this page too large" in page
    errors = [ShownError("false positive", "a", "b", 0.5, ("a", "b"), 1, compared)] * 400
    methods = [MethodErrorList("m", 0.5, errors, 400, 0)] * 3
    page = evaluation_page(EvaluationPage("e", methods=methods))
    assert len(page.encode()) < 5_000_000 and "would make this page too large" in page


def test_the_policy_allows_the_style_and_the_script_and_nothing_else() -> None:
    page = document("t", "k", "", [("a", "A", "b")])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    style, script = (re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script"))
    assert style is not None and script is not None
    digests = [b64encode(sha256(one[1].encode()).digest()).decode() for one in (style, script)]
    assert policy[1].split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digests[0]}'",
        f"script-src 'sha256-{digests[1]}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|innerHTML|eval", style[1] + script[1])
    assert " style=" not in page and not re.search(r" on\w+=", page)


def test_charts_have_names_and_survive_nothing() -> None:
    for chart in (
        histogram([], 0.5, 1, label="a <b>", axis="x", threshold=0.7),
        histogram([0, 0], 0, 1, label="a", axis="x"),
        bars([], label="none"),
        curves([], label="a", x_axis="x", y_axis="y"),
        cluster_graph(ClusterGraph("c", 1, [Node("a", True, None)], [], "w")),
        cluster_graph(ClusterGraph("c", 0, [], [], "w")),
    ):
        assert "nan" not in chart and "inf" not in chart and "<b>" not in chart
    assert 'role="img" aria-label="a &lt;b&gt;"' in histogram([1], 0, 1, label="a <b>", axis="x")


def test_a_graph_is_the_same_every_time_and_apart() -> None:
    nodes = [Node(str(k), k == 0, 0.8) for k in range(12)]
    links = [Link(k, k + 1, 0.8, True) for k in range(11)]
    graph = ClusterGraph("chain", 12, nodes, links, "w")
    assert cluster_graph(graph) == cluster_graph(graph)
    places = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', cluster_graph(graph))
    points = [(float(x), float(y)) for x, y in places]
    assert all(0 <= x <= 220 and 0 <= y <= 220 for x, y in points)
    nearest = min(abs(a[0] - b[0]) + abs(a[1] - b[1]) for n, a in enumerate(points) for b in points[:n])
    assert nearest > 10
    assert cluster_graph(graph).count("link bridge") == 11
