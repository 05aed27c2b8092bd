"""The examples of docs/service.md: commands whose answers are as shown, Python that runs, a unit that systemd takes."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from serving import Serving, make_index, story

import neardup
from neardup.cli import group
from neardup.cli.serve import command
from neardup.service import models
from neardup.service.problems import TITLES
from neardup.service.settings import RequestLimits
from neardup.service.tokens import new_token

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8484"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The indented commands of the page."""
    lines = re.findall(r"^    (neardup .*)$", PAGE, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("docs")
    build = next(words for words in commands() if words[1:3] == ["index", "build"])
    (folder / "examples").symlink_to(ROOT / "examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        group.main(build[1:], standalone_mode=False)
    made = Serving(folder / build[3])
    yield made
    assert made.stop() == 0


def test_commands_answer_as_shown(server: Serving) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    (shown,) = blocks("console")
    pairs = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE)
    assert len(pairs) >= 5
    for line, answer in pairs:
        done = subprocess.run(
            ["bash", "-c", line.replace(ADDRESS, server.url)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == answer.strip(), line


def test_the_python_example_runs(server: Serving) -> None:
    (code,) = blocks("python")
    assert ADDRESS in code and "ndt_…" in code
    code = code.replace(ADDRESS, server.url).replace("ndt_…", "ndt_unused")  # the server has no tokens
    exec(compile(code, "example", "exec"), {"neardup": neardup})


def test_every_command_can_be_typed(tmp_path: Path) -> None:
    served = [words for words in commands() if words[1] == "serve"]
    assert len(served) >= 5
    for words in served:
        command.make_context("serve", words[2:])


def test_every_limit_and_problem_is_listed() -> None:
    options = {parameter.opts[0] for parameter in command.params if isinstance(parameter, click.Option)}
    named = set(re.findall(r"`(--[a-z-]+)", PAGE))
    theirs = {"--group", "--scope", "--strict"}
    assert named - options <= theirs
    assert {option for option in options if option.startswith("--max")} <= named
    limits = PAGE.partition("## Limits")[2].partition("## Tokens")[0]
    assert set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", limits)) <= TITLES.keys()
    assert f"{RequestLimits.connections:,}" in PAGE and f"--max-queue` {RequestLimits.queue}" in PAGE


def unit() -> configparser.SectionProxy:
    read = configparser.ConfigParser()
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(blocks("ini")[0])
    return read["Service"]


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    words = shlex.split(unit()["ExecStart"])
    assert words[1] == "serve" and command.make_context("serve", words[2:])
    assert words[2].startswith(unit()["ReadWritePaths"] + "/")
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    path = tmp_path / "neardup.service"
    path.write_text(blocks("ini")[0].replace(words[0], shutil.which("true") or "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if "neardup.service" in line]
    assert not said and done.returncode == 0, done.stderr


SANDBOX = """mount --make-rprivate / && mount --bind "$1" /srv && mount -t tmpfs none /var/cache &&
    mkdir "/var/cache/$2" && mount -o remount,bind,ro / && mount -t tmpfs none /tmp && shift 2 && exec "$@"
"""


@pytest.mark.slow
def test_a_server_runs_in_the_sandbox_of_the_unit(tmp_path: Path) -> None:
    """ProtectSystem=strict: everything is read-only but the index, the cache and a /tmp of its own."""
    given = unit()
    assert given["ProtectSystem"] == "strict" and given["PrivateTmp"] == "yes"
    index = make_index(tmp_path / "news.index", [{"id": "a", "text": story(1)}])
    begin = ["unshare", "--mount", "--map-root-user", "sh", "-c", SANDBOX, "sh"]
    tried = subprocess.run([*begin, index, given["CacheDirectory"], "true"], capture_output=True)
    if not shutil.which("unshare") or tried.returncode:
        pytest.skip("this machine gives no file system of its own to a process")
    name, _, value = given["Environment"].partition("=")
    environment = {name: value, "HOME": "/nonexistent"}
    server = Serving("/srv", before=[*begin, str(index), given["CacheDirectory"]], environment=environment)
    assert server.post("/v1/query", {"text": story(1)}).json()["results"][0]["matches"][0]["id"] == "a"
    lines = server.lines("/v1/query", [{"id": n, "text": story(1)} for n in range(15_000)])  # beyond memory
    assert lines[-1] == {"counts": {"answered": 15_000}}
    assert server.post("/v1/documents", {"id": "b", "text": story(2)}).status_code == 200
    assert server.stop() == 0 and not server.events("bug")


def test_every_example_of_the_models_fits() -> None:
    tried = 0
    for model in vars(models).values():
        if isinstance(model, type) and issubclass(model, models.Strict):
            for name, field in model.model_fields.items():
                for example in field.examples or ():
                    model.__pydantic_validator__.validate_assignment(model.model_construct(), name, example)
                    tried += 1
    assert tried >= 5


def test_dependencies_have_lower_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for names in (project["dependencies"], *project["optional-dependencies"].values()):
        for one in names:
            assert one.startswith("neardup[") or ">=" in one, one


def test_a_restored_backup_answers(tmp_path: Path) -> None:
    """Backup and restore as the page says: the database copied while the service runs, put into an empty folder."""
    if not shutil.which("sqlite3"):
        pytest.skip("sqlite3 is not installed")
    index = make_index(tmp_path / "news.index", [{"id": f"{n}", "text": story(n)} for n in range(20)])
    token = new_token(index / "tokens.json", "one", ["read", "write"])
    server = Serving(index, token=token)
    assert server.post("/v1/documents", {"id": "late", "text": story(50)}).status_code == 200
    (line,) = re.findall(r"`(sqlite3 [^`]*)`", PAGE)
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True)
    assert server.stop() == 0
    restored = tmp_path / "restored.index"
    restored.mkdir()
    shutil.copy(tmp_path / "copy.db", restored / "truth.db")
    shutil.copy(index / "tokens.json", restored)
    again = Serving(restored, token=token)
    for name, seed in (("7", 7), ("late", 50)):
        found = again.post("/v1/query", {"text": story(seed)}).json()["results"][0]["matches"]
        assert [match["id"] for match in found] == [name]
    assert again.post("/v1/documents", {"id": "new", "text": story(60)}).status_code == 200
    assert again.stop() == 0
