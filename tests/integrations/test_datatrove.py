"""The block in a real datatrove pipeline."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from neardup.errors import ParameterError
from sentences import overlapping

pytest.importorskip("datatrove")
from datatrove.data import Document
from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers.jsonl import JsonlWriter

from neardup.integrations.datatrove import NearDuplicates

TEXTS = overlapping(random.Random(9), 30)
DOCUMENTS = [
    Document(text=text, id=f"d{k}", metadata={"n": k})
    for k, text in enumerate([*TEXTS, *(f"{t} x" for t in TEXTS)])
]


def run(block: NearDuplicates, documents=DOCUMENTS, **tasks) -> list[Document]:
    copies = [Document(text=one.text, id=one.id, metadata=dict(one.metadata)) for one in documents]
    return list(block.run(iter(copies), **tasks))


def test_one_of_each_cluster_stays_with_its_metadata():
    block = NearDuplicates(threshold=0.9, keep="first", threads=1)
    kept = run(block)
    assert [one.id for one in kept] == [f"d{k}" for k in range(30)] and kept[3].metadata == {"n": 3}
    assert block.stats["dropped"].total == 30 and block.stats["forwarded"].total == 30


def test_the_block_runs_in_a_pipeline(tmp_path):
    (tmp_path / "in").mkdir()
    lines = "".join(json.dumps({"text": one.text, "id": one.id}) + "\n" for one in DOCUMENTS)
    (tmp_path / "in" / "a.jsonl").write_text(lines)
    block = NearDuplicates(
        exclusion_writer=JsonlWriter(str(tmp_path / "removed")), threshold=0.9, keep="first", threads=1
    )
    pipeline = [JsonlReader(str(tmp_path / "in")), block, JsonlWriter(str(tmp_path / "out"))]
    LocalPipelineExecutor(pipeline=pipeline, tasks=1, logging_dir=str(tmp_path / "logs")).run()
    out, removed = (
        [
            json.loads(line)
            for path in (tmp_path / name).iterdir()
            for line in gzip.decompress(path.read_bytes()).splitlines()
        ]
        for name in ("out", "removed")
    )
    assert len(out) == len(removed) == 30
    assert removed[0]["metadata"]["neardup_duplicate_of"] == "d0"


def test_several_tasks_must_be_asked_for():
    with pytest.raises(ParameterError, match="per_task"):
        run(NearDuplicates(), world_size=2)
    assert len(run(NearDuplicates(per_task=True, threshold=0.9, threads=1), rank=1, world_size=2)) == 30


def test_nothing_gives_nothing():
    assert run(NearDuplicates(), []) == []
