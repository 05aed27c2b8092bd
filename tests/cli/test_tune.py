"""neardup tune, as a user calls it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from neardup.candidates.curve import Bands, choose_bands, cost
from neardup.cli import group, main
from neardup.evaluate.labels import Truth
from neardup.evaluate.recommendation import unlabelled_influence
from neardup.evaluate.removals import OutcomeScores
from neardup.registry import get_method, presets

EXAMPLES = str(Path(__file__).parents[2] / "examples" / "articles.jsonl")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(group, ["tune", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def tuned(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error of a run that ends with exit code 2."""
    with pytest.raises(SystemExit) as stop:
        main(["tune", *arguments])
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert not printed.out
    assert printed.err.count("\n") == 1
    return printed.err


def test_the_default_is_explained() -> None:
    printed, shape = run().output, choose_bands(0.7)
    found = f"{shape.probability(0.7):.2%}"
    assert printed.startswith(f"{shape.bands} bands × {shape.rows} rows = {shape.slots} min-hashes\n")
    assert "Reason: the least expected work for a recall of 0.99 at similarity 0.7." in printed
    assert f"Recall: {found} of the pairs at similarity 0.7, 50% at {shape.midpoint:.3f}." in printed
    assert "Warning" not in printed
    assert f"▸ 0.7    {found}" in printed
    assert f"{8 * shape.bands}.0 MB" in printed  # 8 bytes for each band of a million documents
    assert "▲ threshold" in printed
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("options", [{}, {"threshold": 0.9}, {"num_perm": 64}, {"rows": 3, "recall": 0.9}])
def test_it_shows_what_a_run_would_take(options: dict[str, Any]) -> None:
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    found, plan = tuned(*words), get_method("minhash").plan(**options)
    assert found["plan"] == plan.to_dict()
    assert (found["bands"], found["rows"]) == (plan.candidates.groups, plan.candidates.width)  # type: ignore[attr-defined]


def test_the_size_of_the_corpus_changes_the_cost_and_not_the_choice() -> None:
    small, large = tuned("--documents", "1000"), tuned("--documents", "100000000")
    assert (small["bands"], small["rows"]) == (large["bands"], large["rows"])
    assert large["cost"]["key_bytes"] == large["bands"] * 8 * 10**8
    assert large["cost"]["seconds"] == cost(Bands(large["bands"], large["rows"]), 10**8).seconds


def test_what_is_given_by_hand_wins_and_is_warned_about() -> None:
    printed = run("--bands", "5", "--rows", "10").output
    assert printed.startswith("5 bands × 10 rows = 50 min-hashes\nReason: given bands 5 and rows 10.\n")
    assert "Recall: 13.35% of the pairs at similarity 0.7" in printed
    assert "Warning: the recall is below the target of 0.99" in printed
    found = tuned("--bands", "5", "--rows", "10")
    assert found["enough"] is False
    assert found["recall"] == pytest.approx(1 - (1 - 0.7**10) ** 5)
    assert "Warning" not in run("--bands", "5", "--rows", "10", "--recall", "0.1").output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--num-perm", "100", "--rows", "7"], "given num-perm 100 and rows 7 (2 of 100 unused)"),
        (["--num-perm", "128"], "given num-perm 128, the bands for a recall of 0.99 at similarity 0.7"),
        (
            ["--rows", "300", "--threshold", "0.9"],
            "given rows 300, no bands reach a recall of 0.99",
        ),
        (["--num-hashes", "128"], "given num-perm 128"),
        (["--preset", "fineweb"], "given bands 14 and rows 8"),
        (["--preset", "datasketch", "--rows", "8"], "given num-perm 128 and rows 8"),
    ],
)
def test_reasons(arguments: list[str], reason: str) -> None:
    assert f"Reason: {reason}" in run(*arguments).output


@pytest.mark.parametrize("name", presets())
def test_every_preset_can_be_tuned(name: str) -> None:
    assert tuned("--preset", name)["threshold"] == presets(name)["threshold"]
    assert (
        tuned("--preset", name, "--method", presets(name)["method"], "--threshold", "0.5")["threshold"] == 0.5
    )


def test_json_has_the_table_the_interval_and_the_cost() -> None:
    found = tuned("--threshold", "0.85")
    shape = choose_bands(0.85)
    table = {row["similarity"]: row["recall"] for row in found["recall_at"]}
    assert list(table) == sorted(table)
    assert table[0.85] == found["recall"] == shape.probability(0.85) >= 0.99
    assert found["midpoint"] == shape.midpoint
    assert found["interval"][0] < 0.85 < found["interval"][1]
    assert found["standard_error"] == pytest.approx((0.85 * 0.15 / shape.slots) ** 0.5)
    assert found["cost"]["documents"] == 1_000_000


def test_the_plot_is_written_once(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run("--plot", "curve.svg").output.endswith("Curve written to curve.svg.\n")
    assert Path("curve.svg").read_text().startswith("<?xml")
    assert "curve.svg exists already: choose another output, or overwrite with --force" in refused(
        capsys, "--plot", "curve.svg"
    )
    run("--plot", "curve.svg", "--force")
    run("--plot", "curve.png", "--json")
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--threshold", "1.5"], "The option --threshold of minhash must be a number above 0"),
        (["--threshold", "0.001"], "The option --threshold of minhash must be at least 0.009"),
        (["--num-perm", "10", "--bands", "20"], "The option --num-perm of minhash must be at least"),
        (["--bands", "many"], "The option --bands of minhash must be a whole number"),
        (["--preset", "nobody"], "The option --preset must be one of 'fineweb'"),
        (["--documents", "0"], "Invalid value for '--documents'"),
        (["--plot", "curve.gif"], "curve.gif: a plot is written as .png, .svg, .pdf"),
        (["corpus.jsonl"], "INPUT corpus.jsonl needs labels: give them with --labels"),
    ],
)
def test_bad_options_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert sentence in refused(capsys, *arguments)


def test_it_starts_without_numba() -> None:
    code = "import sys; from neardup.cli import group; group.main(['tune'], standalone_mode=False)"
    check = f"{code}; assert not {{'numba', 'matplotlib', 'pandas'}} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert " bands × " in done.stdout
    assert "\x1b" not in done.stdout


# --- labels of a few documents ----------------------------------------------------------------------------------


def labels_of(folder: Path, *rows: str) -> str:
    path = folder / "labels.csv"
    path.write_text("\n".join(["id,cluster", *rows]) + "\n")
    return str(path)


def test_the_table_and_the_first_lines_say_the_same_of_partly_labelled_documents(tmp_path: Path) -> None:
    """Both are of the run, in which documents without a label take part."""
    rows = ("harbour,a", "harbour-corrected,a", "cheese,b", "vaccine,c", "vaccine-corrected,c")
    how = [EXAMPLES, "--labels", labels_of(tmp_path, *rows), "--try", "minhash"]
    printed = CliRunner().invoke(group, ["tune", *how]).output
    first = re.search(r"F1 (\d\.\d+)\n", printed)
    last = re.search(r"^minhash +\S+ +\w+ +\S+ +(\S+)% +(\S+)", printed, re.MULTILINE)
    assert first is not None and last is not None and first[1] == last[2]
    assert f"{last[1]}% of 2 duplicates removed" in printed
    found = tuned(*how)
    assert found["best"]["outcome"] == found["outcome"]


def test_documents_without_a_label_that_change_the_figures_are_named() -> None:
    truth = Truth(np.array([0, 0, 1, 1, -1, -1]), names=("x", "y"))
    alone = OutcomeScores(4, 2, 0, 2, 0, found=4, true=4, positives=4)
    among = OutcomeScores(4, 2, 0, 1, 0, found=2, true=2, positives=4)
    assert unlabelled_influence(truth, alone, among) == (
        "2 of 6 documents have no label and take part in the run: the labelled ones alone have an F1 of 1.000 with "
        "these settings, among the others 0.667"
    )
    assert unlabelled_influence(truth, alone, alone) is None
    everything = Truth(np.array([0, 0, 1, 1]), names=("x", "y"))
    assert unlabelled_influence(everything, alone, among) is None, "another reason"


def test_labels_with_one_cluster_of_near_duplicates_are_refused(tmp_path: Path) -> None:
    rows = ("harbour,a", "harbour-corrected,a", "cheese,b")
    done = CliRunner().invoke(
        group, ["tune", EXAMPLES, "--labels", labels_of(tmp_path, *rows)], standalone_mode=False
    )
    assert "1 labelled cluster has two or more documents, and a choice needs at least 2" in str(
        done.exception
    )


@pytest.mark.parametrize("signature", ["bits", "minhash"])
def test_signatures_that_decide_have_a_curve(signature: str) -> None:
    options = ("--method", "andd", "--verify", "signatures", "--signature", signature, "--num-perm", "80")
    printed = run(*options, "--plot", "curve.svg").output
    assert (
        "Standard error at the threshold of 0.65: 0.05" in printed and "Curve written to curve.svg" in printed
    )
    assert "probability that a pair is found, and passes by its signatures" in printed
    assert "standard error" in Path("curve.svg").read_text(encoding="utf-8")
    found = tuned(*options)
    assert found["bytes"] == (48 if signature == "bits" else 4 * found["size"])
    shares = [row["decided"] for row in found["curve"]]
    assert shares == sorted(shares) and shares[0] < 1e-6 and shares[-1] == pytest.approx(1)
    assert all(row["decided"] <= row["candidate"] + 1e-9 for row in found["curve"])


def test_choices_are_scored_on_later_documents_where_they_have_dates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(5)
    rows, labels = [], []
    for n in range(144):
        words = " ".join(f"w{n // 3}x{k}" for k in rng.integers(0, 9, 12))
        rows.append({"id": n, "date": f"2024-{1 + n // 12:02}-11", "text": words})
        labels.append(f"{n},c{n // 3}")
    Path("mail.jsonl").write_text("\n".join(map(json.dumps, rows)))
    how = ["mail.jsonl", "--labels", labels_of(tmp_path, *labels), "--try", "minhash:ngram=1"]
    assert tuned(*how)["held_out"]["by_time"] and tuned(*how)["held_out"]["halves"] == 4
    assert (
        "expected of later documents, from 4 blocks of time with the choices of earlier clusters"
        in run(*how).stdout
    )
    assert not tuned(*how, "--time-column", "none")["held_out"]["by_time"]
    assert "no column 'sent'" in refused(capsys, *how, "--time-column", "sent")
