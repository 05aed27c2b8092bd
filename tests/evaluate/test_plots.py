"""The pictures of an evaluation."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neardup.errors import MissingExtra, OutputError, ParameterError
from neardup.evaluate.plots import (
    plot_candidates,
    plot_precision_recall,
    plot_similarities,
    plot_thresholds,
)

Draw = Callable[[Path], Path]
STEPS = np.linspace(0, 1, 50)
NAMES = [f"method {number}" for number in range(8)]

DRAWINGS: dict[str, Draw] = {
    "precision and recall": lambda path: plot_precision_recall(
        path, {name: (STEPS, 1 - STEPS * (k + 1) / 10) for k, name in enumerate(NAMES)}
    ),
    "thresholds": lambda path: plot_thresholds(
        path, {name: (STEPS, STEPS * k / 8, STEPS - 0.5) for k, name in enumerate(NAMES)}
    ),
    "similarities": lambda path: plot_similarities(path, STEPS, STEPS > 0.6, threshold=0.7),
    "candidates": lambda path: plot_candidates(
        path, (STEPS, STEPS**2), [0, 0.5, 0.8, 1], [3, 5, 0], [30, 5, 0], threshold=0.7
    ),
}
drawings = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())


def texts_of(path: Path) -> str:
    """What an SVG says: matplotlib names each piece of text in a comment."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8")))


@pytest.mark.cut("draw")
@drawings
@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_the_file_has_the_format_of_its_ending_and_the_same_bytes_each_time(
    draw: Draw, ending: str, start: bytes, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"plot.{ending}"
    assert draw(path) == path
    first = path.read_bytes()
    assert first.startswith(start)
    assert draw(path).read_bytes() == first


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("precision and recall", ["recall", "precision", *(f"{name}  (F1 " for name in NAMES)]),
        ("thresholds", ["threshold", "F1", "MCC", *NAMES]),
        ("similarities", ["similarity", "different (30 pairs)", "same (20 pairs)", "threshold 0.7"]),
        ("candidates", ["similarity", "expected from the bands", "measured, with 95 % interval", "pairs"]),
    ],
)
def test_axes_and_methods_are_named(kind: str, words: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    said = texts_of(DRAWINGS[kind](tmp_path / "plot.svg"))
    assert [word for word in words if word not in said] == []


def test_the_best_f1_stands_beside_the_name(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curve = {"one": ([0.2, 0.6, 1.0], [1.0, 0.9, np.nan])}
    assert "one  (F1 0.720)" in texts_of(plot_precision_recall(tmp_path / "plot.svg", curve))


def test_a_long_curve_makes_a_small_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    recall = np.linspace(0, 1, 500_000)
    path = plot_precision_recall(tmp_path / "plot.svg", {"long": (recall, 1 - recall / 3)})
    assert path.stat().st_size < 200_000


def test_nothing_to_draw_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert plot_precision_recall(tmp_path / "a.png", {}).exists()
    assert plot_precision_recall(tmp_path / "b.png", {"none": ([], [])}).exists()
    assert plot_thresholds(tmp_path / "c.png", {"none": ([], [], [])}).exists()
    assert plot_similarities(tmp_path / "d.png", [], []).exists()


@drawings
def test_unknown_endings_and_places_are_refused(draw: Draw, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(OutputError, match=r"\.png, \.svg, \.pdf"):
        draw(tmp_path / "plot.xyz")
    with pytest.raises(OutputError, match="cannot write the plot"):
        draw(tmp_path / "absent" / "plot.png")


def test_columns_of_different_length_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ParameterError, match="one length"):
        plot_precision_recall(tmp_path / "plot.png", {"bad": ([0, 1], [1])})
    with pytest.raises(ParameterError, match="as long as"):
        plot_similarities(tmp_path / "plot.png", [0.5], [True, False])
    with pytest.raises(ParameterError, match="one more than"):
        plot_candidates(tmp_path / "plot.png", ([0], [1]), [0, 1], [1, 1], [1, 1])


@drawings
def test_the_extra_is_named(draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"neardup\[evaluate\]"):
        draw(tmp_path / "plot.png")
