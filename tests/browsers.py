"""A real browser for tests of pages, and what is measured in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# What each page reports of itself: a violation of its policy is an error in the console.
VIOLATIONS = (
    "addEventListener('securitypolicyviolation', (e) => console.error('violation', e.violatedDirective))"
)
CONTRAST = """
(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const c = parse(getComputedStyle(at).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const one = node.parentElement;
    if (!node.data.trim() || !one.getClientRects().length || one.closest("script, style, title, .skip")) continue;
    const style = getComputedStyle(one);
    const front = light(parse(one.closest("svg") ? style.fill : style.color)), back = light(behind(one));
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) low.push([node.data.trim().slice(0, 40), ratio]);
  }
  return low;
})()
"""


@contextmanager
def open_browser() -> Iterator[Any]:
    """Chromium or Chrome of this machine; a test that finds none is skipped with the reason."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pages in a browser need playwright")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium or Chrome on this machine: pages are not tried in a browser")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
