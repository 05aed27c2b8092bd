"""What is compared of HTML: all that is visible, or the article, in every command and in the library."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.cli import main
from neardup.errors import ParameterError, RecordError

LINKS = {
    site: "".join(f"<li><a href=/{k}>{site}, section {k}</a>" for k in range(60))
    for site in ("Herald", "Post")
}
STORY = [
    f"<p>The harbour of the town was closed for the {k}th time, the port said on Monday.</p>"
    for k in range(9)
]
OTHER = [
    f"<p>A fence around the old {k} mills is all that was left of them after the fire.</p>" for k in range(9)
]


def page(site: str, story: list[str]) -> str:
    return f"<html><body><ul>{LINKS[site]}</ul><article>{''.join(story)}</article></body></html>"


PAGES = {
    "herald": page("Herald", STORY),
    "post": page("Post", STORY),
    "other": page("Herald", OTHER),
    "login": f"<html><body><h1>Log in</h1><ul>{LINKS['Post']}</ul></body></html>",
}
TABLE = pa.table({"id": list(PAGES), "html": list(PAGES.values())})


def found(table: pa.Table, **options: object) -> set[tuple[str, str]]:
    rows = neardup.pairs(table, threshold=0.5, ngram=3, **options).to_pylist()
    return {(row["left"], row["right"]) for row in rows}


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
        raise SystemExit(0)
    return int(stop.value.code or 0)


@pytest.mark.parametrize("how", ["article", "segments", "resiliparse"])
def test_the_story_decides_not_the_site(how: str) -> None:
    assert found(TABLE, html_text=how) == {("herald", "post")}
    assert found(TABLE) == found(TABLE, html_text="article")
    assert ("herald", "other") in found(TABLE, html_text="visible")


def test_a_page_without_an_article_is_counted_and_compared_by_all_of_it() -> None:
    twice = pa.concat_tables([TABLE, pa.table({"id": ["again"], "html": [PAGES["login"] + "<p>hello"]})])
    result = neardup.dedup(twice, html_text="article", threshold=0.8)
    assert result.report["html_text"] == "article"
    assert result.report["problems"]["counts"] == {"no article": 2}
    assert result.report["problems"]["first"][0]["record"] == 4
    assert {row["left"] for row in result.pairs.to_pylist()} == {"again", "herald"}
    with pytest.raises(RecordError, match="no article"):
        neardup.dedup(twice, html_text="article", strict=True)
    assert neardup.dedup(twice, threshold=0.8, html_text="visible").report["problems"]["total"] == 0


def test_what_is_no_html_is_left_alone_and_what_is_written_too(tmp_path: Path) -> None:
    plain = pa.table({"id": TABLE["id"], "text": TABLE["html"]})
    assert found(plain, html_text="article") == found(plain, html_text="visible")
    assert found(plain, html_text="article", html=True) == {("herald", "post")}
    neardup.dedup(TABLE, threshold=0.5, html_text="article").write(tmp_path / "out", mode="annotate")
    assert pq.read_table(tmp_path / "out" / "annotated.parquet")["html"].to_pylist() == list(PAGES.values())


def test_files_and_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in PAGES.items():
        (tmp_path / f"{name}.html").write_text(text)
    options = ("--html-text", "article")
    assert run("dedup", tmp_path, "-o", tmp_path / "out", "--threshold", 0.5, "--json", *options) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["removed"] == 1 and report["problems"]["counts"] == {"no article": 1}
    two = (tmp_path / "herald.html", tmp_path / "post.html")
    assert run("compare", *two, "--json", *options) == 0
    assert json.loads(capsys.readouterr().out)["similarity"] == 1
    assert run("compare", "herald.html", "post.html", "--in", tmp_path, "--json", *options) == 0
    assert json.loads(capsys.readouterr().out)["similarity"] == 1
    assert run("compare", *two, "--json", "--html-text", "visible") == 0
    assert json.loads(capsys.readouterr().out)["similarity"] < 1
    lines = [json.dumps({"id": name, "html": text}) for name, text in PAGES.items()]
    (tmp_path / "pages.jsonl").write_text("\n".join(lines))
    (tmp_path / "clusters.csv").write_text("id,cluster\nherald,1\npost,1\nother,2\nlogin,3\n")
    command = ("evaluate", tmp_path / "pages.jsonl", "--labels", tmp_path / "clusters.csv", "--json")
    scores = []
    for extra in (("--html-text", "visible"), options):
        assert run(*command, *extra) == 0
        scores.append(json.loads(capsys.readouterr().out)["methods"][0]["best"]["f1"])
    assert scores[0] < scores[1] == 1.0
    assert run("stats", "build", tmp_path / "pages.jsonl", "-o", tmp_path / "s.parquet", *options) == 0


def test_the_evaluation_of_the_library() -> None:
    labels = {"herald": "a", "post": "a", "other": "b", "login": "c"}
    assert neardup.evaluation(TABLE, labels, html_text="article").results[0].best.counts.f1 == 1.0  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="html_text"):
        neardup.evaluation(TABLE, labels, html_text="all")  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"html_text.*one of visible, article.*'all'"):
        neardup.dedup(TABLE, html_text="all")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"html_text.*reads whole pages"):
        neardup.dedup(TABLE, method="simhash", weights="tf, tags(2, h1)", html_text="segments")


# What an article leaves out, in the summary of visible text ------------------------------------------------


def outside(documents: object, **options: object) -> dict[str, float] | None:
    found: dict[str, float] | None = neardup.dedup(documents, **options).report["outside_article"]
    return found


def test_the_report_of_visible_text_says_how_much_is_outside_the_article() -> None:
    found = outside(TABLE, html_text="visible")
    assert found is not None and found["pages"] == 3, "the login page has no article"
    assert 0.5 < found["share"] < 0.9
    assert outside(TABLE) is None, "the article is compared"
    assert outside(["a text", "another"], html_text="visible") is None, "no pages"
    plain = pa.table({"html": ["<p>" + "a page of one paragraph without anything else. " * 9] * 3})
    assert outside(plain, html_text="visible")["share"] < 0.1  # type: ignore[index]


def test_it_is_the_same_for_files_and_columns(tmp_path: Path) -> None:
    for name, content in PAGES.items():
        (tmp_path / f"{name}.html").write_text(content)
    assert outside(tmp_path, html_text="visible") == outside(TABLE, html_text="visible")


def test_the_summary_names_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(TABLE, tmp_path / "pages.parquet")
    for how, said in (("visible", True), ("article", False)):
        main(["dedup", str(tmp_path / "pages.parquet"), "-o", str(tmp_path / how), "--html-text", how])
        printed = capsys.readouterr().out
        assert ("is outside the article (menus, links, notices): --html-text article" in printed) == said
