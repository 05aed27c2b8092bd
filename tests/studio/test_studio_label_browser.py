"""Labelling in a real browser: by keyboard alone, with hostile documents as text, in both schemes and widths."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studios import Running, Visitor, deduplicate

from browsers import CONTRAST
from neardup.labelling.store import LabelStore, NewPair

sys.path.insert(0, str(Path(__file__).parent.parent / "pages"))
from hostile_documents import DOCUMENTS

WIDE, NARROW = 1280, 390
TABLE = b"id_a,id_b,label\nharbour,harbour-brief,containment\n"
PAGES = (
    "label",
    "label/documents",
    "label/pairs",
    "label/clusters",
    "label/tables",
    "label/protocol",
    "learn",
)


@pytest.fixture
def running(clean: Path, tmp_path: Path) -> Iterator[Running]:
    shutil.copytree(clean, tmp_path / "clean")
    started = Running(tmp_path / "clean")
    yield started
    started.close()


def by_keys(page: Any, *keys: str) -> None:
    """Presses keys, each of which leads to another page."""
    for key in keys:
        with page.expect_navigation():
            page.keyboard.press(key)


def test_one_person_labels_by_keyboard_alone_and_learns(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start, name="ann") as page:
        page.goto(f"{running.url}/label")
        page.keyboard.press("Tab")
        page.get_by_role("button", name="Begin: One person").focus()
        by_keys(page, "Enter")
        assert page.get_by_role("heading", name="Draw pairs to label").is_visible()
        page.get_by_label("How many pairs").fill("15")
        by_keys(page, "Enter")
        page.wait_for_url("**/label?job=1", timeout=120_000)
        by_keys(page, "p")
        assert page.get_by_role("heading", name="How are A and B related?").is_visible()
        assert page.locator("mark").count() > 0 and page.locator(".sides figure").count() == 2
        by_keys(page, "w")
        assert page.locator("mark").count() == 0 and page.locator(".sides figure").count() == 2
        first = page.locator("figcaption").all_inner_texts()
        by_keys(page, "5")
        assert page.get_by_text("Stored.").is_visible()
        assert page.locator("figcaption").all_inner_texts() != first
        by_keys(page, "u")
        assert [one.split("\n")[0] for one in page.locator("figcaption").all_inner_texts()] == first
        page.keyboard.press("?")
        assert page.get_by_role("heading", name="Keys").is_visible()
        page.keyboard.press("?")
        for number in range(12):
            by_keys(page, "1" if number % 3 else "5")
        page.goto(f"{running.url}/label")
        assert page.get_by_text("Time a pair").is_visible()
        by_keys(page, "l")
        assert page.get_by_text("12 labelled pairs: 8 near-duplicates, 4 different.").is_visible()
        by_keys(page, "l")
        page.wait_for_url("**/learn?job=1", timeout=240_000)
        assert page.get_by_text("Learned from 12 pairs.").is_visible()
        assert page.get_by_role("rowheader", name="minhash, threshold from labels").is_visible()
        assert page.get_by_role("button", name="Run with the model").is_visible()
        by_keys(page, "r")
        page.wait_for_url("**/learn?job=1", timeout=120_000)
        assert page.get_by_text("of 67 documents; the run before removed 21.").is_visible()
        by_keys(page, "n")
        page.wait_for_url("**/label/pairs*", timeout=60_000)
        assert page.get_by_role("heading", name="How are A and B related?").is_visible()


def test_clusters_protocol_and_tables(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start, name="ann") as page:
        page.goto(f"{running.url}/label")
        page.get_by_role("button", name="Begin: Two phases").click()
        page.get_by_role("link", name="Clusters").click()
        page.wait_for_url("**/label/clusters")
        page.keyboard.press("2")
        assert page.get_by_role("checkbox").nth(1).is_checked() is False
        by_keys(page, "Enter")
        assert page.get_by_text("The cluster is stored.").is_visible()
        by_keys(page, "u", "i")
        page.get_by_role("link", name="Export, import").click()
        with page.expect_download() as got:
            page.get_by_role("link", name="clusters.csv").click()
        assert "irrelevant" in got.value.path().read_text()
        page.get_by_label("A table (csv, tsv or jsonl)").set_input_files(
            {
                "name": "mine.csv",
                "mimeType": "text/csv",
                "buffer": b"id_a,id_b,label\nharbour,harbour-brief,containment\n",
            }
        )
        page.wait_for_function("document.getElementById('content').value !== ''")
        page.get_by_role("button", name="Import").click()
        page.wait_for_url("**/label/tables?job=1", timeout=60_000)
        assert page.get_by_text("Imported: 1 label.").is_visible()
        page.get_by_role("link", name="Protocol").click()
        page.get_by_label("Judges a pair").fill("5")
        page.get_by_role("button", name="Save").click()
        assert page.get_by_label("Judges a pair").input_value() == "5"


SOME, ALL = DOCUMENTS[::4], DOCUMENTS


@pytest.fixture(params=[pytest.param(SOME, id="some"), pytest.param(ALL, id="all", marks=pytest.mark.slow)])
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A studio in which hostile documents are to be judged, two by two."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {"id": one, "text": f"{text} and more of it, number {k}"}
        for k, (one, text) in enumerate(_hostile(request.param))
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    deduplicate(folder / "clean", folder / "in.jsonl", "--duplicate-ids", "rename")
    store = LabelStore(folder / "clean" / "labels.db")
    store.change_settings(
        store.settings.with_texts({"scheme": "pairs", "pair_judges": "1", "honey_share": "0"})
    )
    texts = {row["id"]: row["text"] for row in rows}
    ids = list(texts)
    store.add([NewPair(a, b, 0.5, a) for a, b in zip(ids[::2], [*ids[1::2], ids[0]], strict=False)], texts)
    store.close()
    started = Running(folder / "clean")
    yield started
    started.close()


def _hostile(documents: list[str]) -> list[tuple[str, str]]:
    """An id and a text of each hostile document."""
    plain = (one[:60].encode("utf-8", "replace").decode() for one in documents)
    return [(f"{k} {name}", one) for k, (name, one) in enumerate(zip(plain, documents, strict=True))]


def test_hostile_documents_are_text(browser: Any, hostile: Running) -> None:
    with Visitor(browser, hostile.start, name='<img src=x onerror=alert(1)>"') as page:
        seen = 0
        page.goto(f"{hostile.url}/label/pairs")
        while page.locator("button.answer").count():
            assert page.locator("img, iframe, object, embed, base, svg, video, audio, dialog").count() == 0
            assert page.evaluate("document.scripts.length") == 2
            assert page.evaluate("document.documentElement.scrollWidth") <= WIDE
            seen += 1
            by_keys(page, "4")
        assert seen in {(len(some) + 1) // 2 for some in (SOME, ALL)}
        for path in ("/label", "/label/tables", "/label/protocol", "/learn"):
            page.goto(hostile.url + path)
            assert page.locator("img, iframe, svg[onload], script:not([src])").count() == 0
            assert page.locator(".you").inner_text().endswith('<img src=x onerror=alert(1)>"')


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_every_page_is_usable(browser: Any, running: Running, width: int, scheme: str) -> None:
    with Visitor(browser, running.start, width=width, scheme=scheme, name="ann") as page:
        page.goto(f"{running.url}/label")
        check(page, width)
        page.get_by_role("button", name="Begin: Two phases").click()
        check(page, width)
        page.get_by_label("How many pairs").fill("5")
        page.get_by_role("button", name="Draw").click()
        page.wait_for_url("**/label?job=1", timeout=120_000)
        for path in (
            "label",
            "label/documents",
            "label/pairs",
            "label/clusters",
            "label/tables",
            "label/protocol",
            "learn",
        ):
            page.goto(f"{running.url}/{path}")
            check(page, width)


def check(page: Any, width: int) -> None:
    """Contrast, width, headings, labels and names of controls."""
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").count() == 1 and page.locator("main").count() == 1
    unnamed = (
        "els => els.filter(e => !e.labels?.length && !e.getAttribute('aria-label')).map(e => e.outerHTML)"
    )
    assert page.locator("input:not([type=hidden]), select, textarea").evaluate_all(unnamed) == []
    nameless = "els => els.filter(e => !e.textContent.trim() && !e.getAttribute('aria-label')).length"
    assert page.locator("button, a, summary").evaluate_all(nameless) == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
