"""Nothing that is read from a file is run: no pickle, no eval, no module loaded by a name from elsewhere."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "neardup"
FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "shelve",
    "marshal",
    "joblib",
    "yaml",
    "xmlrpc",
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
# Modules that are loaded by a name: each takes it from our own files or from a fixed table.
BY_NAME = {
    "__init__.py", "cli/__init__.py", "cli/support/show.py", "evaluate/packages.py", "evaluate/studies/registry.py",
    "kernels/__init__.py", "plan_json.py", "registry.py",
}  # fmt: skip


def calls(tree: ast.AST) -> set[str]:
    nodes = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def imports(tree: ast.AST) -> set[str]:
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in found}


def reads_pickled_arrays(tree: ast.AST) -> bool:
    return any(
        keyword.arg == "allow_pickle"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    )


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_code_comes_from_data(path):
    tree = ast.parse(path.read_text("utf-8"))
    name = path.relative_to(ROOT).as_posix()
    assert not imports(tree) & FORBIDDEN_MODULES
    assert not calls(tree) & FORBIDDEN_CALLS
    assert not reads_pickled_arrays(tree)
    if "import_module" in calls(tree):
        assert name in BY_NAME


def test_the_check_sees_what_it_forbids():
    tree = ast.parse("import pickle.x\nfrom yaml import load\neval('1')\nnp.load(f, allow_pickle=True)")
    assert imports(tree) == {"pickle", "yaml"} and "eval" in calls(tree) and reads_pickled_arrays(tree)
