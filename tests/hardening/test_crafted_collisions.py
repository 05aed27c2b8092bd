"""Texts that are made to collide cost linear time; a seed that nobody knows makes them harmless."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from counting import assert_linear

import neardup
from neardup.cli import group
from neardup.columns import Texts
from neardup.errors import ParameterError
from neardup.plans import make_plan


def poison(seed: int = 1, tries: int = 40_000) -> str:
    """Words whose 5-grams have the least values of the first band's slots, found by trying many."""
    plan = make_plan("minhash", seed=seed)
    draws = np.random.default_rng(0).integers(0, 10**9, (tries, 5))
    phrases = [" ".join(f"w{number}" for number in row) for row in draws.tolist()]
    features = plan.view.represent(plan.text(Texts.from_strings(phrases)))
    slots = plan.view.signature(features).slots[:, : plan.candidates.width]
    return " . ".join(phrases[k] for k in np.unique(slots.argmin(axis=0)).tolist())


@pytest.fixture(scope="module")
def poisoned() -> str:
    return poison()


def documents(n: int, common: str) -> list[dict[str, object]]:
    """Documents that share a few phrases, made to share a band, and nothing else."""
    draw = np.random.default_rng(1)
    return [
        {
            "id": k,
            "text": common + " " + " ".join(f"u{word}" for word in draw.integers(0, 10**9, 120).tolist()),
        }
        for k in range(n)
    ]


def test_documents_that_collide_in_a_band_cost_linear_time(poisoned):
    costs = []
    for n in (400, 800, 1600):
        report = neardup.dedup(documents(n, poisoned)).report
        assert report["removed"] == 0, "candidates are verified: a collision removes nothing"
        costs.append(report["pairs"]["candidates"])
        assert report["pairs"]["candidates"] >= n - 1, "they do collide"
        assert report["pairs"]["candidates"] <= 8 * n
    assert_linear(costs)


def test_an_unknown_seed_makes_crafted_texts_harmless(poisoned):
    known = neardup.dedup(documents(400, poisoned)).report
    other = neardup.dedup(documents(400, poisoned), seed="random").report
    assert other["pairs"]["candidates"] < known["pairs"]["candidates"] / 4


def test_a_random_seed_is_recorded_and_repeats_the_run(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 1, "text": "some text"}\n')
    seeds = []
    for name in ("a", "b"):
        words = ["dedup", str(path), "-o", str(tmp_path / name), "--seed", "random"]
        assert CliRunner().invoke(group, words).exit_code == 0
        seeds.append(
            json.loads((tmp_path / name / "report.json").read_text())["plan"]["view"]["signature"]["seed"]
        )
    assert seeds[0] != seeds[1]
    assert make_plan("minhash", seed=seeds[0]).view.signature.seed == seeds[0]
    with pytest.raises(ParameterError, match=re.escape("or 'random'")):
        make_plan("minhash", seed="chance")
