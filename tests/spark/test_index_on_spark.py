"""An index built on Spark is the one that is built on this machine."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import group
from neardup.documents import Problems
from neardup.errors import InputError, PlanError
from neardup.index.index import Index
from neardup.index.inputs import AttributeColumns, opened_inputs
from neardup.index.truth import ALL

WORDS = [f"w{n}" for n in range(300)]


def texts(seed: int, count: int) -> list[str]:
    """Random texts, every third an edited copy of an earlier one."""
    rng, made = random.Random(seed), list[str]()
    for n in range(count):
        words = rng.choice(made).split() if n % 3 == 2 else rng.choices(WORDS, k=80)
        words[rng.randrange(len(words))] = "edited"
        made.append(" ".join(words))
    return made


def files(folder: Path) -> list[str]:
    """Three files with ids of both types, attributes, and bad records."""
    folder.mkdir()
    some = texts(1, 60)
    for number, name in enumerate(("a", "b")):
        part = some[number * 25 : number * 25 + 25]
        lines = [
            json.dumps({"id": f"{name}{n}", "text": text, "groups": "x,y" if n % 3 else None, "rank": n})
            for n, text in enumerate(part)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join([*lines, '{"broken']) + "\n")
    columns = {"id": list(range(10)), "text": some[50:], "groups": [None] * 10, "rank": [0.5] * 10}
    pq.write_table(pa.table(columns), folder / "c.parquet")
    return [str(folder / name) for name in ("a.jsonl", "b.jsonl", "c.parquet")]


def contents(index: Index) -> list[tuple[Any, ...]]:
    """Everything that is stored of the documents, in the order of their sequence numbers."""
    with index.reading() as (snapshot, _):
        return [
            row
            for part in snapshot.scan(1, snapshot.last(), ALL)
            for row in zip(
                part.seqs.tolist(), part.ids, part.low.tolist(), part.bodies, part.signatures, part.attributes,
                strict=True,
            )
        ]  # fmt: skip


@pytest.mark.parametrize(
    "method, store", [("minhash", "text"), ("simhash", "text"), ("spotsigs", "features")]
)
def test_an_index_built_on_spark_is_that_of_one_machine(
    spark: Any, tmp_path: Path, method: str, store: Any
) -> None:
    paths = files(tmp_path / "corpus")
    columns = AttributeColumns(access="groups", quality="rank")
    plan = neardup.make_plan(method)
    statistics = None
    if plan.counts:
        from neardup.engines.core.progress import Progress
        from neardup.index.frequencies import counted_statistics

        sources, how = opened_inputs(paths, {})
        statistics = counted_statistics(plan, sources, how, 1, Progress())
    found: list[Any] = []
    for name in ("local", "spark"):
        sources, how = opened_inputs(paths, {"duplicate_ids": "error"})
        problems = Problems()
        with Index(tmp_path / name, method=method, store=store, statistics=statistics, threads=1) as index:
            if name == "local":
                done = index.add_sources(sources, how, attributes=columns, problems=problems)
            else:
                done = index.add_on_spark(spark, sources, how, attributes=columns, problems=problems)
            assert done.new == 60 and problems.counts == {"invalid JSON": 2}
            answers = [index.query(text) for text in texts(1, 60)]
            found.append((contents(index), answers, [str(one) for one in problems.first]))
            assert index.verify().sound
    assert found[0] == found[1]


def test_repeated_ids_standard_input_and_missing_statistics_are_refused(spark: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": "x", "text": "one two three"}\n')
    sources, how = opened_inputs([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], {})
    with Index(tmp_path / "i", method="minhash") as index:
        with pytest.raises(InputError, match="more than one document"):
            index.add_on_spark(spark, sources, how)
        with pytest.raises(InputError, match="in memory"):
            index.add_on_spark(spark, *opened_inputs(["a text"], {}))
        assert len(index) == 0
    with (
        Index(tmp_path / "s", method="simhash") as index,
        pytest.raises(PlanError, match="neardup stats build"),
    ):
        index.add_on_spark(spark, sources, how)


def test_the_command_builds_on_spark(spark: Any, tmp_path: Path) -> None:
    paths, folder = files(tmp_path / "corpus"), str(tmp_path / "news.index")
    result = CliRunner().invoke(group, ["index", "build", folder, *paths, "--engine", "spark"])
    assert result.exit_code == 0, result.output
    assert "60 documents: 60 new" in result.output and "2 problems" in result.output
    again = CliRunner().invoke(
        group, ["index", "build", folder, *paths, "--engine", "spark", "--memory", "1G"]
    )
    assert "--memory has no effect on --engine spark" in str(again.exception)
    again = CliRunner().invoke(group, ["index", "build", folder, *paths, "--engine", "spark"])
    assert "60 unchanged" in again.output
