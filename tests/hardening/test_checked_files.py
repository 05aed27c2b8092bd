"""Models, plans, statistics and work folders that others made or a disk damaged: one sentence, never a traceback."""

from __future__ import annotations

import json
import random
import stat
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
from neardup.checked_json import DEEPEST, Invalid, check_members, fits, parse_json
from neardup.cli import group
from neardup.engines.local.checkpoint.workspace import NAME
from neardup.errors import InputError, NeardupError, OutputError, PlanError, StatisticsError
from neardup.learn.model.file import Model, read_model
from neardup.plan import Plan
from neardup.plans import make_plan
from neardup.registry import methods
from neardup.remote import retries
from neardup.statistics.file import load_statistics

TEXTS = [f"text number {k} with some words that are its own, such as {k * 7} and {k * 11}" for k in range(20)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 5000, "nested too deeply"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested too deeply"),
        ("Infinity", "not a finite number"),
        ("-1e999", "too large"),
        ("9" * 5000, "too large"),
        (str(1 << 64), "too large"),
        ("{", "not JSON"),
        (b"\xff\xfe\xfd", "UTF-8|not JSON"),
        ('"' + "x" * 100 + '"', "longer than"),
    ],
)
def test_json_is_parsed_within_limits(text, problem):
    with pytest.raises(Invalid, match=problem):
        parse_json(text, 100 if problem == "longer than" else 1 << 20)
    assert parse_json("[" * DEEPEST + "]" * DEEPEST)


def test_shapes():
    assert fits(1, float) and not fits(True, float) and not fits(1.5, int) and not fits("1", int)
    assert fits([1, "x"], tuple[int, str]) and not fits([1], tuple[int, str]) and not fits([1, 2], list[str])
    assert fits(None, int | None) and not fits({}, int | None) and fits({"a": 1}, dict[str, int])
    with pytest.raises(Invalid, match="'b' is missing"):
        check_members({"a": 1}, {"b": int})
    with pytest.raises(Invalid, match="'a' is the text 'x', not a whole number or null"):
        check_members({"a": "x"}, {"a": int | None})


@pytest.fixture
def model(tmp_path) -> Path:
    Model().write(tmp_path / "model.json")
    return tmp_path / "model.json"


HOSTILE_VALUES = [
    None,
    True,
    -1,
    0,
    10**18,
    -1e300,
    "",
    "x" * 1000,
    [],
    [[]],
    {},
    {"weight": "x"},
    [None],
    "\0",
    "../x",
]


@pytest.mark.parametrize("member", [*json.loads(Model().to_json())])
def test_a_model_with_any_hostile_member_is_used_or_refused_in_one_sentence(model, member):
    good = json.loads(model.read_text())
    for value in HOSTILE_VALUES:
        model.write_text(json.dumps(good | {member: value}))
        try:
            read_model(model)
        except InputError as error:
            assert "\n" not in str(error)
    model.write_text(json.dumps({name: value for name, value in good.items() if name != member}))
    try:
        read_model(model)
    except InputError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    "text", ['{"neardup_model": 1, "threshold": Infinity}', '{"a":' * 1000 + "1" + "}" * 1000, "[" * 5000]
)
def test_the_models_of_the_hunt_are_refused(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_text(text)
    done = CliRunner().invoke(
        group, ["compare", "examples/harbour.txt", "README.md", "--method", "andd", "--model", f"@{path}"]
    )
    assert isinstance(done.exception, NeardupError)
    assert "\n" not in str(done.exception)


def members(value, path=()):
    """Every place in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from members(item, (*path, key))


def replaced(value, path, new):
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return copy


@pytest.mark.parametrize("name", methods())
def test_a_plan_with_any_hostile_member_is_used_or_refused_in_one_sentence(name):
    plan = make_plan(name)
    assert Plan.from_json(plan.to_json()) == plan
    raw = json.loads(plan.to_json())
    for path in [path for path in members(raw) if path]:
        for value in HOSTILE_VALUES:
            try:
                Plan.from_json(json.dumps(replaced(raw, path, value)))
            except NeardupError as error:
                assert "\n" not in str(error)


@pytest.mark.parametrize(
    "stage",
    [
        "os.system",
        "cli.main",
        "plan.subprocess",
        "plans.Plan",
        "plan_json.AnyStage",
        "text..x",
        "",
        "index.x.Y",
    ],
)
def test_a_plan_loads_no_module_but_those_of_stages(stage):
    raw = json.loads(make_plan("minhash").to_json())
    with pytest.raises(PlanError, match="does not have"):
        Plan.from_json(json.dumps(replaced(raw, ("text", "stage"), stage)))


def test_statistics_after_bit_flips(tmp_path):
    corpus = tmp_path / "in.jsonl"
    corpus.write_text("".join(json.dumps({"id": k, "text": text}) + "\n" for k, text in enumerate(TEXTS)))
    path = tmp_path / "stats.parquet"
    words = ["stats", "build", str(corpus), "-o", str(path), "--method", "cosine"]
    assert CliRunner().invoke(group, words).exit_code == 0
    good, draw = path.read_bytes(), random.Random(1)
    whole = load_statistics(path)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(draw.choice((1, 1, 8))):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        try:
            assert load_statistics(path).digest == whole.digest
        except StatisticsError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    "header", [{"format": 1}, {"format": 1, "tables": 3}, {"format": 1, "documents": "x"}, [], 3, "[" * 2000]
)
def test_statistics_with_a_hostile_header(tmp_path, header):
    import pyarrow as pa

    path = tmp_path / "stats.parquet"
    text = header if isinstance(header, str) else json.dumps(header)
    pq.write_table(pa.table({"table": [1]}).replace_schema_metadata({"neardup": text}), path)
    with pytest.raises(StatisticsError):
        load_statistics(path)


@pytest.fixture
def stopped(tmp_path, monkeypatch) -> tuple[Path, list[str]]:
    """A folder with an unfinished run, and the words that continue it."""
    corpus = tmp_path / "in.jsonl"
    rows = [{"id": k, "text": f"{text} {text}"} for k, text in enumerate(TEXTS * 20)]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        "dedup",
        str(corpus),
        "-o",
        str(tmp_path / "out"),
        "--checkpoint",
        "0",
        "--threads",
        "1",
        "--duplicate-ids",
        "rename",
    ]

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("neardup.engines.local.run.find_matches", stop)
        CliRunner().invoke(group, words)
    work = tmp_path / "out" / NAME
    assert (work / "journal.json").exists()
    return work, [*words, "--resume"]


def test_a_work_folder_is_private(stopped):
    work, _ = stopped
    assert stat.S_IMODE(work.stat().st_mode) == 0o700


def test_a_work_folder_after_bit_flips(stopped):
    """The run is refused, or gives what it would have given: never anything else."""
    work, words = stopped
    files = {path: path.read_bytes() for path in work.iterdir() if path.name != "lock"}
    assert {path.suffix for path in files} >= {".json", ".arrow", ".bin"}
    draw = random.Random(1)
    refused = 0
    for path in [path for path in files for _ in range(4)]:
        for each, data in files.items():
            work.mkdir(exist_ok=True, mode=0o700)
            each.write_bytes(data)
        data = bytearray(files[path])
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        done = CliRunner().invoke(group, words)
        assert done.exit_code == 0 or isinstance(done.exception, OutputError), (path.name, done.exception)
        refused += done.exit_code != 0
        for left in (work.parent).glob("*.*"):
            if left.is_file():
                left.unlink()
    assert refused > 3 * len(files)


@pytest.mark.parametrize(
    "name", ["../../in.jsonl", "/etc/passwd", "journal.json", "read-00000.arrow\0", "..", 3, None]
)
def test_a_journal_that_names_other_files(stopped, name):
    work, words = stopped
    journal = json.loads((work / "journal.json").read_text())
    journal["stages"]["read"]["files"][0][0] = name
    (work / "journal.json").write_text(json.dumps(journal))
    done = CliRunner().invoke(group, words)
    assert isinstance(done.exception, OutputError) and "damaged" in str(done.exception)


@pytest.mark.parametrize("name", ["texts.bin", "journal.json", "manifest.json", "lock"])
def test_a_link_in_the_work_folder_is_not_followed(stopped, tmp_path, name):
    work, words = stopped
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (work / name).unlink(missing_ok=True)
    (work / name).symlink_to(victim)
    for more in ([], ["--force"]):
        done = CliRunner().invoke(group, [*words, *more])
        assert isinstance(done.exception, OutputError) and "is a link" in str(done.exception)
    assert victim.read_text() == "untouched"


def test_a_work_folder_that_is_a_link(tmp_path):
    corpus = tmp_path / "in.jsonl"
    corpus.write_text('{"id": 1, "text": "some text"}\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).symlink_to(elsewhere)
    done = CliRunner().invoke(group, ["dedup", str(corpus), "-o", str(tmp_path / "out")])
    assert isinstance(done.exception, OutputError) and "is a link" in str(done.exception)
    assert not list(elsewhere.iterdir())


def test_links_in_the_output_folder_are_replaced_not_followed(tmp_path):
    corpus, out = tmp_path / "in.jsonl", tmp_path / "out"
    corpus.write_text('{"id": 1, "text": "some text"}\n')
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    victim.write_text("untouched")
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    out.mkdir()
    (out / "kept.jsonl").symlink_to(victim)
    (out / "pairs.parquet").symlink_to(folder)
    done = CliRunner().invoke(group, ["dedup", str(corpus), "-o", str(out), "--force"])
    assert done.exit_code == 0, done.exception
    assert victim.read_text() == "untouched" and (folder / "_SUCCESS").exists()
    assert not (out / "kept.jsonl").is_symlink() and not (out / "pairs.parquet").is_symlink()


@pytest.mark.parametrize("target", ["s3://bucket/x", "s3://", "gs://", "nothing://host/x"])
@pytest.mark.parametrize("command", ["dedup", "pairs"])
def test_an_address_without_a_store_is_no_output(tmp_path, monkeypatch, command, target):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # where nothing answers
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0)
    Path("in.jsonl").write_text('{"id": 1, "text": "some text"}\n')
    name = f"{target}/x.parquet" if command == "pairs" and target.endswith("x") else target
    done = CliRunner().invoke(group, [command, "in.jsonl", "-o", name])
    assert isinstance(done.exception, NeardupError) and "\n" not in str(done.exception)
    with pytest.raises(NeardupError):
        neardup.dedup("in.jsonl").write(target)
    assert [path.name for path in Path().iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--bands", "65536"], "4,096 is the limit"),
        (["--bands", "4097", "--rows", "1"], "4,096 is the limit"),
        (["--method", "imatch", "--lexicons", "65536"], "is the limit"),
        (["--method", "super_shingles", "--num-perm", "65536", "--groups", "65536"], "is the limit"),
        (["--method", "spotsigs_lsh", "--bands", "65536"], "is the limit"),
        (["--method", "rare_phrases", "--bands", "65536"], "is the limit"),
    ],
)
def test_numbers_that_would_take_hours_are_refused_with_what_they_would_cost(tmp_path, options, problem):
    corpus = tmp_path / "in.jsonl"
    corpus.write_text('{"id": 1, "text": "some text"}\n')
    done = CliRunner().invoke(group, ["dedup", str(corpus), "-o", str(tmp_path / "out"), *options])
    assert isinstance(done.exception, NeardupError) and problem in str(done.exception)


def test_files_whose_columns_do_not_go_together(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "abc def", "score": 1}\n')
    (tmp_path / "b.jsonl").write_text('{"id": 2, "text": "abc def", "score": {"x": 1}}\n')
    done = CliRunner().invoke(group, ["collapse", str(tmp_path)])
    assert isinstance(done.exception, InputError)
    said = str(done.exception)
    assert all(word in said for word in ("'score'", "a.jsonl", "b.jsonl", "int64", "struct", "one at a time"))


def test_a_link_under_the_name_of_a_partial_model_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "shared"
    folder.mkdir()
    for name in ("model.json.partial", "model.json"):
        (folder / name).symlink_to(victim)
    Model().write(folder / "model.json")
    assert victim.read_text() == "mine" and not (folder / "model.json").is_symlink()
    assert read_model(folder / "model.json") == Model()
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "model.json.partial"]
