"""Names of others that a person reads: ids, file names and reasons cannot write a line or colour a terminal."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import pytest
from click.testing import CliRunner

from neardup.cli import group, main
from neardup.escapes import escape_controls, escape_json

EVIL = "a\x1b[31m\r\nneardup: all is well\x9b\u202e\u2028"
TEXT = "one two three four five six seven eight nine ten"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


@pytest.fixture
def corpus(tmp_path):
    rows = [{"id": EVIL, "text": TEXT}, {"id": "b", "text": TEXT}, {"id": "c", "text": TEXT + " eleven"}]
    path = tmp_path / "in\x1b[31m\n.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"id":\n', encoding="utf-8")
    return path


COMMANDS = {
    "dedup": ["dedup", "{in}", "-o", "{out}", "--threshold", "0.3"],
    "dedup again": ["dedup", "{in}", "-o", "{out}", "--strict"],
    "dedup json": ["dedup", "{in}", "-o", "{out}", "--json"],
    "pairs": ["pairs", "{in}", "-o", "{out}/p.csv", "--threshold", "0.3"],
    "compare": ["compare", "--in", "{in}", EVIL, "c"],
    "compare json": ["compare", "--in", "{in}", EVIL, "c", "--json"],
    "compare same": ["compare", "--in", "{in}", EVIL, EVIL],
    "compare unknown": ["compare", "--in", "{in}", EVIL + "x", "c"],
    "collapse": ["collapse", "{in}"],
    "collapse json": ["collapse", "{in}", "--json"],
    "track": ["track", "{out}/pages.db", "{in}"],
    "fingerprints": ["fingerprints", "{in}"],
    "no file": ["dedup", "none\x1b[31m\n", "-o", "{out}"],
    "no option": ["dedup", "{in}", "-o", "{out}", "--method", "x\x1b[31m\n"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_no_command_prints_control_characters_or_lines_of_others(tmp_path, corpus, words, capsys):
    out = tmp_path / "out"
    out.mkdir()
    given = [word.replace("{in}", str(corpus)).replace("{out}", str(out)) for word in words]
    with suppress(SystemExit):
        main(given)
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert not CONTROL.search(text), repr(CONTROL.search(text))
        assert not re.search(r"^neardup: all is well", text, re.MULTILINE)
    assert printed.out or printed.err


def test_tables_for_people_and_tables_for_programs(tmp_path, corpus):
    words = ["dedup", str(corpus), "-o", str(tmp_path / "out"), "--threshold", "0.3", "--table-format", "csv"]
    assert CliRunner().invoke(group, words).exit_code == 0
    for name in ("pairs.csv", "clusters.csv", "report.json"):
        assert not CONTROL.search((tmp_path / "out" / name).read_text("utf-8")), name
    kept = [json.loads(line) for line in (tmp_path / "out" / "removed.jsonl").open(encoding="utf-8")]
    kept += [json.loads(line) for line in (tmp_path / "out" / "kept.jsonl").open(encoding="utf-8")]
    assert EVIL in {row["id"] for row in kept}, "documents stay as they were"


def test_escapes():
    assert escape_controls("é漢 plain") == "é漢 plain"
    assert escape_controls("a\n\x1b\x9b\u202e\ud800") == r"a\n\x1b\x9b\u202e\ud800"
    assert escape_controls("a\nb\x00", keep="\n") == "a\nb\\x00"
    value = {"id": EVIL}
    assert json.loads(escape_json(json.dumps(value, ensure_ascii=False))) == value
