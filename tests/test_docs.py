"""The documentation says what the code does: generated pages, help texts, and examples that run."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import click
import pytest

from neardup.cli import COMMANDS, group
from neardup.registry import methods

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```python run\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REMEDY = "run `make docs` and commit what it writes"


def load_generator() -> ModuleType:
    return load_script(ROOT / "docs" / "generate.py")


def load_script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def get_command(name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def examples(command: click.Command) -> list[list[str]]:
    """The command lines in the help of a command."""
    lines = (command.help or "").partition("Example")[2].splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip().startswith("neardup ")]


@pytest.mark.parametrize("name", ["cli.md", "methods.md"])
def test_generated_pages_are_up_to_date(name: str) -> None:
    generator = load_generator()
    path = ROOT / "docs" / "reference" / name
    assert path.exists(), REMEDY
    stored = path.read_text(encoding="utf-8")
    made_with = re.search(r"with click ([\d.]+):", stored)
    if made_with and made_with[1] != generator.click_version():
        pytest.skip(f"the page was made with click {made_with[1]}, which lays out help in its own way")
    assert stored == generator.pages()[name], REMEDY


def test_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = load_generator()
    before = generator.pages()
    monkeypatch.setenv("COLUMNS", "43")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert generator.pages() == before


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_can_be_typed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text('inputs = "a.jsonl"\noutput = "b"\n')  # which an example names
    command = get_command(name)
    found = [words[2:] for words in examples(command) if words[1] == name]
    assert found, f"the help of {name} shows no example"
    for arguments in found:
        command.make_context(name, arguments)  # raises where an option is unknown or a value unfit


def test_examples_of_the_group_can_be_typed() -> None:
    found = examples(group)
    assert found
    for _, name, *arguments in found:
        get_command(name).make_context(name, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name: str) -> None:
    for parameter in get_command(name).params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{parameter.opts[0]} of {name} has no help"
            assert parameter.help.rstrip().endswith((".", "]")), f"{parameter.opts[0]} of {name}: no sentence"


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_a_line_of_their_own(name: str) -> None:
    summary = (get_command(name).help or "").splitlines()[0]
    assert summary.endswith(".")
    assert COMMANDS[name].endswith(".")


@pytest.mark.parametrize("name", methods())
def test_every_parameter_of_a_method_is_documented(name: str) -> None:
    method = methods()[name]
    assert method.summary
    assert method.description
    for parameter in method.parameters.values():
        assert parameter.help, f"{name} says nothing about {parameter.name}"


@pytest.mark.parametrize("name", methods())
def test_every_method_has_a_page_that_the_index_names(name: str) -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs" / "methods").glob("*.md")):
        title, _, text = page.read_text(encoding="utf-8").partition("\n")
        if name in title.removeprefix("# ").partition(":")[0].split(", "):
            assert f"(methods/{page.name})" in index
            assert f"reference/methods.md#{name})" in text
            assert all(
                f"\n## {part}" in text for part in ("The idea", "Param", "When to use it", "What we measure")
            )
            opening = text.partition("\n## ")[0]
            assert opening.strip().startswith("**For** "), "a page opens with what its method is for"
            assert "\n**Not for** " in opening
            assert f"--method {name}" in opening or f"--method {page.stem}" in opening
            return
    raise AssertionError(f"docs/methods has no page whose title names {name}")


def links() -> list[object]:
    """Every link from a page to a file of the project."""
    found = []
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8")):
            found.append(pytest.param(page, target, id=f"{page.relative_to(ROOT)}: {target}"))
    return found


@pytest.mark.parametrize("page, target", links())
def test_links_lead_somewhere(page: Path, target: str) -> None:
    assert (page.parent / target).exists()


def runnable() -> list[object]:
    """The pages with examples that run, and these; blocks of one page go on from each other."""
    found = []
    for page in PAGES:
        blocks = FENCE.findall(page.read_text(encoding="utf-8"))
        if blocks:
            found.append(pytest.param("\n".join(blocks), id=str(page.relative_to(ROOT))))
    return found


@pytest.mark.parametrize("code", runnable())
def test_examples_run(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {"__name__": "example"})


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def first_column(text: str, header: str) -> set[str]:
    """The names in backquotes in the first column of the table with this header."""
    rows = text.partition(f"| {header} |")[2].partition("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_readme_lists_every_extra() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert first_column(read("README.md"), "extra") == set(extras)


def test_the_readme_names_every_method_and_command() -> None:
    table = read("README.md").partition("## What it does")[2].partition("## Recipes")[0]
    assert all(f"`neardup {name}`" in table for name in COMMANDS)
    assert [name for name in methods() if f"`{name}`" not in table] == []
    assert first_column(read("docs/index.md"), "method") == set(methods())


def test_the_readme_lists_every_format_that_input_lists() -> None:
    suffixes = set(
        re.findall(r"`(\.[a-z.]+)`", read("README.md").partition("## Formats")[2].partition("\n\n")[0])
    )
    known = set(re.findall(r"`(\.[a-z.]+)`", read("docs/input.md").partition("| memory |")[0]))
    assert known - suffixes <= {".text", ".htm", ".xhtml"}


def shown_tree() -> set[str]:
    """The paths of the tree in docs/architecture.md, below src/neardup."""
    lines = read("docs/architecture.md").partition("```\nsrc/neardup/\n")[2].partition("```")[0].splitlines()
    folders: list[str] = []
    found = set()
    for line in lines:
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        folders[depth:] = [name]
        found.add("".join(folders))
    return found


def test_the_tree_of_the_architecture_page_is_that_of_the_source() -> None:
    package = ROOT / "src" / "neardup"
    folders = {f"{path.parent.relative_to(package)}/" for path in package.rglob("*.py")} - {"./"}
    modules = {path.name for path in package.glob("*.py")}
    assert shown_tree() == folders | modules


def test_modules_that_the_architecture_page_names_exist() -> None:
    named = re.findall(r"`([a-z_/]+(?:\.py|/))`", read("docs/architecture.md"))
    assert [
        path for path in named if not any((root / path).exists() for root in (ROOT, ROOT / "src/neardup"))
    ] == []


def test_the_picture_of_the_readme_shows_the_results() -> None:
    drawing = load_script(ROOT / "tools" / "draw_readme_picture.py")
    picture = read("docs/images/peers.svg")
    for tool in drawing.read_tools():
        assert f">{tool.name}<" in picture, "run tools/draw_readme_picture.py"
        assert f">{drawing.speed_label(tool)}<" in picture, "run tools/draw_readme_picture.py"


LOADED = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(https?:[^\" >]+)")


def test_the_site_builds_with_every_page_and_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the documentation site needs neardup[docs]")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        assert LOADED.findall(page.read_text("utf-8")) == [], page.name
    assert (tmp_path / "search" / "search_index.json").exists()


def test_the_pages_and_the_command_recommend_the_same() -> None:
    from neardup.recipes import RECIPES

    thresholds, readme = (
        (ROOT / page).read_text(encoding="utf-8") for page in ("docs/thresholds.md", "README.md")
    )
    for kind, options in RECIPES.items():
        assert f"`neardup dedup {options}`".replace(" `", "`") in readme, kind
        assert options == "" or f"| `{options}` |" in thresholds, kind
        assert f"| {kind}" in thresholds and f"| {kind}" in readme
