"""Decisions, labels, locks and reports that others made or a disk damaged: one sentence, never a traceback."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import group
from neardup.decisions.rules import DocumentState
from neardup.decisions.store import DecisionStore, read_decisions
from neardup.errors import IndexDamaged, InputError, NeardupError, OutputError, StorageError
from neardup.evaluate.label_files import read_label_table
from neardup.index.truth.writer_lock import read_commits, read_holder
from neardup.labelling.settings import LabelSettings
from neardup.labelling.store import LabelStore

TEXTS = [f"text number {k} with some words that are its own, such as {k * 7} and {k * 11}" for k in range(5)]
DEEP = "[" * 100_000
HOSTILE = [None, -1, 10**15, 1.5, "x" * 1000, b"\xff", "\0", DEEP, "{}", "[1]", '{"a": NaN}', "../x"]


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{k}", "text": text}) + "\n" for k, text in enumerate(TEXTS)))
    return str(path)


@pytest.fixture
def decided(tmp_path: Path) -> Path:
    """A file with one decision about two documents."""
    path = tmp_path / "decisions.db"
    states = [
        DocumentState("d0", b"0" * 16, True, None, None),
        DocumentState("d1", b"1" * 16, False, "d0", None),
    ]
    DecisionStore(path).record("d0", 0, "keep", ["d0", "d1"], states, "Ann")
    return path


def changed(path: Path, table: str, column: str, value: object) -> bool:
    """Whether the file took the value: SQLite keeps any type in most columns."""
    which = "keep = 1" if table == "states" else "number = 1"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        try:
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {which}", (value,))
        except sqlite3.Error:
            return False
    return True


COLUMNS = [
    *(("states", name) for name in ("id", "digest", "keep", "duplicate_of", "made_group")),
    *(("decisions", name) for name in ("cluster", "action", "documents", "person", "time")),
]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_decisions_with_any_hostile_value_are_followed_or_refused(corpus, decided, table, column):
    good, taken = decided.read_bytes(), 0
    for value in HOSTILE:
        decided.write_bytes(good)
        if not changed(decided, table, column, value):
            continue
        taken += 1
        for use in (
            lambda: neardup.dedup(corpus, decisions=decided),
            lambda: DecisionStore(decided).of_cluster("d0"),
            lambda: DecisionStore(decided).undo(1, "Bob"),
        ):
            try:
                use()
            except NeardupError as error:
                assert "\n" not in str(error)
    assert taken > 3


def test_a_digest_that_is_a_number_asks_for_no_memory(decided):
    """bytes(10**15) would."""
    assert changed(decided, "states", "digest", 10**15)
    with pytest.raises(InputError, match="other types"):
        read_decisions(decided)


@pytest.mark.parametrize("text", [DEEP, "3", "[1]", "x"])
def test_decisions_with_another_list_of_documents_are_refused(decided, text):
    assert changed(decided, "decisions", "documents", text)
    with pytest.raises(OutputError, match=r"decisions\.db cannot be read or written"):
        DecisionStore(decided).of_cluster("d0")


@pytest.mark.parametrize(
    "text",
    [DEEP, "3", '{"pair_judges": "2"}', '{"question": 3}', '{"honey_bar": NaN}', '{"scheme": "x"}', "null"],
)
def test_a_protocol_of_labels_that_is_not_ours_is_refused(tmp_path, text):
    store = LabelStore(tmp_path / "labels.db")
    with store.writing() as db:
        db.execute("REPLACE INTO meta VALUES ('settings', ?)", (text,))
    with pytest.raises(StorageError, match=r"labels\.db has a protocol that cannot be read"):
        _ = store.settings
    with store.writing() as db:
        db.execute("REPLACE INTO meta VALUES ('settings', ?)", ('{"pair_judges": 2, "of_later": 1}',))
    assert store.settings == LabelSettings(pair_judges=2)


def test_a_store_of_labels_that_is_damaged_while_it_is_open_is_named(tmp_path):
    store = LabelStore(tmp_path / "labels.db")
    with pytest.raises(StorageError, match=r"labels\.db cannot be used as a store of labels"):
        store.rows("SELECT * FROM nothing")
    with pytest.raises(StorageError, match=r"labels\.db cannot be used"), store.writing() as db:
        db.execute("INSERT INTO nothing VALUES (1)")
    assert store.settings == LabelSettings()


@pytest.mark.parametrize("text", [DEEP, "3", "[]", '{"commits": "x", "checksum": {}}', '{"pid": 1}', "\0"])
def test_a_lock_of_an_index_with_other_content(tmp_path, text):
    path = tmp_path / "writer.lock"
    path.write_text(text)
    assert read_commits(path) == 0 and read_holder(path) == "another process"


@pytest.mark.parametrize("text", [DEEP, "3", '{"files": 3}', '{"run": 1, "files": [3]}', "\0"])
def test_a_report_of_another_kind_in_the_output_folder(corpus, tmp_path, text):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text(text)
    words = ["dedup", corpus, "-o", str(out)]
    for more in ([], ["--resume"]):
        done = CliRunner().invoke(group, [*words, *more])
        assert isinstance(done.exception, OutputError), done.exception
    assert CliRunner().invoke(group, [*words, "--force"]).exit_code == 0


def test_of_two_columns_of_labels_with_one_name_the_first_counts(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,cluster,cluster,\n1,a,b,\n")
    assert read_label_table(str(path)).columns == {"id": ["1"], "cluster": ["a"], "": [""]}


def test_a_document_of_an_index_that_lost_its_number_is_damage(tmp_path, monkeypatch):
    """A bit of a page of SQLite may turn the number into NULL."""
    from neardup.index.index import Index
    from neardup.index.truth.sql import SqlSnapshot

    with Index(tmp_path / "i.index", method="minhash") as index:
        index.add([{"id": "a", "text": TEXTS[0]}])
        by_id = SqlSnapshot._by_id
        monkeypatch.setattr(
            SqlSnapshot, "_by_id", lambda *given: [(key, None) for key, _ in by_id(*given)], raising=True
        )
        with pytest.raises(IndexDamaged, match="a document has no number"):
            index.get("a")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--delimiter", "\udcff"], "one ASCII character"),
        (["--encoding", "\udcff"], "the name of an encoding"),
        (["--encoding", "idna"], "the name of an encoding"),
        (["--checkpoint", "nan"], "nan is not a number"),
        (["--max-expansion", "nan"], "at least 1"),
        (["--against", "s3://"], "not an address of s3"),
        (["--save-config", "\udcff.toml"], "not Unicode"),
    ],
)
def test_options_that_the_hunt_found(corpus, tmp_path, monkeypatch, options, problem):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(group, ["dedup", corpus, "-o", "out", *options])
    said = done.output if isinstance(done.exception, SystemExit) else str(done.exception)
    assert isinstance(done.exception, (NeardupError, SystemExit)) and problem in said, done.exception


def test_calls_with_values_of_other_kinds(tmp_path):
    from neardup.index.index import Index

    with pytest.raises(NeardupError, match="'left' parameter of compare must be a text"):
        neardup.compare(3, "text")  # type: ignore[arg-type]
    with pytest.raises(NeardupError, match="'method' parameter"):
        neardup.dedup(TEXTS, method=["minhash"])  # type: ignore[arg-type]
    with pytest.raises(NeardupError, match="'preset' parameter"):
        neardup.dedup(TEXTS, preset={})  # type: ignore[arg-type]
    with pytest.raises(NeardupError):
        neardup.dedup(TEXTS, against="x" * 3000)
    with (
        Index(tmp_path / "i.index", method="minhash") as index,
        pytest.raises(InputError, match="has no columns"),
    ):
        index.check({})


@pytest.mark.slow
def test_a_damaged_report_of_a_finished_run_is_not_shown(corpus, tmp_path):
    """--resume of a run that has ended prints its report: whatever others have made of it, or it is refused."""
    out = tmp_path / "out"
    words = ["dedup", corpus, "-o", str(out), "--resume"]
    assert CliRunner().invoke(group, words).exit_code == 0
    report = json.loads((out / "report.json").read_text())
    for name, value in zip(report, cycle([None, [], {}, "x", {"a": {"b": []}}]), strict=False):
        (out / "report.json").write_text(json.dumps({**report, name: value}))
        done = CliRunner().invoke(group, words)
        assert done.exit_code == 0 or isinstance(done.exception, OutputError), (name, value, done.exception)
    (out / "report.json").write_text(json.dumps(report))
    assert CliRunner().invoke(group, words).output.startswith("5 documents")
