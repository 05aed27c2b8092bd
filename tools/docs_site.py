"""What MkDocs does besides (a hook of mkdocs.yml): pages outside docs/, and links to files of the repository.

The same Markdown is read in the repository and on the site. README, changelog and other pages outside docs/ become
pages of the site, a source file that a page links to becomes a page that shows it, and links to both are rewritten.
A link to a folder becomes plain text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

PAGES = {
    "README.md": "quickstart.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/RESULTS.md": "benchmark-results.md",
    "examples/README.md": "examples.md",
}
PLACES = {site: source for source, site in PAGES.items()}


def on_files(files: Files, config: Any) -> Files:
    """The pages outside docs/, and a page for each source file that some page links to."""
    for source, site in PAGES.items():
        files.append(File.generated(config, site, abs_src_path=str(ROOT / source)))
    for path in sorted(linked_sources(files)):
        page = File.generated(config, source_page(path), content=show_source(path))
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page with links that lead to pages of the site."""
    here = place(page.file.src_uri)
    return outside_fences(
        markdown, lambda text: LINK.sub(lambda link: rewrite(link, here, page.file.src_uri), text)
    )


def outside_fences(markdown: str, change: Any) -> str:
    """The text with everything changed that is not in a code block."""
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def rewrite(link: re.Match[str], here: PurePosixPath, uri: str) -> str:
    """A link as the site needs it."""
    image, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    if not target:
        return link[0]
    path = resolve(here, target)
    if (ROOT / path).is_dir():
        return text
    site = site_place(path)
    return f"{image}[{text}]({os.path.relpath(site, PurePosixPath(uri).parent)}{anchor})"


def linked_sources(files: Files) -> set[str]:
    """Paths of the files outside docs/, no pages themselves, that pages link to."""
    found = set()
    for file in files.documentation_pages():
        here = place(file.src_uri)
        for link in LINK.finditer(FENCE.sub("", file.content_string)):
            path = resolve(here, link[3]) if link[3] else "docs"
            outside = not path.startswith("docs/") and path not in PAGES
            if outside and (ROOT / path).is_file():
                found.add(path)
    return found


def place(uri: str) -> PurePosixPath:
    """Where the Markdown of a page lies in the repository."""
    return PurePosixPath(PLACES.get(uri, f"docs/{uri}"))


def resolve(here: PurePosixPath, target: str) -> str:
    """The path in the repository that a link of a page names."""
    return os.path.normpath(here.parent / target)


def site_place(path: str) -> str:
    """Where the site has a file of the repository; a missing one keeps a name that MkDocs will miss."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return source_page(path)


def source_page(path: str) -> str:
    """The page that shows a source file."""
    return f"source/{path}.md"


def show_source(path: str) -> str:
    """A page with the text of a file, which the search does not find."""
    text = (ROOT / path).read_text(encoding="utf-8")
    kind = {".py": "python", ".yml": "yaml", ".toml": "toml"}.get(Path(path).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n````{kind}\n{text.rstrip()}\n````\n"
