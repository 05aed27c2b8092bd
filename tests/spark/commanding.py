"""The command line on both engines over the same files."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from neardup.cli import main


def write_lines(path, rows):
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def printed(table):
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in table.to_pylist())


def spark_run(output, inputs, *options):
    main(["dedup", *map(str, inputs), "-o", str(output), "--engine", "spark", *options])
    return json.loads((output / "report.json").read_text())


def refused(capsys, output, inputs, *options):
    """The one line that a run is refused with."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        spark_run(output, inputs, *options)
    said = capsys.readouterr().err
    lines = [line for line in said.splitlines() if not line.endswith("of unknown format skipped")]
    assert stopped.value.code == 2 and len(lines) == 1, said
    return lines[0]


SAME = (  # keys of the report whose values agree between engines
    "documents", "kept", "removed", "without_tokens", "without_features", "exact_copies", "clusters",
    "largest_clusters", "recall_at_threshold", "html_text", "outside_article", "removals", "text_bytes", "digest",
    "run", "python", "inputs", "files", "plan",
)  # fmt: skip


def check_reports(report, local):
    """Both reports have the same keys, and the same values unless they depend on the engine."""
    assert set(report) == set(local) and set(report["buckets"]) == set(local["buckets"])
    assert (report["engine"], local["engine"]) == ("spark", "local")
    assert {key: report[key] for key in SAME} == {key: local[key] for key in SAME}
    assert report["pairs"]["verified"] == local["pairs"]["verified"]
    assert report["problems"]["counts"] == local["problems"]["counts"]


def check_same(tmp_path, inputs, *options, results=("kept", "removed"), name="spark"):
    """Both engines write the same documents, clusters and report; the two reports."""
    local = ["--output-format", "parquet", "--force", *options]
    main(["dedup", *map(str, inputs), "-o", str(tmp_path / "local"), *local])
    report = spark_run(tmp_path / name, inputs, *options)
    for result in (*results, "clusters"):
        theirs = pq.read_table(tmp_path / "local" / f"{result}.parquet")
        mine = pq.read_table(tmp_path / name / f"{result}.parquet")
        assert set(mine.column_names) == set(theirs.column_names), result
        if "id" in theirs.column_names:
            assert str(mine.schema.field("id").type) == str(theirs.schema.field("id").type)
        assert printed(mine) == printed(theirs), result
    assert not (tmp_path / name / ".stages").exists()
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == sorted(report["files"])
    local = json.loads((tmp_path / "local" / "report.json").read_text())
    check_reports(report, local)
    return report, local
