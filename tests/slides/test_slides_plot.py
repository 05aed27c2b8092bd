"""The pictures of the S-curve."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from neardup.candidates.curve import Bands
from neardup.cli.support.curve_plot import COLUMNS, LINES, MARGIN, save_plot, terminal_plot
from neardup.errors import MissingExtra, OutputError


@pytest.mark.parametrize(
    ("bands", "threshold"),
    [
        (Bands(26, 5), 0.7),
        (Bands(6, 12), 0.95),
        (Bands(1, 1), 1.0),
        (Bands(500, 1), 0.01),
        (Bands(1, 60), 1.0),
    ],
)
def test_terminal_plot_fits_and_is_whole(bands: Bands, threshold: float) -> None:
    lines = terminal_plot(bands, threshold).plain.split("\n")
    canvas = [line[MARGIN:] for line in lines[1 : LINES + 1]]
    assert all(len(line) == COLUMNS for line in canvas)
    assert max(map(len, lines)) < 80
    assert all(any("⠀" < line[x] <= "⣿" for line in canvas) for x in range(COLUMNS))
    assert f"{bands.bands} bands × {bands.rows} rows" in lines[-1]


def test_terminal_plot_is_labelled() -> None:
    text = terminal_plot(Bands(20, 5), 0.8).plain
    for label in (
        "1.00",
        "0.75",
        "0.50",
        "0.25",
        "0.00",
        "0.0",
        "0.2",
        "0.8",
        "1.0",
        "threshold",
        "similarity",
    ):
        assert label in text
    pointer = next(line for line in text.split("\n") if "▲" in line)
    assert pointer.index("▲") == MARGIN + round(0.8 * (COLUMNS - 1))
    assert "99.96% found at 0.8, half at 0.51" in text


@pytest.mark.parametrize(
    ("name", "start"), [("curve.png", b"\x89PNG"), ("curve.svg", b"<?xml"), ("c.PDF", b"%PDF")]
)
def test_save_plot_writes_the_format_of_the_ending(tmp_path: Path, name: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / name
    save_plot(path, Bands(20, 5), 0.8, measured=[(0.3, 0.05), (0.8, 1.0)])
    first = path.read_bytes()
    assert first.startswith(start)
    save_plot(path, Bands(20, 5), 0.8, measured=[(0.3, 0.05), (0.8, 1.0)])
    assert path.read_bytes() == first


def test_save_plot_refuses_unknown_endings_and_places(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(OutputError, match=r"\.png, \.svg, \.pdf"):
        save_plot(tmp_path / "curve.xyz", Bands(20, 5), 0.8)
    with pytest.raises(OutputError, match="cannot write the plot"):
        save_plot(tmp_path / "absent" / "curve.png", Bands(20, 5), 0.8)


def test_save_plot_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"neardup\[plot\]"):
        save_plot(tmp_path / "curve.png", Bands(20, 5), 0.8)
