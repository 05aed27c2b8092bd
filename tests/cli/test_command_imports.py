"""What a command imports before it works: nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ARTICLES = Path(__file__).parents[2] / "examples" / "articles.jsonl"
NEEDLESS = (
    "numba pandas scipy pydoc neardup.learn.model.file neardup.decisions.store neardup.candidates.contained "
    "neardup.candidates.decided neardup.engines.spark.session.start neardup.engines.core.person_decisions"
)


def test_a_run_imports_what_it_needs(tmp_path: Path) -> None:
    """Arrow's functions are there, without the tools that write their documentation."""
    words = ["neardup", "dedup", str(ARTICLES), "-o", str(tmp_path / "out"), "--force"]
    code = (
        f"import sys; sys.argv = {words!r}\n"
        "from neardup.cli import main\n"
        "main()\n"
        f"print('needless:', [name for name in {NEEDLESS.split()!r} if name in sys.modules])\n"
        "import pyarrow, pyarrow.compute as pc\n"
        "print('sum:', pc.sum(pyarrow.array([1, 2])), pc.round(2.345, ndigits=2))"
    )
    for _ in range(2):  # the first one may compile kernels
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "needless: []" in done.stdout, done.stdout + done.stderr
    assert "sum: 3 2.3" in done.stdout, done.stderr
