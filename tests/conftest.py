"""How the suite runs: the same examples each time; NEARDUP_EXAMPLES=5000 tries more than the usual 30.

With NUMBA_DISABLE_JIT=1 the kernels are plain Python, where integers of fixed width warn when they wrap.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# The threads of OpenBLAS spin while they wait, and other workers need the processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sentences import overlapping

STORIES = overlapping(random.Random(1), 5)

settings.register_profile(
    "neardup",
    max_examples=int(os.environ.get("NEARDUP_EXAMPLES", "30")),
    derandomize=True,
    database=None,
    deadline=None,  # the first call of a kernel compiles it
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("neardup")

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    np.seterr(over="ignore")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compiles the kernels once, before workers start: a command that compiles says so, and no test expects it."""
    worker = hasattr(session.config, "workerinput")
    if worker or session.config.option.collectonly or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    folder = Path(find_spec("neardup").origin).parent / "kernels"
    stamp = folder / "__pycache__" / f"compiled-{sys.implementation.cache_tag}-numba-{version('numba')}"
    if not stamp.exists() or stamp.stat().st_mtime < max(map(changed, folder.glob("*.py"))):
        run_every_method()
        stamp.touch()


def changed(path: Path) -> float:
    return path.stat().st_mtime


def run_every_method() -> None:
    """Calls the kernels of a usual run with the types that Numba compiles them for; other processes load them."""
    import neardup
    from neardup.registry import methods

    texts = [
        "one two three four five six",
        "one two three four five seven",
        "one two three four five six",
        "",
    ]
    neardup.dedup(texts, threshold=0.2).rethreshold(0.9)
    neardup.dedup(texts, threshold=0.2, pairs="all", clusters="leaders")
    neardup.dedup(texts, threshold=0.2, clusters="average")
    neardup.compare(texts[0], texts[1])
    for name in methods():
        neardup.dedup([*STORIES, STORIES[0].upper(), ""], method=name)
    with tempfile.TemporaryDirectory() as folder, neardup.Index(f"{folder}/i", method="minhash") as index:
        index.add([{"id": str(k), "text": text} for k, text in enumerate(STORIES)])
        index.compact()
        index.query(STORIES[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker more than processors: some wait for a JVM, for servers and for other processes that they started."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


# Scopes that take longest on a machine that does nothing else, the longest first: they start first, so that no worker
# is left with one at the end. The others follow by their number of tests. `--durations=0` shows what belongs here.
LONGEST = (
    "spark", "service/test_abuse.py", "service/test_trouble.py", "service/test_postgres.py", "index/test_truth.py",
    "cli/test_main.py", "engine/test_battery.py", "quality/test_floors.py", "index/test_index_command.py",
    "cli/test_evaluate.py", "fuzz/test_fuzz.py", "test_examples.py", "index/test_several_processes.py",
    "service/test_service_docs.py", "service/test_service_kills.py", "service/test_start.py",
    "pages/test_pages_browser.py", "cli/test_help_examples.py", "kernels/test_tokens.py", "learn/test_learning.py",
    "index/crashes/test_states.py", "index/crashes/test_faults.py", "documents/test_defects.py",
    "kernels/test_quick_kernels.py", "hardening/test_faults.py", "cli/test_learn.py",
    "studio/test_studio_label_browser.py", "studio/test_studio_browser.py", "hardening/test_checked_files.py",
    "learn/test_times.py", "remote/test_google.py", "hardening/test_linear_time.py",
)  # fmt: skip


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives a worker of `make test` whole files, whose fixtures are then made once, and one worker all of Spark.

    A second worker with tests of Spark would start a second JVM. The long matrix is spread test by test.
    """
    if config.option.markexpr != "not slow":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class WholeFiles(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            return "spark" if "/spark/" in file else file.removeprefix("tests/")

        def _assign_work_unit(self, node: Any) -> None:
            for scope in reversed(LONGEST):
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return WholeFiles(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves one case for each value of what `@pytest.mark.cut` names to `make test`, and marks the others slow.

    The next value gets the next case, so that the cases that stay have every value of the other parameters too.
    """
    matrices: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        for marker in item.iter_markers("cut"):
            values = repr([item.callspec.params[name] for name in marker.args])
            matrices.setdefault(item.nodeid.split("[")[0], {}).setdefault(values, []).append(item)
    for matrix in matrices.values():
        for number, cases in enumerate(matrix.values()):
            start = cases[0].get_closest_marker("cut").kwargs.get("start", 0)
            stays = cases[(number + start) % len(cases)]
            for case in cases:
                if case is not stays:
                    case.add_marker("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says at the end what was skipped and why, the most frequent reason first."""
    reports = terminalreporter.stats.get("skipped", [])
    if not reports:
        return
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    terminalreporter.section(f"{len(reports)} skipped", sep="-")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:>5}  {reason}")
