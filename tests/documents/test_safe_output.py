"""Output that is safe to open: no formulas by accident, no path out of the folder, nothing that runs data."""

from __future__ import annotations

import ast
import csv
import datetime
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.documents import Problems, open_inputs, open_writer
from neardup.documents.formulas import escaped, unescaped
from neardup.documents.source import Batch

SOURCES = sorted((Path(neardup.__file__).parent).rglob("*.py"))
HOSTILE = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", '=HYPERLINK("http://x","y")']
starts = st.sampled_from(
    ["", "'", "''", "=", "'=", "'-", "-", "+", "@", "\t", "'\t", "-5", "＝", "'＝", "a'="]
)
cells = st.builds(str.__add__, starts, st.text(st.characters(codec="utf-8"), max_size=5))


@given(st.lists(st.one_of(st.none(), cells), max_size=20))
def test_the_way_back_gives_every_text(texts):
    array = pa.array(texts, pa.string())
    safe = escaped(array)
    assert [back or "" for back in unescaped(safe).to_pylist()] == [text or "" for text in texts]
    for text, cell in zip(texts, safe.to_pylist(), strict=True):
        if text is not None and cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "＝"):
            float(text)  # what begins so is a number


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_hostile_cells_names_and_ids_through_the_whole_path(tmp_path, format):
    rows = [
        {"id": f"{cell}{k}", "text": cell, "=name": -k, "share": -k / 4} for k, cell in enumerate(HOSTILE)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = neardup.dedup(tmp_path / "in.jsonl")
    result.write(tmp_path / "out", mode="annotate", format=format)
    path = tmp_path / f"out/annotated.{format}"
    content = path.read_text(encoding="utf-8")
    written = list(csv.reader(io.StringIO(content, newline=""), delimiter="," if format == "csv" else "\t"))
    for record in written:
        assert not any(cell.startswith(("=", "+", "@", "\t", "\r", "\n", "＝")) for cell in record)
        assert all(cell == "" or _is_number(cell) for cell in record if cell.startswith("-"))
    at = written[0].index("share")
    assert [float(record[at]) for record in written[1:]] == [row["share"] for row in rows], (
        "numbers stay numbers"
    )
    back = open_inputs([path], unescape_formulas=True)[0]
    found = [
        row for batch in back.read(["id", "text", "=name"], Problems()) for row in batch.columns.to_pylist()
    ]
    assert [(row["id"], row["text"]) for row in found] == [(row["id"], row["text"]) for row in rows]
    assert [int(row["=name"]) for row in found] == [row["=name"] for row in rows]
    plain = result.write(tmp_path / "plain", mode="annotate", format=format, escape_formulas=False)
    assert plain["documents"] == len(rows)
    assert "'=" not in (tmp_path / f"plain/annotated.{format}").read_text(encoding="utf-8")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_numbers_and_times_are_never_quoted_and_text_of_any_type_is(tmp_path):
    table = pa.record_batch(
        {
            "float": [float("-inf"), -0.5],
            "time": pa.array([-1, 1], pa.duration("s")),
            "day": [datetime.date(2020, 1, 1)] * 2,
            "dictionary": pa.array(["=a", "b"]).dictionary_encode(),
            "bytes": [b"=a", b"b"],
            "large": pa.array(["=a", "b"], pa.large_string()),
        }
    )
    writer = open_writer(tmp_path / "a.csv", "csv", columns=table.schema.names)
    writer.write(Batch("x", np.arange(2), table, None, "memory"))
    writer.close()
    assert (tmp_path / "a.csv").read_text().splitlines()[1].split(",") == ["-inf", "-1", "2020-01-01"] + [
        "'=a"
    ] * 3


HOSTILE_NAMES = [
    "../../escape",
    "/etc/passwd",
    "..\\..\\x",
    "a/b/c",
    "\0",
    "con",
    "kept.jsonl",
    "-rf",
    ".",
    "..",
]


def test_ids_columns_and_values_never_become_paths(tmp_path):
    rows = [{"id": name, "text": f"{name} is a name", "path": name, name: name} for name in HOSTILE_NAMES]
    (tmp_path / "in").mkdir()
    (tmp_path / "in/in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    neardup.dedup(tmp_path / "in/in.jsonl").write(tmp_path / "in/out", format="csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["in.jsonl", "out"]
    names = {path.name for path in (tmp_path / "in/out").iterdir()}
    assert names == {"kept.csv", "removed.csv", "pairs.parquet", "clusters.parquet", "report.json"}


def test_a_report_of_somebody_else_removes_nothing_outside(tmp_path):
    victim = tmp_path / "kept.victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text(
        json.dumps({"files": ["../kept.victim", "kept.\\..\\..\\kept.victim", 5, ""]})
    )
    neardup.dedup(["some text", "other text"]).write(out, force=True)
    assert victim.read_text() == "mine"


# --- nothing runs what it reads ----------------------------------------------------------------------------------

MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "code",
    "codeop",
}
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}


@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(SOURCES[0].parent)) for path in SOURCES])
def test_the_source_has_no_pickle_and_no_eval(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {name.name.partition(".")[0] for name in node.names} & MODULES
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in MODULES
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id in CALLS), ast.unparse(node)
            for keyword in node.keywords:
                dangerous = keyword.arg in ("allow_pickle", "shell")
                assert not (dangerous and not _is_false(keyword.value)), ast.unparse(node)


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def test_the_scan_finds_what_it_looks_for(tmp_path):
    for code in ("import pickle", "from dill import x", "eval('1')", "f(shell=True)", "load(allow_pickle=x)"):
        (tmp_path / "bad.py").write_text(code)
        with pytest.raises(AssertionError):
            test_the_source_has_no_pickle_and_no_eval(tmp_path / "bad.py")


def test_logs_hold_no_text_of_documents(tmp_path, capfd):
    secret = "xylophone"
    lines = [f'{{"id": "{k}", "text": "{secret} {secret} number {k}"}}' for k in range(5)]
    lines += [
        f'{{"id": "b", "text": "{secret}',
        f'"{secret}"',
        f'{{"{secret}": {{}}, "text": [ "{secret}" ]}}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    (tmp_path / "in.csv").write_text(f'id,text\n1,{secret}\n2,{secret},{secret}\n3,"{secret}\n')
    from neardup.cli import main

    for name in ("in.jsonl", "in.csv"):
        main(
            ["dedup", str(tmp_path / name), "-o", str(tmp_path / f"out-{name}"), "--output-format", "parquet"]
        )
        shown = capfd.readouterr()
        assert "problem" in shown.out and secret not in shown.out + shown.err
        assert secret not in (tmp_path / f"out-{name}/problems.jsonl").read_text()
        assert secret not in (tmp_path / f"out-{name}/report.json").read_text()
        with pytest.raises(SystemExit) as caught:
            main(["dedup", str(tmp_path / name), "-o", str(tmp_path / "strict"), "--strict"])
        assert caught.value.code == 2 and secret not in capfd.readouterr().err
