"""S3 by a moto server, memory:// by fsspec, file://: read, listed, written, resumed; errors in one line."""

from __future__ import annotations

import json
import logging
import random

import pyarrow.parquet as pq
import pytest
from remote_servers import s3_server

import neardup
from neardup.cli import main
from neardup.cli.support.options import new_file
from neardup.documents import open_inputs, stamp
from neardup.engines.local.checkpoint.workspace import inputs_identity
from neardup.errors import InputError, OutputError
from neardup.remote import retries, store_of
from neardup.remote.stores import _store
from sentences import overlapping

TEXTS = overlapping(random.Random(6), 20)
ROWS = [{"id": str(k), "text": text} for k, text in enumerate([*TEXTS, *TEXTS])]


def lines(rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(scope="module")
def bucket():
    """A client of a server with the bucket `corpus`."""
    boto3 = pytest.importorskip("boto3")
    pytest.importorskip("moto")
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    with s3_server() as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", address)
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setattr(retries, "FIRST_PAUSE", 0)
        _store.cache_clear()
        client = boto3.client("s3")
        client.create_bucket(Bucket="corpus")
        yield client
    _store.cache_clear()


@pytest.fixture
def s3(bucket):
    """The bucket with two files of documents and others."""
    for one in bucket.list_objects_v2(Bucket="corpus").get("Contents", []):
        bucket.delete_object(Bucket="corpus", Key=one["Key"])
    for key, data in {
        "news/a.jsonl": lines(ROWS[:20]),
        "news/more/b.jsonl": lines(ROWS[20:]),
        "news/c.bin": b"?",
        "news/.hidden.jsonl": b"?",
    }.items():
        bucket.put_object(Bucket="corpus", Key=key, Body=data)
    return bucket


def keys(client, prefix: str = "") -> list[str]:
    found = client.list_objects_v2(Bucket="corpus", Prefix=prefix).get("Contents", [])
    return [one["Key"] for one in found if not one["Key"].endswith("/")]


def command(capsys, *words: str) -> tuple[int, str, str]:
    code: object = 0
    try:
        main(list(words))
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr()
    return int(str(code)), said.out, said.err


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("s3://corpus/news/a.jsonl", ["s3://corpus/news/a.jsonl"]),
        ("s3://corpus/news", ["a.jsonl", "more/b.jsonl"]),
        ("s3://corpus/", ["news/a.jsonl", "news/more/b.jsonl"]),
        ("s3://corpus/news/*.jsonl", ["s3://corpus/news/a.jsonl"]),
        ("s3://corpus/**/*.jsonl", ["s3://corpus/news/a.jsonl", "s3://corpus/news/more/b.jsonl"]),
        ("s3://corpus/news/[a-b].json?", ["s3://corpus/news/a.jsonl"]),
    ],
)
def test_objects_folders_and_patterns_name_files(s3, given, names):
    found = open_inputs([given])
    assert [source.name for source in found if "hidden" not in source.name] == names


def test_a_result_is_written_and_is_not_an_input_of_the_next_run(s3, capsys):
    code, said, _ = command(capsys, "dedup", "s3://corpus/news", "-o", "s3://corpus/news/out")
    assert code == 0 and "written to s3://corpus/news/out: kept.jsonl" in said
    expected = ["clusters.parquet", "kept.jsonl", "pairs.parquet", "removed.jsonl", "report.json"]
    assert keys(s3, "news/out") == [f"news/out/{name}" for name in expected]
    kept = s3.get_object(Bucket="corpus", Key="news/out/kept.jsonl")["Body"].read()
    assert kept == lines(json.loads(line) for line in kept.splitlines()) and kept.count(b"\n") <= 20
    assert len(open_inputs(["s3://corpus/news"])) == 2


def test_a_finished_run_is_resumed_and_a_changed_input_is_not(s3, capsys):
    words = ("dedup", "s3://corpus/news/a.jsonl", "-o", "s3://corpus/out")
    assert command(capsys, *words)[0] == 0
    code, _, said = command(capsys, *words)
    assert code == 2 and "exists already" in said and said.count("\n") == 1
    before = s3.head_object(Bucket="corpus", Key="out/kept.jsonl")["LastModified"]
    assert command(capsys, *words, "--resume")[0] == 0
    assert s3.head_object(Bucket="corpus", Key="out/kept.jsonl")["LastModified"] == before
    s3.put_object(Bucket="corpus", Key="news/a.jsonl", Body=lines(ROWS[:10]))
    assert command(capsys, *words, "--resume")[0] == 2
    assert command(capsys, *words, "--force", "--output-format", "parquet")[0] == 0
    assert "out/kept.jsonl" not in keys(s3, "out") and "out/kept.parquet" in keys(s3, "out")


def test_a_stopped_run_is_resumed_from_its_work_folder(s3, capsys, tmp_path, monkeypatch):
    from neardup.engines.local import write

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ("dedup", "s3://corpus/news", "-o", "s3://corpus/out", "--checkpoint", "0")

    def stop(*arguments, **settings):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(write, "output_layout", stop)
        assert command(capsys, *words)[0] == 130
    assert keys(s3, "out") == [] and list(tmp_path.glob("neardup/*/.neardup-work"))
    code, _, said = command(capsys, *words, "--resume")
    assert code == 0 and "resuming with 40 documents read before" in said
    assert "out/report.json" in keys(s3, "out") and not list(tmp_path.glob("neardup/*/.neardup-work"))


def test_pairs_and_parquet_are_written(s3, capsys):
    assert command(capsys, "pairs", "s3://corpus/news", "-o", "s3://corpus/pairs.parquet")[0] == 0
    neardup.dedup("s3://corpus/news", threads=1).write("s3://corpus/p", format="parquet")
    assert keys(s3, "p") == [
        f"p/{name}"
        for name in ("clusters.parquet", "kept.parquet", "pairs.parquet", "removed.parquet", "report.json")
    ] + ["pairs.parquet"]
    (source,) = open_inputs(["s3://corpus/p/kept.parquet"])
    assert source.names() == ["id", "text"] and source.rows is not None and 0 < source.rows <= 20


def test_what_is_found_in_documents_is_written_too(s3, capsys):
    news, out = "s3://corpus/news", "s3://corpus/out"
    assert command(capsys, "passages", news, "-o", f"{out}/p", "--tokens", "5", "--remove")[0] == 0
    code, _, said = command(capsys, "passages", news, "-o", f"{out}/p", "--tokens", "5", "--remove")
    assert code == 2 and "exists already" in said and said.count("\n") == 1
    assert command(capsys, "dedup", news, "-o", f"{out}/u", "--unit", "line", "--method", "exact")[0] == 0
    assert (
        command(capsys, "stats", "build", news, "-o", f"{out}/s.parquet", "--method", "rare_phrases")[0] == 0
    )
    code, said, _ = command(capsys, "stats", "info", f"{out}/s.parquet")
    assert code == 0 and "20 documents" in said
    code, _, said = command(capsys, "stats", "info", f"{out}/none.parquet")
    assert code == 2 and "none.parquet does not exist" in said and said.count("\n") == 1
    assert command(capsys, "sources", "clean", "-o", f"{out}/x.txt")[0] == 2
    written = [key.removeprefix("out/") for key in keys(s3, "out")]
    assert {"p/documents.jsonl", "p/report.json", "u/kept.jsonl", "u/report.json", "s.parquet"} <= set(
        written
    )


def test_an_index_is_exported_and_a_heat_map_written(s3, capsys, tmp_path):
    index, clean = str(tmp_path / "news.index"), str(tmp_path / "clean")
    assert command(capsys, "index", "build", index, "s3://corpus/news")[0] == 0
    assert command(capsys, "index", "export", index, "-o", "s3://corpus/out/all.jsonl")[0] == 0
    assert command(capsys, "dedup", "s3://corpus/news", "-o", clean)[0] == 0
    assert command(capsys, "sources", clean, "--by", "id", "-o", "s3://corpus/out/who.csv")[0] == 0
    code, _, said = command(capsys, "index", "export", index, "-o", "s3://corpus/out/all.jsonl")
    assert code == 2 and "s3://corpus/out/all.jsonl exists already" in said
    assert keys(s3, "out") == ["out/all.jsonl", "out/who.csv"]


def test_an_object_is_known_by_its_entity_tag(s3):
    (source,) = open_inputs(["s3://corpus/news/a.jsonl"])
    before = stamp(source)
    s3.put_object(Bucket="corpus", Key="news/a.jsonl", Body=lines(ROWS[:20]).replace(b"e", b"a"))
    assert (
        stamp(source)[0][1] == before[0][1] and stamp(source) != before
    )  # in the same second, of the same size
    s3.put_object(Bucket="corpus", Key="news/a.jsonl", Body=lines(ROWS[:20]))
    assert stamp(source) == before  # the same bytes again are the same object


def test_an_object_of_another_size_is_another_one(s3):
    (source,) = open_inputs(["s3://corpus/news/a.jsonl"])
    before = stamp(source)
    assert before == stamp(source) and before[0][1] == len(lines(ROWS[:20]))
    assert inputs_identity([source])[0][3] == ""
    s3.put_object(Bucket="corpus", Key="news/a.jsonl", Body=lines(ROWS[:5]))
    assert stamp(source) != before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("s3://corpus/absent.jsonl", "s3://corpus/absent.jsonl does not exist"),
        ("s3://nobody/a.jsonl", "the bucket nobody does not exist"),
        ("s3://nobody/", "the bucket nobody does not exist"),
        ("s3://corpus/none*.jsonl", "no file matches"),
        ("s3://*/a.jsonl", "name the bucket"),
        ("s3:/corpus/a.jsonl", "two slashes"),
        ("s3://corpus/news/c.bin", "--format"),
        ("nothing://a/b.jsonl", "not a known kind of address"),
    ],
)
def test_what_cannot_be_read_is_one_line(s3, given, said):
    with pytest.raises(InputError, match=said) as error:
        open_inputs([given])
    assert "\n" not in str(error.value)


def test_a_bucket_that_does_not_exist_is_refused_before_the_work(s3, capsys):
    code, _, said = command(capsys, "dedup", "s3://corpus/news", "-o", "s3://nobody/out")
    assert (
        code == 2 and said == "neardup: s3://nobody/out cannot be written: the bucket nobody does not exist\n"
    )


def test_refused_access_says_what_credentials_are_for(s3, monkeypatch):
    from neardup.remote import arrow_store

    store = store_of("s3://corpus/x")
    error = OSError(
        "When reading information for key 'x': AWS Error ACCESS_DENIED during HeadObject: No response body."
    )
    assert "with these credentials" in str(store._sentence(error, "corpus/x"))
    monkeypatch.setattr(arrow_store, "_amazon_login", lambda: False)
    assert "AWS_ACCESS_KEY_ID" in str(store._sentence(error, "corpus/x"))


# --- other stores --------------------------------------------------------------------------------------------------


def test_fsspec_has_the_other_stores(capsys):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/in/a.jsonl", lines(ROWS))
    assert command(capsys, "dedup", "memory://in", "-o", "memory://out")[0] == 0
    assert memory.cat_file("/out/kept.jsonl").count(b"\n") <= 20
    assert [source.name for source in open_inputs(["memory://in/*.jsonl"])] == ["memory://in/a.jsonl"]
    before = stamp(open_inputs(["memory://in/a.jsonl"])[0])
    memory.pipe_file("/in/a.jsonl", lines(ROWS))
    assert stamp(open_inputs(["memory://in/a.jsonl"])[0]) != before
    with pytest.raises(InputError, match="does not exist"):
        open_inputs(["memory://in/b.jsonl"])


def test_file_addresses_are_paths(tmp_path, capsys):
    (tmp_path / "a b.jsonl").write_bytes(lines(ROWS))
    given, out = f"file://{tmp_path}/a%20b.jsonl", f"file://{tmp_path}/out"
    assert command(capsys, "dedup", given, "-o", out)[0] == 0
    assert (tmp_path / "out" / "kept.jsonl").exists()
    neardup.dedup(given).write(f"file://{tmp_path}/p", format="parquet")
    assert pq.read_table(tmp_path / "p" / "kept.parquet").num_rows <= 20


def test_a_local_path_with_a_colon_is_no_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:b.jsonl").write_bytes(lines(ROWS))
    assert open_inputs(["a:b.jsonl"])[0].size == len(lines(ROWS))


def test_commands_that_write_local_files_refuse_addresses(capsys, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(ROWS))
    with pytest.raises(OutputError, match="is not a path on this machine"):
        new_file("s3://corpus/x.html", False)
    code, _, said = command(capsys, "dedup", str(tmp_path / "a.jsonl"), "-o", "s3://corpus/x", "--report")
    assert code == 2 and "--report writes beside a local result" in said
    with pytest.raises(OutputError, match="takes no files"):
        neardup.dedup(TEXTS, threads=1).write("https://example.org/x")
