"""Unrelated pages in shared templates: how many of them each method takes for near-duplicates.

    python benchmarks/templates.py [--documents 10000]

60 % of a page is its site's template, running text like the rest; no two pages have anything else in common. What is
removed is lost: it should be none. The corpora are those of `generate.py --kind template`, one for each site.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import neardup
from generate import Recipe, texts

METHODS: dict[str, dict[str, Any]] = {
    "minhash, threshold 0.7": {"method": "minhash"},
    "minhash, threshold 0.15": {"method": "minhash", "threshold": 0.15},
    "rare_phrases": {"method": "rare_phrases"},
    "preset news-pages": {"preset": "news-pages"},
}


def pages(documents: int, sites: int) -> list[str]:
    """So many pages, as many of each site."""
    recipes = (Recipe(documents // sites, "template", seed=site + 1) for site in range(sites))
    return [page for recipe in recipes for group in texts(recipe) for page in group]


def main() -> None:
    """Print a row for each method and number of sites."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000)
    given = parser.parse_args()
    print("| sites | pages of each | method | removed | common phrases | CPU s |\n|---|---|---|---|---|---|")
    for sites in (1, 50):
        corpus = pages(given.documents, sites)
        for name, options in METHODS.items():
            start = time.process_time()
            report = neardup.dedup(corpus, **options).report
            seconds = time.process_time() - start
            common = report.get("common_phrases")
            shown = "–" if common is None else f"{common['phrases']:,} in more than {common['above']}"
            row = (sites, len(corpus) // sites, name, f"{report['removed']:,}", shown, f"{seconds:.1f}")
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
