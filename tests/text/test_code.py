"""Source code: its suffixes in folders, its tokens, and copies that the preset finds."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import neardup
from neardup.documents import open_inputs
from neardup.documents.input_files import CODE, SUFFIXES

HERE = Path(neardup.__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with files of this package, and changed copies of some under other names."""
    folder = tmp_path_factory.mktemp("project")
    files = sorted((HERE / "documents").glob("*.py")) + sorted((HERE / "candidates").glob("*.py"))
    for path in files:
        if len(text := path.read_text()) < 1500:
            continue
        (folder / path.parent.name).mkdir(exist_ok=True)
        (folder / path.parent.name / path.name).write_text(text)
    return folder


def copies(folder: Path) -> dict[str, str]:
    """Writes changed copies: licence header, renamed variable, other indentation, a function left out."""
    changes = {
        "licensed": lambda text: "# Copyright somebody\n# All rights reserved\n\n" + text,
        "renamed": lambda text: re.sub(r"\bproblems\b", "trouble", text, count=3),
        "tabs": lambda text: text.replace("    ", "\t"),
        "shorter": lambda text: text[: text.rindex("\n\n\n")] if text.count("\n\n\n") > 3 else text + "\n",
    }
    draw, made = random.Random(4), {}
    originals = sorted(path for path in folder.rglob("*.py") if path.stat().st_size > 4000)
    for name, change in changes.items():
        original = draw.choice(originals)
        originals.remove(original)
        target = folder / "vendor" / f"{name}.py"
        target.parent.mkdir(exist_ok=True)
        target.write_text(change(original.read_text()))
        made[str(target.relative_to(folder))] = str(original.relative_to(folder))
    return made


def test_the_preset_finds_known_copies_and_nothing_else(folder):
    made = copies(folder)
    pairs = neardup.pairs(str(folder), preset="code", threads=1).to_pylist()
    found = {frozenset((pair["left"], pair["right"])) for pair in pairs}
    assert found == {frozenset(pair) for pair in made.items()}


def test_indentation_is_no_difference_and_operators_are():
    def similarity(left: str, right: str, **options) -> float:
        return neardup.compare(left, right, **options).similarity

    code = "def add(a_first, b):\n    return a_first + b * (b - 1)\n"
    assert similarity(code, code.replace("    ", "\t"), preset="code") == 1.0
    assert similarity(code, code.replace("*", "/"), preset="code") < 1.0
    assert similarity(code, code.replace("*", "/"), tokens="words") == 1.0
    assert similarity(code, code.replace("a_first", "a first"), preset="code") < 1.0


def test_suffixes_of_languages_are_known(tmp_path):
    for suffix in CODE:
        assert SUFFIXES[suffix] == "text"
        (tmp_path / f"a{suffix}").write_text("x = 1")
    assert open_inputs([str(tmp_path)])[0].rows == len(CODE)
