"""Candidates declare how they are distributed, and the Spark engine refuses a distribution that it does not know."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import ClassVar, get_args

import pytest

import neardup
from neardup import candidates
from neardup.candidates.groups import Groups
from neardup.engines.spark.candidates.find import FIND, check_distribution, find_candidates
from neardup.engines.spark.signatures import DistinctTexts
from neardup.errors import PlanError
from neardup.plan import Distribution
from neardup.registry import methods

EXPECTED = {"simhash": "hamming", "spotsigs": "prefix", "cosine": "blocks"}  # keys: all others


def candidate_classes():
    """The stages in neardup.candidates that a plan can have as candidates."""
    modules = [
        import_module(f"neardup.candidates.{each.name}") for each in pkgutil.iter_modules(candidates.__path__)
    ]
    found = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    required = ("level", "probability", "reach")
    chosen = [kind for kind in found if is_dataclass(kind) and all(hasattr(kind, name) for name in required)]
    return sorted(chosen, key=lambda kind: kind.__name__)


def test_every_class_declares_a_distribution():
    """The declaration is no field: plans and their digests do not contain it."""
    classes = candidate_classes()
    assert {kind.__name__ for kind in classes} >= {
        "BitBands",
        "Contained",
        "Exact",
        "Groups",
        "Hamming",
        "Inverted",
    }
    for kind in classes:
        assert kind.distribution in FIND, kind
        assert (kind.distribution == "keys") == hasattr(kind, "keys") != hasattr(kind, "pairs"), kind
        assert "distribution" not in {field.name for field in fields(kind)}, kind


def test_every_distribution_has_a_function():
    assert set(FIND) == set(get_args(Distribution))


@pytest.mark.parametrize("method", list(methods()))
def test_methods(method):
    plan = neardup.make_plan(method)
    assert plan.candidates.distribution == EXPECTED.get(method, "keys")
    assert plan.joins == (method in EXPECTED)
    check_distribution(plan)


@dataclass(frozen=True)
class Spirals(Groups):
    """Candidates with a distribution that no engine knows."""

    distribution: ClassVar[str] = "spirals"


def unknown():
    plan = neardup.make_plan("minhash")
    return plan.with_(candidates=Spirals(plan.candidates.groups, plan.candidates.width))


def test_an_unknown_distribution_is_refused():
    message = r"cannot distribute candidates by 'spirals' \(Spirals\); it knows keys, hamming, prefix, blocks"
    with pytest.raises(PlanError, match=message):
        check_distribution(unknown())
    with pytest.raises(PlanError, match=message):
        find_candidates(unknown(), DistinctTexts(None, 0, 0, lambda size: 1))


def test_an_unknown_distribution_is_refused_before_anything_is_read(spark, tmp_path):
    from neardup import spark as engine

    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, text string")
    with pytest.raises(PlanError, match="'spirals'"):
        engine.dedup(frame, unknown(), work_dir=tmp_path / "work")
    assert not (tmp_path / "work").exists()
