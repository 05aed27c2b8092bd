"""Help that is true: groups on a page and a half, each method's own defaults, options refused by their methods."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click
import pytest

import neardup
from neardup.cli import group, main
from neardup.cli.support.groups import GROUPS, GroupedCommand
from neardup.cli.support.method_options import MethodCommand
from neardup.errors import UnknownParameter
from neardup.plurals import counted, listed_names
from neardup.registry import ALIASES, methods, presets

WIDTH = {**group.context_settings, "terminal_width": 100, "max_content_width": 100}
PUBLIC = ("dedup", "pairs", "compare", "make_plan", "evaluation", "train_model", "gram_feature")


def commands(parent: click.Group = group, above: click.Context | None = None) -> Iterator[click.Context]:
    """Every command and subcommand, in a context of its own."""
    above = above or click.Context(group, info_name="neardup", **WIDTH)
    for name in parent.list_commands(above):
        command = parent.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=above, **WIDTH)
        yield context
        if isinstance(command, click.Group):
            yield from commands(command, context)


ALL = {context.command_path.removeprefix("neardup "): context for context in commands()}
WITH_METHODS = [name for name, context in ALL.items() if isinstance(context.command, MethodCommand)]


def help_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str, ask: str = "--help"
) -> str:
    monkeypatch.setenv("COLUMNS", "100")
    main([*arguments, ask])
    return capsys.readouterr().out


def sections(text: str) -> dict[str, dict[str, str]]:
    """The options of each group with their help, in one line each."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if re.fullmatch(r"\w.*:", line):
            options = found.setdefault(line[:-1], {})
        elif option := re.match(r"  (-[^ ].*?)(?:  +(.*))?$", line):
            name = option[1]
            options[name] = option[2] or ""
        elif line.startswith("      ") and found:
            options[name] += " " + line.strip()
    return found


# --- the common help ---------------------------------------------------------------------------------------------


def test_dedup_shows_the_common_options_on_a_page_and_a_half(capsys, monkeypatch) -> None:
    text = help_of(capsys, monkeypatch, "dedup")
    assert len(text.splitlines()) <= 75
    assert list(sections(text)) == ["Input", "Method", "Decision", "Output", "Resources", "Engine"]
    own = {flag for one in methods().values() for p in one.parameters.values() for flag in p.flags}
    shown = {
        flag
        for options in sections(text).values()
        for option in options
        for flag in re.findall(r"--[\w-]+", option)
    }
    assert shown & own == {"--threshold"}


@pytest.mark.parametrize("name", WITH_METHODS)
def test_help_all_shows_every_option(capsys, monkeypatch, name: str) -> None:
    few = help_of(capsys, monkeypatch, *name.split())
    whole = help_of(capsys, monkeypatch, *name.split(), ask="--help-all")
    flags = {flag for one in ALL[name].command.params for flag in one.opts if flag.startswith("--")}
    assert flags <= set(re.findall(r"--[\w-]+", whole))
    left_out = flags - set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", few, re.MULTILINE))
    assert f"Show these options and {len(left_out)} more." in few


def test_help_all_shows_a_method_too(capsys, monkeypatch) -> None:
    text = help_of(capsys, monkeypatch, "dedup", "--method", "simhash", ask="--help-all")
    assert "Options of simhash:" in text and "--checkpoint" in text


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_an_example_and_groups_that_we_know(name: str) -> None:
    command, text = ALL[name].command, ALL[name].command.get_help(ALL[name])
    assert re.search(rf"Examples?:\n(    neardup .*\n)*    neardup {name} ?", text), (
        f"the help of {name} has no example"
    )
    assert max(map(len, text.splitlines())) <= 120 and len(text.splitlines()) <= 110
    if isinstance(command, GroupedCommand):
        groups = [getattr(one, "group", "Options") for one in command.get_params(ALL[name])]
        assert set(groups) <= set(GROUPS)


@pytest.mark.parametrize("command", ["dedup", "pairs", "sample", "track", "evaluate", "methods", "compare"])
def test_help_loads_nothing_that_computes(command: str) -> None:
    code = "import sys; from neardup.cli import main; main(sys.argv[1:])"
    words = [sys.executable, "-X", "importtime", "-c", code, command, "--help"]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    names = {line.rpartition("|")[2].strip() for line in loaded.splitlines()}
    assert not names & {"numba", "numpy", "pyarrow", "neardup.registry"}


# --- a method's own help -----------------------------------------------------------------------------------------


def default_of(text: str) -> str | None:
    found = re.search(r"\[default: (.*?)\]", text)
    return found[1] if found else None


def choices_of(hint: Any) -> set[str]:
    """The literals in an annotation."""
    if (
        get_origin(hint) is not None
        and get_args(hint)
        and all(isinstance(one, str) for one in get_args(hint))
    ):
        return set(get_args(hint))
    return {one for part in get_args(hint) for one in choices_of(part)}


@pytest.mark.parametrize("name", methods())
def test_a_methods_help_has_the_defaults_and_choices_of_its_signature(capsys, monkeypatch, name: str) -> None:
    method = methods()[name]
    shown = sections(help_of(capsys, monkeypatch, "dedup", "--method", name))
    own = {option.split()[0]: (option, text) for option, text in shown.pop(f"Options of {name}").items()}
    assert not set(own) & {option.split()[0] for options in shown.values() for option in options}
    signature = inspect.signature(method.build).parameters
    assert [flag[2:].replace("-", "_") for flag in own] == list(signature)
    hints = get_type_hints(method.build, include_extras=True)
    for parameter in signature.values():
        option, text = own["--" + parameter.name.replace("_", "-")]
        assert default_of(text) == (None if parameter.default is None else str(parameter.default)), option
        choices = choices_of(hints[parameter.name])
        assert not choices or set(option.split()[1].split("|")) == choices
        if parameter.default is None:
            assert "unless" in text.lower(), f"{option}: what happens unless it is given?"


def test_the_options_of_a_method_follow_its_choice(capsys, monkeypatch) -> None:
    shown = list(sections(help_of(capsys, monkeypatch, "dedup", "--method", "simhash")))
    assert shown[shown.index("Method") + 1] == "Options of simhash"


@pytest.mark.parametrize("name", methods())
def test_neardup_methods_describes_the_same_options(capsys, name: str) -> None:
    main(["methods", name])
    printed = capsys.readouterr().out
    for parameter in methods()[name].parameters.values():
        default = "" if parameter.default is None else f" (default: {parameter.default})"
        constraint = parameter.constraint.removesuffix(" or None")
        assert f"  {parameter.flags[0]}  {constraint}{default}\n" in printed


def test_a_preset_and_a_model_choose_the_method(capsys, monkeypatch) -> None:
    for preset, options in presets().items():
        assert f"Options of {options['method']}:" in help_of(capsys, monkeypatch, "dedup", "--preset", preset)
    assert "Options of andd:" in help_of(capsys, monkeypatch, "pairs", "--model", "model.json")
    text = help_of(capsys, monkeypatch, "dedup", "--preset=fineweb", "--method=simhash")
    assert "Options of simhash:" in text


@pytest.mark.parametrize("name", WITH_METHODS)
def test_every_command_with_methods_has_their_help(capsys, monkeypatch, name: str) -> None:
    default = ALL[name].command.default_method  # type: ignore[attr-defined]
    text = help_of(capsys, monkeypatch, *name.split(), "--method", default)
    assert f"Options of {default}:" in text and f"[default: {default}]" in text
    assert len(help_of(capsys, monkeypatch, *name.split())) < len(text)


# --- options that a method does not have ---------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", methods())
def test_an_option_of_another_method_is_refused_by_the_methods_that_have_it(capsys, name: str) -> None:
    others = {p.name for one in methods().values() for p in one.parameters.values()}
    for option in sorted(others - set(methods()[name].parameters)):
        owners = [one.name for one in methods().values() if option in one.parameters]
        verb = "has" if len(owners) == 1 else "have"
        flag = "--" + option.replace("_", "-")
        message = refused(capsys, "dedup", "x", "-o", "y", "--method", name, flag, "1")
        hint = f"{listed_names(owners)} {verb} it."
        assert message == f"neardup: The method {name} has no option {flag}: {hint}\n"
        sentence = f"The method {name} has no parameter '{option}': {hint}"
        with pytest.raises(UnknownParameter, match=re.escape(sentence)):
            neardup.make_plan(name, **{option: 1})


def test_an_option_of_no_method_is_answered_with_what_is_like_it(capsys) -> None:
    message = refused(capsys, "dedup", "x", "-o", "y", "--treshold", "1")
    assert "No such option '--treshold'" in message and "--threshold" in message
    with pytest.raises(
        UnknownParameter,
        match="The method minhash has no parameter 'treshold': its parameters are bands, ngram",
    ):
        neardup.make_plan(treshold=1)


def test_names_of_other_tools_are_accepted_and_not_shown(capsys, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.jsonl").write_text('{"id": "a", "text": "one two three"}\n')
    text = help_of(capsys, monkeypatch, "dedup", "--method", "minhash")
    values = {"num_perm": "64", "bands": "8", "rows": "8", "ngram": "3", "threshold": "0.8"}
    for other, ours in ALIASES.items():
        if len(other) > 1:
            flag = "--" + other.replace("_", "-")
            assert flag not in text
            assert (
                "chosen"
                in ALL["dedup"].command.make_context("dedup", ["x", "-o", "y", flag, values[ours]]).params
            )


# --- choosing a method, and the library ------------------------------------------------------------------------------


def test_neardup_methods_is_a_table_to_choose_from(capsys) -> None:
    main(["methods"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["method", "for", "threshold", "finds", "pairs", "speed"]
    for line, method in zip(lines[1:], methods().values(), strict=False):
        assert line.startswith(method.name + " ") and method.use in line and line.endswith(method.speed)
        assert len(line) <= 110 and len(method.use) <= 60
        if method.threshold is not None:
            assert method.threshold == method.plan().threshold
            assert f" {method.threshold:.3g} " in line
    assert "fineweb" in lines[-1]


def test_methods_without_a_seed_find_every_pair() -> None:
    assert all(method.exact for method in methods().values() if "seed" not in method.parameters)


def test_list_methods_prints_a_table_and_iterates_over_names() -> None:
    listed = neardup.list_methods()
    assert repr(listed).splitlines()[1].startswith("minhash  ")
    assert list(listed) == list(methods()) and listed["simhash"].speed == "fast"


@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_of_a_public_function_describes_every_parameter(name: str) -> None:
    function = getattr(neardup, name)
    described = re.findall(
        r"^    (\w+): \S", (inspect.getdoc(function) or "").partition("Args:\n")[2], re.MULTILINE
    )
    assert described == list(inspect.signature(function).parameters)


def test_the_package_has_types() -> None:
    assert (Path(neardup.__file__).parent / "py.typed").exists()


def test_a_result_is_a_table_in_a_notebook() -> None:
    rows = {
        "id": ["<b>&1", "two", "three"],
        "text": ["a b c d e f", "a b c d e f", "another text of some words"],
    }
    pyarrow = pytest.importorskip("pyarrow")
    html = neardup.dedup(pyarrow.table(rows))._repr_html_()
    assert html.startswith('<div class="neardup">') and html.endswith("</div>")
    assert '<th scope="row">documents</th><td>3</td>' in html
    assert (
        '<th scope="row">cluster led by &lt;b&gt;&amp;1</th><td>2 documents</td>' in html
        and "<b>" not in html
    )


def test_numbers_agree_with_their_nouns() -> None:
    shown = [
        counted(*one)
        for one in [(1, "bit"), (0, "day"), (2000, "copy"), (1.0, "day"), (0.5, "day"), (3, "match")]
    ]
    assert shown == ["1 bit", "0 days", "2,000 copies", "1 day", "0.5 days", "3 matches"]
    assert (listed_names("a"), listed_names("abc")) == ("a", "a, b and c")


def test_json_of_the_methods_has_what_the_table_has(capsys) -> None:
    main(["methods", "--json"])
    for row in json.loads(capsys.readouterr().out):
        method = methods()[row["name"]]
        assert (row["use"], row["speed"], row["exact"], row["threshold"]) == (
            method.use, method.speed, method.exact, method.threshold,
        )  # fmt: skip
