"""Draws docs/images/studio-*.png: the studio over the example articles, with Chromium and playwright."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
ARTICLES = ROOT / "examples" / "articles.jsonl"
WIDTH, HEIGHT = 1280, 860


def result(folder: Path, *options: str) -> Path:
    """A result of dedup over the example articles."""
    command = [sys.executable, "-m", "neardup", "dedup", str(ARTICLES), "-o", str(folder), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return folder


def draw(page: Page, name: str) -> None:
    """A picture of the page as it stands."""
    page.screenshot(path=ROOT / "docs" / "images" / f"studio-{name}.png")


def main() -> None:
    """Writes the pictures."""
    browser = next(path for name in ("chromium", "google-chrome") if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        clean, looser = result(Path(folder, "clean")), result(Path(folder, "looser"), "--threshold", "0.5")
        words = [sys.executable, "-u", "-m", "neardup", "studio", str(clean), "--compare", str(looser)]
        studio = subprocess.Popen([*words, "--no-browser", "--port", "0"], stdout=subprocess.PIPE, text=True)
        assert studio.stdout is not None
        start = [studio.stdout.readline().strip() for _ in range(2)][1]
        opened = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(start)
        base = start.partition("/?")[0]
        page.goto(f"{base}/you")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_role("button", name="Save").click()
        page.wait_for_url("**/review**")
        page.keyboard.press("n")  # the price of vaccinations differs
        page.get_by_text("Stored:").wait_for()
        page.goto(f"{base}/review?cluster=harbour")
        draw(page, "review")
        page.goto(f"{base}/workbench?threshold=0.8")
        draw(page, "workbench")
        draw_labelling(page, base)
        opened.close()
        studio.terminate()
        studio.wait()


def draw_labelling(page: Page, base: str) -> None:
    """Pictures of a pair to judge, of the overview and of what was learned, from labels of the known stories."""
    stories = {
        row["id"]: row["cluster"] for row in csv.DictReader((ROOT / "examples" / "stories.csv").open())
    }
    page.set_default_timeout(180_000)
    page.goto(f"{base}/label")
    page.get_by_role("button", name="Begin: One person").click()
    page.get_by_label("How many pairs").fill("25")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_url("**/label?job=1")
    page.goto(f"{base}/label/pairs")
    draw(page, "pair")
    while (names := page.locator("figcaption bdi").all_inner_texts()) and len(names) == 2:
        first, second = (stories.get(name[3:], name) for name in names)
        with page.expect_navigation():
            page.keyboard.press("1" if first == second else "5")
    page.goto(f"{base}/label")
    draw(page, "labels")
    page.goto(f"{base}/learn")
    page.get_by_role("button", name="Learn").click()
    page.wait_for_url("**/learn?job=1")
    draw(page, "learn")


if __name__ == "__main__":
    main()
