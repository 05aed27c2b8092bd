"""What must hold for every method that is registered, whatever its stages are.

A method added under methods/ is tested by being there: here its plans, its options and its stages up to the keys
(or up to the features, where candidates come from them),
in engine/test_battery.py whole runs.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from neardup.columns import Features, Texts, Tokens, make_distinct
from neardup.errors import ParameterError, PlanError
from neardup.features.shingles import Shingles
from neardup.plan import Plan, View, stage_json
from neardup.registry import ALIASES, Method, Parameter, methods, presets
from neardup.statistics import Statistics, count_features
from sentences import overlapping

every_method = pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.name)

LONG = " ".join(f"word{number % 37} and{number % 11}" for number in range(200))
STORIES = overlapping(random.Random(4), 7)
NO_TOKEN = ["", " ", "\n\u2028\t", "...!?", "\u00ad\u200d\ufe0f", "\0\0"]
DOCUMENTS = [
    "",
    "one",
    "One two three four five six seven.",
    *NO_TOKEN,
    "one two three four five six SEVEN",
    "中文没有空格的文字也可以比较",
    "cafe\u0301 creme bru\u0302le\u0301e is not NFC",
    "well done 👍",
    LONG,
    "",
    LONG + " and a line more",
    "one",
    None,
    *STORIES,
]
EXPECTED_TOKENS = [bool(text) and text not in NO_TOKEN for text in DOCUMENTS]


# Plans


# Options that are texts, with something else that they can mean.
MODEL = str(Path(__file__).with_name("model.json"))
MEANINGS = {
    "antecedents": ["is", "is(3,1), that"],
    "stopwords": ["de", ("the", "of")],
    "model": [MODEL],
    "weights": ["tf", "tfidf, low(0.01)"],
    "fields": ["title"],
    "reserve": ["title:4"],
    "stem": ["english"],
}


def others(parameter: Parameter) -> list[Any]:
    """Values that are allowed and are not the default."""
    if parameter.choices:
        values: list[Any] = list(parameter.choices)
    elif parameter.kind is str:
        values = list(MEANINGS[parameter.name])
    else:
        values = {bool: [True, False], float: [0.5, 0.25, 0.9], int: [3, 17, 2]}[parameter.kind]
        values = [value for value in values if parameter.range is None or parameter.range.admits(value)]
    return [value for value in values if value != parameter.default]


def allowed(method: Method, options: dict[str, Any]) -> Plan | None:
    try:
        return method.plan(**options)
    except ParameterError:
        return None


@cache
def change(name: str, option: str) -> dict[str, Any]:
    """Options of a method that mean something else without one of them: that one alone if it can be, otherwise
    together with another that it depends on."""
    method = methods()[name]
    alone: list[dict[str, Any]] = [{}]
    pairs = [{x: value} for x, p in method.parameters.items() if x != option for value in others(p)]
    for before in alone + pairs:
        plan = allowed(method, before)
        for value in others(method.parameters[option]) if plan else []:
            changed = allowed(method, {**before, option: value})
            if changed and plan and changed.digest != plan.digest:
                return {**before, option: value}
    raise AssertionError(f"{option} of {name} never changes the plan")


def changed_plans(method: Method) -> dict[str, Plan]:
    """The default plan, and one with each option changed."""
    changed = {option: method.plan(**change(method.name, option)) for option in method.parameters}
    return {"default": method.plan(), **changed}


@every_method
def test_a_plan_survives_its_journey_through_json(method: Method) -> None:
    for plan in changed_plans(method).values():
        again = Plan.from_json(plan.to_json())
        assert again == plan
        assert (again.to_json(), again.digest) == (plan.to_json(), plan.digest)
        assert hash(again) == hash(plan)


@every_method
def test_every_option_changes_the_digest(method: Method) -> None:
    plans = changed_plans(method)
    default = plans.pop("default")
    assert all(plan.digest != default.digest for plan in plans.values())


@every_method
def test_the_plan_names_its_method_and_nothing_but_stages_of_ours(method: Method) -> None:
    plan = method.plan()
    assert plan.method == method.name
    assert json.loads(plan.to_json())["stage"] == "plan.Plan"


def test_digests_are_the_same_in_every_process() -> None:
    script = "from neardup.registry import methods; print(*(m.plan().digest for m in methods().values()))"
    expected = [method.plan().digest for method in methods().values()]
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == expected


def stages_in(value: Any) -> list[dict[str, Any]]:
    """Every stage of a decoded plan, the innermost first."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    found = [stage for item in inner for stage in stages_in(item)]
    return [*found, value] if isinstance(value, dict) else found


@every_method
@pytest.mark.parametrize(
    "name", ["text.words.Sentences", "text.nowhere.Words", "os.path", "builtins.dict", "", None, 7]
)
def test_a_plan_with_a_stage_that_we_do_not_have_is_refused(method: Method, name: object) -> None:
    count = len(stages_in(json.loads(method.plan().to_json())))
    assert count >= 5
    for place in range(count):
        raw = json.loads(method.plan().to_json())
        stages_in(raw)[place]["stage"] = name
        with pytest.raises(PlanError):
            Plan.from_json(json.dumps(raw))


@every_method
def test_a_stage_with_a_field_that_it_does_not_have_is_refused(method: Method) -> None:
    for place in range(len(stages_in(json.loads(method.plan().to_json())))):
        raw = json.loads(method.plan().to_json())
        stages_in(raw)[place]["colour"] = "red"
        with pytest.raises(PlanError, match="colour"):
            Plan.from_json(json.dumps(raw))


@every_method
def test_a_stage_without_a_field_that_it_needs_is_refused(method: Method) -> None:
    raw = json.loads(method.plan().to_json())
    del raw["threshold"]
    with pytest.raises(PlanError, match="incomplete"):
        Plan.from_json(json.dumps(raw))


@pytest.mark.parametrize(
    "text", ["", "{", "null", "7", "[]", '"plan"', "{}", '{"format": 1}', '{"format": 99}']
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        Plan.from_json(text)


def test_a_stage_is_no_plan() -> None:
    with pytest.raises(PlanError, match="outermost"):
        Plan.from_json('{"format": 1, "stage": "text.words.Words", "tokens": "words"}')


# Options


@every_method
def test_an_unknown_option_is_refused_with_the_names_of_those_there_are(method: Method) -> None:
    with pytest.raises(ParameterError, match="its parameters are") as refused:
        method.plan(treshold=0.8)
    assert all(name in str(refused.value) for name in method.parameters)


@every_method
def test_a_value_that_does_not_fit_is_refused_by_name(method: Method) -> None:
    for name, parameter in method.parameters.items():
        unfit = 1 if parameter.kind is str else "x"
        with pytest.raises(ParameterError, match=f"'{name}' parameter of {method.name}"):
            method.plan(**{name: unfit})
        if parameter.kind in (int, float):
            with pytest.raises(ParameterError):
                method.plan(**{name: True})


@every_method
def test_every_option_says_what_it_does(method: Method) -> None:
    assert method.summary
    assert all(parameter.help for parameter in method.parameters.values())


@every_method
def test_names_of_other_tools_mean_the_same(method: Method) -> None:
    for alias, name in ALIASES.items():
        if name in method.parameters:
            options = change(method.name, name)
            renamed = {alias if key == name else key: value for key, value in options.items()}
            assert method.plan(**renamed) == method.plan(**options)


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_a_plan(name: str) -> None:
    options = dict(presets(name))
    plan = methods()[options.pop("method")].plan(**options)
    assert plan.threshold == options.get("threshold", plan.threshold)


# From texts to keys, or to the features that are joined


def read(documents: list[str | None]) -> Texts:
    """Texts over read-only memory, not from its beginning."""
    return Texts.from_arrow(pa.array(["before", *documents, "after"], pa.string())[1:-1])


def freeze(*arrays: NDArray[Any]) -> None:
    for array in arrays:
        array.flags.writeable = False


@dataclass(frozen=True)
class Seen:
    """What a plan sees in some documents."""

    present: NDArray[np.bool_]
    tokens: NDArray[np.int64]  # how many
    features: NDArray[np.int64]  # how many different ones
    rows: list[tuple[bytes, ...]]  # for each document its keys and slots, or its features and weights
    keys: NDArray[np.uint64] | None  # tables × documents

    def __len__(self) -> int:
        return len(self.rows)


def count(plan: Plan, texts: Texts) -> Statistics:
    """The frequencies that the plan asks for, over these texts."""
    tokens = plan.text(texts)
    tables = {stage_json(feature): count_features(feature(tokens)) for feature in plan.counts}
    return Statistics(len(texts), stage_json(plan.text), tables)


def look(view: View, tokens: Tokens, statistics: Statistics) -> Features:
    """The features, where no stage can write into what it was given."""
    features = view.represent(tokens, statistics)
    freeze(features.offsets, features.hashes)
    if features.weights is not None:
        freeze(features.weights)
    return features


def see(plan: Plan, texts: Texts, statistics: Statistics | None = None) -> Seen:
    """All that candidates and the check look at, of each document."""
    statistics = statistics or count(plan, texts)
    freeze(texts.offsets)
    tokens: Tokens = plan.text(texts)
    freeze(tokens.offsets, tokens.hashes, tokens.positions, tokens.marks)
    features = look(plan.view, tokens, statistics)
    rows: list[tuple[bytes, ...]] = [()] * len(texts)
    present, keys = features.sizes > 0, None
    if plan.candidates.level == "signatures":
        assert plan.view.signature is not None
        signatures = plan.view.signature(features)
        freeze(signatures.slots, signatures.present)
        present = signatures.present
        rows = [(signatures.slots[d].tobytes(),) for d in range(len(texts))]
        if not plan.joins:
            keys = plan.candidates.keys(signatures)  # type: ignore[attr-defined]
            rows = [(keys[:, d].tobytes(), *row) for d, row in enumerate(rows)]
    if plan.candidates.level == "features" or (plan.check.level == "features" and plan.check_view is None):
        rows = [(*row, *other) for row, other in zip(rows, feature_rows(features), strict=True)]
    if plan.check_view is not None:
        more = look(plan.check_view, tokens, statistics)
        rows = [(*row, *other) for row, other in zip(rows, feature_rows(more), strict=True)]
        if plan.check_view.signature is not None:
            slots = plan.check_view.signature(more).slots
            rows = [(*row, slots[d].tobytes()) for d, row in enumerate(rows)]
    return Seen(present, np.diff(tokens.offsets), make_distinct(features).sizes, rows, keys)


def feature_rows(features: Features) -> list[tuple[bytes, ...]]:
    bounds = zip(features.offsets[:-1], features.offsets[1:], strict=True)
    arrays = [features.hashes, *([] if features.weights is None else [features.weights])]
    return [tuple(array[a:b].tobytes() for array in arrays) for a, b in bounds]


@every_method
def test_what_is_seen_does_not_depend_on_the_batch(method: Method) -> None:
    texts = read(DOCUMENTS)
    for name, plan in changed_plans(method).items():
        statistics = count(plan, texts)
        whole = see(plan, texts, statistics)
        for size in (1, 2, 7):
            slices = [texts.slice(at, min(at + size, len(texts))) for at in range(0, len(texts), size)]
            parts = [see(plan, some, statistics) for some in slices]
            assert [row for part in parts for row in part.rows] == whole.rows, (name, size)
            assert np.array_equal(np.concatenate([part.present for part in parts]), whole.present)


@every_method
def test_no_documents_have_no_keys(method: Method) -> None:
    seen = see(method.plan(), read([]))
    assert len(seen) == 0
    assert seen.keys is None or seen.keys.shape == (method.plan().candidates.tables, 0)


@every_method
def test_a_text_without_a_token_is_absent_and_what_has_features_is_not(method: Method) -> None:
    for name, plan in changed_plans(method).items():
        seen = see(plan, read(DOCUMENTS))
        assert (seen.tokens > 0).tolist() == EXPECTED_TOKENS or plan.text != method.plan().text
        assert not seen.features[seen.tokens == 0].any()
        least = getattr(plan.view.signature, "least", 1)
        assert np.array_equal(seen.present, seen.features >= least), name
        if isinstance(plan.view.features, Shingles) and not plan.view.weights:
            assert np.array_equal(seen.present, seen.tokens > 0), "every text with a token has a shingle"


@every_method
def test_the_stories_are_seen(method: Method) -> None:
    """So that the other tests here look at something, whatever the method asks of a text."""
    assert see(method.plan(), read([*STORIES])).present.all()


@every_method
def test_texts_with_the_same_tokens_are_seen_as_the_same(method: Method) -> None:
    same = [
        ("one", "One!"),
        ("One two three", "one  two, three."),
        (LONG, LONG.upper()),
        ("é 👍", "e\u0301👍"),
        (STORIES[0], STORIES[0].upper()),
    ]
    for left, right in same:
        seen = see(method.plan(), read([left, "", right, *STORIES]))
        assert seen.rows[0] == seen.rows[2], (left, right)


def sharing(plan: Plan, texts: list[str]) -> list[set[int]]:
    """The features of each text."""
    found = read(texts)
    features = look(plan.view, plan.text(found), count(plan, found))
    return [set(part.tolist()) for part in np.split(features.hashes, features.offsets[1:-1])]


@every_method
def test_unlike_texts_share_no_key(method: Method) -> None:
    plan = method.plan()
    unlike = ["one", "two", "👍", "👎", "中", LONG, "one two", *STORIES]
    if getattr(plan.view.features, "width", 1) > 1:  # single words know no order
        unlike.append("two one")
    seen = see(plan, read([*unlike]))
    assert seen.present.sum() >= len(STORIES)
    chosen = np.flatnonzero(seen.present)
    assert len({seen.rows[d] for d in chosen}) == len(chosen)
    if plan.candidates.probability(0.0) > 1e-6:  # bands of few bits meet by chance, as their curve says
        return
    shared = sharing(plan, unlike)
    for table in seen.keys if seen.keys is not None else []:
        for k, d in enumerate(chosen.tolist()):
            others = chosen[:k][table[chosen[:k]] == table[d]]
            assert all(shared[d] & shared[other] for other in others.tolist())  # chance, then; and rare
            assert len(others) <= 1


@pytest.mark.parametrize(
    "name",
    [name for name, method in methods().items() if "seed" in method.parameters],
)
def test_the_same_seed_gives_the_same_keys_and_another_seed_others(name: str) -> None:
    texts = read([*STORIES])
    seen = [see(methods()[name].plan(seed=seed), texts) for seed in (1, 1, 2)]
    keys = [one.keys for one in seen]
    if methods()[name].plan().joins:  # which has no keys: what is joined depends on the seed
        assert seen[0].rows == seen[1].rows
        assert all(a != b for a, b in zip(seen[0].rows, seen[2].rows, strict=True))
        return
    assert keys[0] is not None
    assert np.array_equal(keys[0], keys[1])
    assert not np.any(keys[0] == keys[2])


@every_method
def test_a_method_without_a_seed_leaves_nothing_to_chance(method: Method) -> None:
    if "seed" not in method.parameters:
        plan = method.plan()
        assert "seed" not in plan.to_json()
        assert plan.found(plan.threshold) == 1


@every_method
def test_every_table_has_a_key_for_every_document(method: Method) -> None:
    for name, plan in changed_plans(method).items():
        seen = see(plan, read(DOCUMENTS))
        if plan.joins:
            assert seen.keys is None
            continue
        assert seen.keys is not None
        assert seen.keys.shape == (plan.candidates.tables, len(DOCUMENTS)), name  # type: ignore[attr-defined]
        assert seen.keys.dtype == np.uint64
        assert plan.view.signature is not None
        assert len(seen.rows[0][1]) == 4 * plan.view.signature.slots


@every_method
def test_the_plan_finds_pairs_at_its_threshold_as_often_as_it_promises(method: Method) -> None:
    for name, plan in changed_plans(method).items():
        found = plan.found(plan.threshold)
        assert (found is None) == (plan.check_view is not None), "only another view has another similarity"
        if plan.recall is not None and not {"bands", "rows", "num_perm", "bits"} & change_names(method, name):
            assert found is not None and found >= plan.recall, name
        assert plan.reach <= plan.threshold


def change_names(method: Method, name: str) -> set[str]:
    return set(change(method.name, name)) if name != "default" else set()


@every_method
def test_a_method_that_promises_a_recall_can_be_asked_for_one(method: Method) -> None:
    assert (method.plan().recall is not None) == ("recall" in method.parameters)


@pytest.mark.parametrize("name", methods())
def test_a_method_is_loaded_alone(name: str) -> None:
    """Each in a process of its own: it needs no other, and other methods are not loaded for minhash."""
    code = (
        "import sys\n"
        "from neardup.registry import get_method\n"
        f"found = get_method({name!r}).name\n"
        "print(found, 'neardup.methods.andd' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found, loaded = done.stdout.split()
    assert found == name
    assert name != "minhash" or loaded == "False"
