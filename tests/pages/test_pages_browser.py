"""Pages in a real browser: nothing hostile runs, the slider works by keyboard, and every width and scheme is usable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_pages_hostile import hostile_evaluation_page, hostile_run_page

from browsers import CONTRAST, VIOLATIONS, open_browser
from hostile_documents import DOCUMENTS
from neardup.cli import main

ARTICLES = Path(__file__).parent.parent.parent / "examples" / "articles.jsonl"
AT_ONCE = 20  # hostile documents on a page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


class Watched:
    """A page in the browser, with everything that it tried to do."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.events: list[str] = []
        self.page.on("dialog", lambda one: (self.events.append(f"dialog {one.message}"), one.dismiss()))
        self.page.on("console", lambda one: self.events.append(f"console {one.text}"))
        self.page.on("pageerror", lambda one: self.events.append(f"error {one}"))
        self.page.on("request", lambda one: self._requested(one.url))
        self.page.on("popup", lambda one: self.events.append("popup"))
        self.page.add_init_script(VIOLATIONS)
        self.page.goto(path.as_uri())

    def _requested(self, address: str) -> None:
        if not address.startswith("file:"):
            self.events.append(f"request {address}")

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *error: object) -> None:
        self.page.wait_for_timeout(50)
        self.context.close()
        if error[0] is None:
            assert self.events == []


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    main(["dedup", str(ARTICLES), "-o", str(folder / "out"), "--report"])
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluation") / "errors.html"
    options = ["--bootstrap", "0", "--splits", "0", "--method", "minhash:ngram=3/5", "--errors", str(path)]
    main(["evaluate", str(ARTICLES), "--labels", str(ARTICLES.parent / "stories.csv"), *options])
    return path


@pytest.mark.parametrize("first", range(0, len(DOCUMENTS), AT_ONCE))
@pytest.mark.parametrize("make", [hostile_run_page, hostile_evaluation_page])
def test_nothing_hostile_runs(browser: Any, tmp_path: Path, make: Callable[..., str], first: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(make(*DOCUMENTS[first : first + AT_ONCE]), encoding="utf-8")
    with Watched(browser, path) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.scripts.length") == 1
        assert page.locator("img, iframe, object, embed, form, base, link, video, audio, dialog").count() == 0
        assert page.locator("details").count() == 2 * len(DOCUMENTS[first : first + AT_ONCE])
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_script_that_is_not_ours_would_be_refused_and_seen(
    browser: Any, report: Path, tmp_path: Path
) -> None:
    """The checks above can fail: a page with a foreign script is caught."""
    foreign = report.read_text(encoding="utf-8").replace("</main>", "<script>alert(1)</script></main>")
    path = tmp_path / "foreign.html"
    path.write_text(foreign, encoding="utf-8")
    watched = Watched(browser, path)
    watched.page.wait_for_timeout(50)
    watched.context.close()
    assert any("violation" in event for event in watched.events)
    assert not any("dialog" in event for event in watched.events)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["report", "evaluation"])
def test_pages_fit_and_can_be_read(
    browser: Any, request: pytest.FixtureRequest, name: str, width: int, scheme: str
) -> None:
    with Watched(browser, request.getfixturevalue(name), width, scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) == []
        assert page.locator("h1").count() == 1
        assert page.locator("th:not([scope])").count() == 0
        assert page.locator("svg:not([aria-label]):not([aria-hidden])").count() == 0
        assert page.locator("[id]").count() == len(
            set(page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)"))
        )


def test_the_slider_counts_by_keyboard(browser: Any, report: Path) -> None:
    with Watched(browser, report) as page:
        slider = page.get_by_role("slider", name="Threshold")
        assert slider.is_visible()
        slider.focus()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert page.locator(".removals").inner_text() == "21" and page.locator("output").inner_text() == "0.7"
        page.keyboard.press("End")
        assert page.locator("output").inner_text() == "1" and page.locator(".removals").inner_text() == "3"
        page.keyboard.press("Home")
        for _ in range(100):
            page.keyboard.press("ArrowRight")
        assert page.locator("output").inner_text() == "0.8" and page.locator(".removals").inner_text() == "12"
        assert page.locator(".pairs").inner_text() == "13"


def test_everything_can_be_reached_by_keyboard(browser: Any, report: Path) -> None:
    with Watched(browser, report) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        closed = page.locator("details:not([open]) > summary").first
        closed.focus()
        page.keyboard.press("Enter")
        assert page.locator("details[open]").count() == 3


def test_paper_shows_what_is_closed(browser: Any, report: Path) -> None:
    with Watched(browser, report) as page:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible() and not page.locator(".slider").is_visible()


def test_without_scripts_the_table_answers(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert not page.locator(".slider").is_visible()
    assert page.get_by_text("What other thresholds would leave").is_visible()
    context.close()
