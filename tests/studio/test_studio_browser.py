"""The studio in a real browser: by mouse and by keyboard, two people at once, hostile documents, accessibility."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studios import ARTICLES, Running, Visitor, deduplicate

from accessibility import PROBLEMS
from browsers import CONTRAST
from hostile_documents import DOCUMENTS
from neardup.decisions.store import DecisionStore, read_decisions

SIZES = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def running(clean: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One studio for the module: tests use clusters of their own."""
    folder = tmp_path_factory.mktemp("browser")
    looser = deduplicate(folder / "looser", ARTICLES, "--threshold", "0.5")
    started = Running(shutil.copytree(clean, folder / "clean"), compare=str(looser))
    yield started
    started.close()


def store_of(running: Running) -> DecisionStore:
    return running.studio.kept["review"].store


def check_page(page: Any, width: int) -> None:
    """What every page has: it fits, can be read, and is known to assistive technology."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(PROBLEMS) == []


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_pages_fit_and_can_be_read(browser: Any, running: Running, width: int, scheme: str) -> None:
    with Visitor(browser, running.start, width=width, scheme=scheme) as page:
        check_page(page, width)
        for path in (
            "/review?cluster=lighthouse&q=harbour",
            "/review?q=nothing-like-it",
            "/review/apply",
            "/you",
        ):
            page.goto(running.url + path)
            check_page(page, width)


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        pytest.skip("no npm on this machine: pages are not checked by axe-core")
    done = subprocess.run(
        ["npm", "pack", "axe-core@4"], cwd=folder, capture_output=True, timeout=120, check=False
    )
    packed = next(folder.glob("axe-core-*.tgz"), None)
    if done.returncode or packed is None:
        pytest.skip("axe-core cannot be had from npm: pages are not checked by it")
    with tarfile.open(packed) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_axe_finds_nothing(browser: Any, running: Running, axe: str, width: int, scheme: str) -> None:
    options = {"width": width, "scheme": scheme, "bypass_csp": True}  # for the script of axe
    with Visitor(browser, running.start, **options) as page:
        for path in (
            "/review", "/review?cluster=harbour", "/review?q=nothing-like-it", "/review/apply", "/you",
            "/workbench?threshold=0.8", "/workbench/pairs?list=below&threshold=0.8&at=2", "/workbench/compare",
        ):  # fmt: skip
            page.goto(running.url + path)
            page.evaluate(axe)
            found = "axe.run().then((r) => r.violations.map((v) => [v.id, v.nodes.map((n) => n.html)]))"
            assert page.evaluate(found) == [], path


def test_a_review_by_keyboard_alone(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start, name="Kay") as page:
        page.goto(f"{running.url}/review?q=harbour")
        assert page.locator("h1").inner_text() == "harbour"
        page.keyboard.press("ArrowDown")  # from harbour-syndicated, the least similar one
        page.wait_for_url("**doc=harbour")
        page.keyboard.press("ArrowUp")
        page.wait_for_url("**doc=harbour-syndicated")
        page.keyboard.press("r")
        page.get_by_text("Stored: restored: harbour-syndicated").wait_for()
        page.keyboard.press("u")
        page.get_by_text("Stored: taken back: harbour-syndicated").wait_for()
        page.keyboard.press("x")
        page.keyboard.press("ArrowDown")
        page.wait_for_url("**doc=harbour")
        page.keyboard.press("x")
        assert page.get_by_role("button", name="Split off 2 marked").is_visible()
        page.keyboard.press("s")
        page.get_by_text("Stored: split off: harbour-syndicated, harbour").wait_for()
        page.keyboard.press("/")
        page.keyboard.type("lighthouse")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=lighthouse**")
        page.goto(f"{running.url}/review?cluster=lighthouse")
        page.keyboard.press("i")
        page.get_by_text("Stored: kept instead").wait_for()
        page.keyboard.press("c")
        page.get_by_text("Stored: confirmed").wait_for()
        page.goto(f"{running.url}/review?q=the")
        first = page.locator("h1").inner_text()
        page.keyboard.press("j")
        page.wait_for_function("(name) => document.querySelector('h1').innerText !== name", arg=first)
        page.keyboard.press("k")
        page.wait_for_function("(name) => document.querySelector('h1').innerText === name", arg=first)
        page.keyboard.press(".")
        page.get_by_text("Stored: skipped").wait_for()
    actions = [one.action for one in store_of(running).of_cluster("harbour")]
    assert actions == ["restore", "undo", "split"]
    assert [one.action for one in store_of(running).of_cluster("lighthouse")] == ["keep", "confirm"]


def test_the_list_of_keys_opens_and_keys_can_be_switched_off(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start) as page:
        page.keyboard.press("?")
        keys = page.get_by_role("dialog", name="Keys")
        assert keys.is_visible() and "Undo your last decision" in keys.inner_text()
        assert page.evaluate(PROBLEMS) == []
        keys.get_by_label("Single keys press buttons").uncheck()
        keys.get_by_role("button", name="Close").click()
        before = page.locator("h1").inner_text()
        page.keyboard.press("j")
        page.wait_for_timeout(150)
        assert page.locator("h1").inner_text() == before
        page.keyboard.press("?")
        page.get_by_label("Single keys press buttons").check()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.wait_for_function("(name) => document.querySelector('h1').innerText !== name", arg=before)


def test_a_review_by_mouse(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start, name="Mo") as page:
        page.get_by_label("Search ids and texts").fill("ferry")
        page.get_by_label("Kind").select_option("Direct near-duplicates")
        page.get_by_role("button", name="Filter").click()
        page.get_by_role("link", name="ferry", exact=False).first.click()
        page.get_by_role("button", name="Not the same").click()
        page.get_by_text("Stored: not the same").wait_for()
        page.goto(f"{running.url}/review?status=decided&q=ferry")
        assert page.get_by_text("by Mo").first.is_visible()
        page.get_by_role("link", name="You are Mo").click()
        assert page.get_by_label("Your name").input_value() == "Mo"


def test_everything_can_be_reached_with_the_tab_key(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start) as page:
        page.goto(f"{running.url}/review?status=all&cluster=library")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        seen: list[str] = []
        for _ in range(80):
            page.keyboard.press("Tab")
            at = page.evaluate(
                "(() => { const one = document.activeElement; const style = getComputedStyle(one);"
                " return [one.innerText || one.name || one.getAttribute('aria-label') || '', style.outlineStyle]; })()"
            )
            seen.append(at[0].split("\n")[0])
            assert at[1] != "none", at
            if "Keys" in seen[-1]:
                break
        for words in (
            "Confirm",
            "Not the same",
            "Restore",
            "Keep this instead",
            "Split off marked",
            "Skip",
            "Undo",
        ):
            assert any(words in one for one in seen), (words, seen)


def test_two_people_in_two_browsers(browser: Any, running: Running) -> None:
    with (
        Visitor(browser, f"{running.start}", name="Ada") as ada,
        Visitor(browser, f"{running.start}", name="Bob", refused=(409,)) as bob,
    ):
        for page in (ada, bob):
            page.goto(f"{running.url}/review?cluster=cheese&status=all")
        ada.keyboard.press("c")
        ada.get_by_text("Stored: confirmed").wait_for()
        bob.keyboard.press("n")
        bob.get_by_text("Ada has decided about this cluster in between").wait_for()
        assert [one.action for one in store_of(running).of_cluster("cheese")] == ["confirm"]
        bob.keyboard.press("n")
        bob.get_by_text("Stored: not the same").wait_for()
    assert [one.person for one in store_of(running).of_cluster("cheese")] == ["Ada", "Bob"]


def test_the_workbench_by_keyboard(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start) as page:
        page.get_by_role("link", name="Workbench").click()
        page.wait_for_url("**/workbench")
        page.keyboard.press("t")
        page.keyboard.type("0.8")
        page.keyboard.press("Enter")
        page.wait_for_url("**threshold=0.8")
        assert page.locator(".tiles").inner_text().split("\n")[1:5:3] == ["12", "9"]
        page.keyboard.press("+")
        page.wait_for_url("**threshold=0.85")
        page.keyboard.press("-")
        page.wait_for_url("**threshold=0.8")
        page.keyboard.press("Enter")
        page.get_by_text("Pairs that come apart: 1 of 9").wait_for()
        page.keyboard.press("j")
        page.get_by_text("Pairs that come apart: 2 of 9").wait_for()
        page.keyboard.press("k")
        page.get_by_text("Pairs that come apart: 1 of 9").wait_for()
        page.keyboard.press("b")
        slider = page.get_by_role("slider", name="Threshold")
        slider.focus()
        page.keyboard.press("End")
        assert page.locator("output").inner_text() == "1"
        page.get_by_role("link", name="looser").click()
        page.wait_for_url("**/workbench/compare**")
        page.keyboard.press("m")
        page.get_by_text("Newly merged: 1 of 2").wait_for()


def test_without_scripts_the_review_works(browser: Any, running: Running) -> None:
    with Visitor(browser, running.start, java_script_enabled=False) as page:
        page.goto(f"{running.url}/review?cluster=quarry")
        page.get_by_role("button", name="Confirm").click()
        assert page.get_by_text("Stored: confirmed").is_visible()


def hostile_result(folder: Path) -> Path:
    """A result whose ids, texts and sources are hostile."""
    rows = []
    for number, hostile in enumerate(DOCUMENTS):
        words = " ".join(f"w{number}x{k}" for k in range(40))
        text = f"{words} {hostile[:3000]} {words}"
        short = hostile[:300]
        rows += [
            {"id": f"{number}{side} {short}", "text": f"{text} {side}", "source": short} for side in "ab"
        ]
    source = folder / "hostile.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return deduplicate(folder / '<img src=x onerror="alert(1)">', source, "--threshold", "0.3")


def check_hostile(browser: Any, folder: Path, most: int) -> None:
    started = Running(hostile_result(folder))
    index = started.studio.kept["review"].index
    try:
        with Visitor(browser, started.start, name="<script>alert(1)</script>") as page:
            for number in range(min(most, index.total)):
                page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                assert page.evaluate("document.scripts.length") == 2
                assert (
                    page.locator("img, iframe, object, embed, base, video, audio, body > style").count() == 0
                )
                assert page.evaluate("document.documentElement.scrollWidth") <= 1280
                page.keyboard.press("r" if number % 2 else "c")
                page.get_by_text("Stored:").or_(page.get_by_text("Every cluster is decided")).first.wait_for()
            page.goto(f"{started.url}/review/apply")
    finally:
        started.close()


def test_hostile_documents_are_text(browser: Any, tmp_path: Path) -> None:
    check_hostile(browser, tmp_path, 8)


@pytest.mark.slow
def test_every_hostile_document_is_text(browser: Any, tmp_path: Path) -> None:
    check_hostile(browser, tmp_path, 1000)


def test_a_foreign_script_would_be_refused_and_seen(browser: Any, running: Running) -> None:
    """The checks above can fail: a script or a style that is not ours is caught."""
    visitor = Visitor(browser, running.start)
    visitor.page.evaluate(
        "(() => { const one = document.createElement('script'); one.textContent = 'alert(1)';"
        " document.body.append(one); document.body.setAttribute('style', 'color: red'); })()"
    )
    visitor.page.wait_for_timeout(50)
    visitor.context.close()
    assert sum("violation" in event for event in visitor.events) == 2
    assert not any("dialog" in event for event in visitor.events)


def test_a_kill_while_judging_loses_no_decision(browser: Any, clean: Path, tmp_path: Path) -> None:
    """What the browser was shown as stored is there after kill -9 of the server."""
    copy = shutil.copytree(clean, tmp_path / "clean")
    command = [sys.executable, "-m", "neardup", "studio", str(copy), "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    process.stdout.readline()
    start = process.stdout.readline().strip()
    stored = 0
    visitor = Visitor(browser, start, name="Kim")
    for _ in range(5):
        visitor.page.keyboard.press("c")
        visitor.page.get_by_text(f"{stored + 1} decided").wait_for()
        stored += 1
    visitor.page.keyboard.press("c")  # under way
    process.send_signal(signal.SIGKILL)
    process.wait()
    visitor.context.close()
    decisions = {one.cluster for one in read_decisions(copy / "decisions.db")}
    assert stored <= len(decisions) <= stored + 1
    process.stdout.close()


def test_apply_in_the_browser(browser: Any, tmp_path: Path) -> None:
    started = Running(deduplicate(tmp_path / "clean"))
    try:
        with Visitor(browser, started.start, name="Ann") as page:
            page.keyboard.press("n")
            page.get_by_text("Stored:").wait_for()
            page.get_by_role("link", name="Apply decisions").click()
            page.get_by_role("button", name="Apply", exact=False).click()
            page.get_by_text("The run has ended").wait_for(timeout=60_000)
            assert "1 restored" in page.locator(".tiles").inner_text()
            check_page(page, 1280)
    finally:
        started.close()
