"""Draws docs/images/report.png, the report of the example articles, with Chromium and playwright."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import neardup

ROOT = Path(__file__).parent.parent
WIDTH, HEIGHT = 1100, 1000


def main() -> None:
    """Writes the picture."""
    browser = next(path for name in ("chromium", "google-chrome") if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page = Path(folder, "articles.html")
        neardup.dedup(ROOT / "examples" / "articles.jsonl").write_report(page)
        opened = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        shown = opened.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        shown.goto(page.as_uri())
        shown.screenshot(path=ROOT / "docs" / "images" / "report.png")
        opened.close()


if __name__ == "__main__":
    main()
