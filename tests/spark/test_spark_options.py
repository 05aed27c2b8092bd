"""Every option of `dedup` and `pairs` is honoured by `--engine spark`, or refused by name before the run."""

from __future__ import annotations

import json

import click
import pyarrow.parquet as pq
import pytest
from commanding import check_reports, check_same, printed, refused, spark_run, write_lines

from corpora import corpus
from neardup.cli import main
from neardup.cli.dedup import command as dedup
from neardup.cli.pairs import command as pairs
from neardup.cli.support.spark_engine import REFUSED, SUPPORTED

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")

GIVEN = {  # a value of each option that is refused
    "memory": ["--memory", "1G"],
    "threads": ["--threads", "2"],
    "checkpoint": ["--checkpoint", "5"],
    "escape_formulas": ["--no-escape-formulas"],
    "dry_run": ["--dry-run"],
    "output_format": ["--output-format", "jsonl"],
    "table_format": ["--table-format", "csv"],
    "duplicate_ids": ["--duplicate-ids", "rename"],
    "against": ["--against", "OTHER"],
    "within": ["--no-within"],
    "add": ["--add"],
    "unit": ["--unit", "paragraph"],
    "min_unit": ["--min-unit", "5"],
    "min_document": ["--min-document", "5"],
    "decisions": ["--decisions", "decisions.db"],
}
HONOURED = {  # a value of each option that is honoured
    "mode": ["--mode", "annotate"],
    "decide": ["--decide", "containment", "--threshold", "0.9"],
    "clusters": ["--clusters", "average"],
    "direct_only": ["--direct-only"],
    "guard": ["--guard"],
    "expect_removed": ["--expect-removed", "0.01-0.99"],
    "numbers": ["--numbers", "separate"],
    "normalize": ["--normalize", "accents,digits"],
    "pairs": ["--pairs", "all"],
    "keep": ["--keep", "lowest:size"],
    "keep_count": ["--keep-count", "2"],
    "empty": ["--empty", "one"],
    "text_column": ["--text-column", "page"],
    "id_column": ["--id-column", "url"],
    "html": ["--text-column", "page", "--html"],
    "html_text": ["--text-column", "page", "--html", "--html-text", "article"],
    "format": ["--format", "jsonl"],
    "max_record": ["--max-record", "4M"],
    "max_expansion": ["--max-expansion", "10"],
    "max_decompressed": ["--max-decompressed", "50000"],
    "df_unit": ["--method", "imatch", "--df-unit", "site"],
    "stats": ["--method", "imatch", "--stats", "STATS"],
    "output_format": ["--output-format", "parquet"],
    "table_format": ["--table-format", "parquet"],
    "duplicate_ids": ["--duplicate-ids", "error"],
    "unit": ["--unit", "document"],
}
QUICK = {"max_record"}  # the others are slow: each is a run of both engines
ELSEWHERE = {  # tested in other files
    "inputs", "output", "force", "resume", "strict", "work_dir", "as_json", "unescape_formulas", "report",
    "delimiter", "encoding", "columns", "config", "save_config",
}  # fmt: skip
ENGINE = {"engine", "master", "conf"}
PLAN = {"method", "preset", "threshold"}  # and the parameters of methods: the same plan for both engines


@pytest.fixture(scope="module")
def rows():
    documents = corpus(families=3).select(["id", "text"]).to_pylist()
    for number, row in enumerate(documents):
        page = f"<html><body><p>menu {number}</p><article><p>{row['text']}</p></article></body></html>"
        row |= {"page": page, "url": f"u{number}", "size": number % 5, "site": f"s{number % 4}"}
    documents[3]["text"] = None

    return documents


def options_of(command):
    """The options of a command but for the parameters of a method."""
    return {each.name for each in command.params if isinstance(each, click.Option)}


@pytest.mark.parametrize("command", [dedup, pairs], ids=["dedup", "pairs"])
def test_every_option_is_honoured_or_refused(command):
    """A new option must be added to one of the lists."""
    assert options_of(command) <= {*HONOURED, *REFUSED, *SUPPORTED, *ELSEWHERE, *ENGINE, *PLAN}
    assert not set(REFUSED) & {*HONOURED, *ELSEWHERE} and set(GIVEN) == {*REFUSED, *SUPPORTED}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("command", ["dedup", "pairs"])
def test_refused(command, name, tmp_path, capsys):
    if name not in options_of({"dedup": dedup, "pairs": pairs}[command]):
        pytest.skip(f"{command} has no such option")
    path = write_lines(tmp_path / "a.jsonl", [{"text": "a"}])
    output = tmp_path / "out" / "pairs.parquet"
    with pytest.raises(SystemExit) as stopped:
        main([command, str(path), "-o", str(output), "--engine", "spark", *GIVEN[name]])
    line = capsys.readouterr().err
    assert stopped.value.code == 2 and line.count("\n") == 1
    assert line.startswith(f"neardup: --{name.replace('_', '-')} ")
    assert not (tmp_path / "out").exists()


def test_pairs_of_spark_are_parquet(tmp_path, capsys):
    path = write_lines(tmp_path / "a.jsonl", [{"text": "a"}])
    with pytest.raises(SystemExit):
        main(["pairs", str(path), "-o", str(tmp_path / "pairs.csv"), "--engine", "spark"])
    assert "pairs.csv must end in .parquet" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in HONOURED]
)
def test_honoured(name, spark, rows, tmp_path):
    """Both engines give the same result with the option."""
    long = [{**rows[0], "id": "long", "extra": "x" * 5_000_000}] if name == "max_record" else []
    path = write_lines(tmp_path / ("a.data" if name == "format" else "a.jsonl"), [*rows, *long])
    options = [str(tmp_path / "s.stats.parquet") if word == "STATS" else word for word in HONOURED[name]]
    if name == "stats":
        main(["stats", "build", str(path), "-o", options[-1], "--method", "imatch"])
    results = ["annotated"] if name == "mode" else ["kept", "removed"]
    report, local = check_same(tmp_path, [path], *options, results=results)
    assert report["problems"]["total"] == local["problems"]["total"]
    if report["problems"]["total"]:
        found = [(tmp_path / engine / "problems.jsonl").read_text() for engine in ("spark", "local")]
        assert sorted(found[0].splitlines()) == sorted(found[1].splitlines())


@pytest.mark.slow
def test_force_resume_work_folder_and_json(spark, rows, tmp_path, capsys):
    path, out = write_lines(tmp_path / "a.jsonl", rows), tmp_path / "out"
    report = spark_run(out, [path], "--work-dir", str(tmp_path / "work"))
    assert any((tmp_path / "work").iterdir()) and not (out / ".stages").exists()
    assert "exists already" in refused(capsys, out, [path])
    capsys.readouterr()
    again = spark_run(out, [path], "--resume", "--json")
    assert json.loads(capsys.readouterr().out) == again == report, "the run has ended: its report is printed"
    assert spark_run(out, [path], "--force")["seconds"]["documents"] >= 0


@pytest.mark.slow
def test_unescape_formulas(spark, tmp_path):
    (tmp_path / "a.csv").write_text(
        "id,text,cell\na,some text of five words,'=1+1\nb,another text of some words,x\n"
    )
    check_same(tmp_path, [tmp_path / "a.csv"], "--unescape-formulas")
    cells = pq.read_table(tmp_path / "spark" / "kept.parquet")["cell"].to_pylist()
    assert sorted(cells) == ["=1+1", "x"]


def test_strict(spark, tmp_path, capsys):
    """The first bad record is named by file and number."""
    path = write_lines(tmp_path / "a.jsonl", [{"id": "a", "text": "one"}, {"id": "b", "text": None}])
    with pytest.raises(SystemExit):
        main(["dedup", str(path), "-o", str(tmp_path / "local"), "--strict"])
    expected = capsys.readouterr().err.splitlines()[-1]
    assert refused(capsys, tmp_path / "out", [path], "--strict") == expected


def test_standard_input(capsys, tmp_path):
    line = refused(capsys, tmp_path / "out", ["-"])
    assert line == "neardup: Standard input cannot be read by Spark: write it to a file first."


@pytest.mark.parametrize("option", [["--master", "local[1]"], ["--conf", "a=b"]])
def test_settings_of_spark_without_spark(option, tmp_path, capsys):
    path = write_lines(tmp_path / "a.jsonl", [{"text": "a"}])
    with pytest.raises(SystemExit):
        main(["dedup", str(path), "-o", str(tmp_path / "out"), *option])
    assert f"{option[0]} has no effect without --engine spark." in capsys.readouterr().err


def test_summary(spark, rows, tmp_path, capsys):
    """Both engines print the same lines but for the seconds and the number of candidates."""
    path = write_lines(tmp_path / "a.jsonl", rows)
    printed_lines = []
    for engine in ("local", "spark"):
        capsys.readouterr()
        out = tmp_path / engine
        main(["dedup", str(path), "-o", str(out), "--engine", engine])
        lines = capsys.readouterr().out.replace(str(out), "DIR").replace(".jsonl,", ".parquet,").splitlines()
        printed_lines.append([line for line in lines if " s: " not in line and "candidate" not in line])
    assert printed_lines[0] == printed_lines[1] and len(printed_lines[0]) > 5


@pytest.mark.parametrize("which", ["all", pytest.param("clusters", marks=pytest.mark.slow)])
def test_pairs(which, spark, rows, tmp_path, capsys):
    """`neardup pairs` writes the same pairs with the same columns, and prints the same report."""
    path = write_lines(tmp_path / "a.jsonl", rows)
    found, reports = [], []
    for engine in ("local", "spark"):
        target = tmp_path / engine / "pairs.parquet"
        capsys.readouterr()
        main(["pairs", str(path), "-o", str(target), "--pairs", which, "--engine", engine, "--json"])
        reports.append(json.loads(capsys.readouterr().out))
        found.append(pq.read_table(target))
    assert found[1].schema.names == found[0].schema.names
    assert printed(found[1]) == printed(found[0]) and len(found[0]) > 5
    check_reports(reports[1], reports[0])
    assert reports[1]["rows"] == reports[0]["rows"] == len(found[0])
    assert [each.name for each in (tmp_path / "spark").iterdir()] == ["pairs.parquet"]
    assert "exists already" in _refused_pairs(capsys, path, tmp_path / "spark" / "pairs.parquet")
    main(["pairs", str(path), "-o", str(tmp_path / "spark" / "pairs.parquet"), "--force"])
    assert (tmp_path / "spark" / "pairs.parquet").is_file()


@pytest.mark.parametrize("storage", ["files", pytest.param("rows", marks=pytest.mark.slow)])
def test_pairs_are_shown(spark, rows, tmp_path, capsys, monkeypatch, storage):
    """The same lines as the local engine: the closest pairs of different texts, and those nearest to the threshold."""
    from neardup.engines.spark import run

    if storage == "rows":
        monkeypatch.setattr(run, "side_folder", lambda work: None)
    path = write_lines(tmp_path / "a.jsonl", rows)
    shown = []
    for engine in ("local", "spark"):
        target = tmp_path / engine / "pairs.parquet"
        capsys.readouterr()
        main(["pairs", str(path), "-o", str(target), "--engine", engine])
        shown.append(capsys.readouterr().out.replace(str(target), "FILE"))
    assert shown[1] == shown[0]
    assert (
        "closest pairs of different texts:" in shown[0]
        and "pairs nearest to the threshold of 0.7:" in shown[0]
    )


def _refused_pairs(capsys, path, target):
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["pairs", str(path), "-o", str(target), "--engine", "spark"])
    return capsys.readouterr().err


@pytest.mark.slow
def test_pairs_of_a_model_have_a_probability(spark, rows):
    """The column that the local engine adds for a check with a curve."""
    from dataclasses import replace

    import neardup
    from neardup import spark as engine

    plan = neardup.make_plan("andd")
    plan = plan.with_(check=replace(plan.check, curve=(8.0, 0.5)), pairs="all")
    table = corpus(families=3).select(["id", "text"])
    mine, theirs = (
        engine.pairs(spark.createDataFrame(table), plan).toArrow(),
        neardup.dedup(table, plan=plan).pairs,
    )
    assert mine.schema.names == theirs.schema.names and "probability" in mine.schema.names
    assert printed(mine) == printed(theirs)
