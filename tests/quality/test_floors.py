"""No method may fall below what it has reached before; tools/set_floors.py measures and raises the floors."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from quality_gate import measure, open_bench, read_floors, shortfalls

from neardup.evaluate.run import Bench

PATH = Path(__file__).parent / "floors.json"
FLOORS = read_floors(PATH)


@cache
def bench(name: str) -> Bench:
    return open_bench(name, FLOORS.data[name], PATH)


def require(name: str) -> None:
    absent = FLOORS.data[name].absent(PATH)
    if absent:
        pytest.skip(absent)


@pytest.mark.parametrize("name", FLOORS.data)
def test_the_data_is_what_the_floors_were_measured_on(name: str) -> None:
    require(name)
    assert len(bench(name).documents) > 0


@pytest.mark.parametrize(("name", "method"), list(FLOORS))
def test_a_method_stays_above_its_floor(name: str, method: str) -> None:
    require(name)
    short = shortfalls(FLOORS.scores[name][method], measure(bench(name), method))
    assert not short, f"{method} on {name}: {'; '.join(short)}"


def test_every_floor_can_be_missed() -> None:
    low = [(name, method) for name, method in FLOORS if FLOORS.scores[name][method].f1 < 0.05]
    assert not low


def test_the_bundled_data_has_floors_for_the_default() -> None:
    assert FLOORS.data["own"].bundled
    assert FLOORS.scores["own"]["minhash"].f1 > 0.4
