"""The examples in the help of every command, run in a folder with the files that they name."""

from __future__ import annotations

import gzip
import json
import random
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.cli import group, main
from sentences import overlapping

# Spark, the papers' data, the service and the studio have tests of their own: a whole run of these would need a
# cluster or a download, or would not end.
ELSEWHERE = (
    "--engine spark", "s3://", "study run", "neardup serve ", "neardup studio ", "--decisions clean",
)  # fmt: skip


def examples(command: click.Command, above: click.Context) -> Iterator[str]:
    """The lines under Example: or Examples: of a command and its subcommands."""
    text = (command.help or "").partition("Example")[2]
    yield from re.findall(r"^ *(neardup .*)$", text, re.MULTILINE)
    if isinstance(command, click.Group):
        for name in command.list_commands(above):
            inner = command.get_command(above, name)
            assert inner is not None
            yield from examples(inner, above)


EXAMPLES = list(dict.fromkeys(examples(group, click.Context(group))))
RUN = [line for line in EXAMPLES if not any(words in line for words in ELSEWHERE)]
TEXTS = overlapping(random.Random(3), 12)
ROWS = [
    {
        "id": str(number), "text": text, "url": f"http://host{number % 3}.example/{number}",
        "date": f"2024-01-{number + 1:02}", "rank": number, "groups": ["staff"], "subject": "news",
        "source": f"paper{number % 3}",
    }
    for number, text in enumerate([*TEXTS, *(text + " again" for text in TEXTS)])
]  # fmt: skip


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    """The rows as parquet or as JSON lines, by the name of the file."""
    path.parent.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of all examples, and what the examples of other commands make of them."""
    folder = tmp_path_factory.mktemp("examples")
    for name in (
        "corpus.parquet", "crawl/1.jsonl.gz", "huge/1.jsonl", "news/1.jsonl", "news.jsonl", "mail.jsonl",
        "more-news.jsonl", "docs.parquet", "crawl.parquet", "crawl.jsonl", "crawl-0301.jsonl", "crawl-0302.jsonl",
        "results.jsonl", "archive.jsonl.gz", "archive/1.jsonl.gz", "news.parquet", "today.jsonl", "train/1.jsonl",
        "test.jsonl", "a.jsonl", "b.jsonl",
    ):  # fmt: skip
        write_rows(folder / name, ROWS)
    ids = [[row["id"], f"c{int(row['id']) % len(TEXTS)}"] for row in ROWS]  # type: ignore[call-overload]
    (folder / "clusters.csv").write_text("id,cluster\n" + "".join(f"{one},{two}\n" for one, two in ids))
    judged = "".join(f"{k},{k + len(TEXTS)},1\n{k},{(k + 1) % len(TEXTS)},0\n" for k in range(len(TEXTS)))
    (folder / "pairs.csv").write_text("id_a,id_b,label\n" + judged)
    (folder / "other_tool.csv").write_text(
        "id_a,id_b,cosine\n" + "".join(f"{k},{k + 12},0.9\n" for k in range(12))
    )
    for name, text in {"a.txt": TEXTS[0], "b.txt": TEXTS[0] + " more", "draft.md": TEXTS[1]}.items():
        (folder / name).write_text(text)
    (folder / "withdrawn.txt").write_text("3\n4\nnobody\n")
    (folder / "published.html").write_text(f"<html><body><p>{TEXTS[1]}</p></body></html>")
    for number, row in enumerate(ROWS):
        path = folder / "mail" / f"c{number % len(TEXTS)}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(row["text"]))
    return folder


MADE_BEFORE = {  # what an example needs from another command
    "--config run.toml": "neardup dedup news.jsonl -o clean --threshold 0.8 --save-config run.toml",
    "--model model.json": "neardup learn news.jsonl --labels clusters.csv -o model.json",
    "--model news-model.json": "neardup learn news.jsonl --labels clusters.csv -o news-model.json",
    " pages.index": "neardup index build pages.index crawl-0301.jsonl --method simhash --quality-column rank",
    " news.index": "neardup index build news.index archive/ --method minhash --threshold 0.8",
    " january.parquet": "neardup stats build archive.jsonl.gz -o january.parquet",
    " february.parquet": "neardup stats build archive.jsonl.gz -o february.parquet",
    "info both.parquet": "neardup stats build archive.jsonl.gz -o both.parquet",
    "--stats archive.parquet": "neardup stats build archive.jsonl.gz -o archive.parquet",
    "neardup sources clean": "neardup dedup news.jsonl -o clean",
    "neardup report clean": "neardup dedup news.jsonl -o clean",
    "--fields links:value": "neardup links crawl.jsonl -o linked.parquet",
}


@pytest.mark.parametrize("line", RUN)
def test_an_example_of_the_help_runs(
    line: str,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path in files.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    if "--plots" in line or "--plot " in line:
        pytest.importorskip("matplotlib")
    before = [words for needed, words in MADE_BEFORE.items() if needed in line and words != line]
    if line.startswith("neardup compare 1042 2311"):
        rows = [row | {"id": name} for row, name in zip(ROWS, ("1042", "2311"), strict=False)]
        Path("news.jsonl").unlink()
        write_rows(tmp_path / "news.jsonl", rows)
    for words in (*before, line):
        alone = words.partition(" | ")[0]  # without the command that reads what it writes
        main(shlex.split(alone.replace("archive/*", "archive/1"))[1:])
    assert capsys.readouterr().out
