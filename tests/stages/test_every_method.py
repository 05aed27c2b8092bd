"""What must hold for every method that is registered, whatever its stages are.

A method added under methods/ is tested by being there: here its plans, its options and its stages up to the keys,
in engine/test_battery.py whole runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from neardup.columns import Features, Signatures, Texts, Tokens
from neardup.errors import ParameterError, PlanError
from neardup.plan import Plan
from neardup.registry import ALIASES, Method, Parameter, methods, presets

every_method = pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.name)

LONG = " ".join(f"word{number % 37} and{number % 11}" for number in range(200))
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
]
EXPECTED_PRESENT = [bool(text) and text not in NO_TOKEN for text in DOCUMENTS]


# Plans


def another(parameter: Parameter) -> Any:
    """A value that is allowed and is not the default."""
    if parameter.choices:
        return next(choice for choice in parameter.choices if choice != parameter.default)
    if parameter.kind is bool:
        return not parameter.default
    if parameter.kind is str:
        return f"{parameter.default}x"
    candidates = [0.5, 0.25, 0.9] if parameter.kind is float else [3, 17, 2]
    inside = [value for value in candidates if parameter.range is None or parameter.range.admits(value)]
    return next(value for value in inside if value != parameter.default)


def changed_plans(method: Method) -> dict[str, Plan]:
    """The default plan, and one with each option changed."""
    changes = {name: {name: another(parameter)} for name, parameter in method.parameters.items()}
    return {"default": method.plan(), **{name: method.plan(**options) for name, options in changes.items()}}


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
    with pytest.raises(ParameterError, match="threshold"):
        method.plan(treshold=0.8)


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
            value = another(method.parameters[name])
            assert method.plan(**{alias: value}) == method.plan(**{name: value})


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_a_plan(name: str) -> None:
    options = dict(presets(name))
    plan = methods()[options.pop("method")].plan(**options)
    assert plan.threshold == options.get("threshold", plan.threshold)


# From texts to keys


def read(documents: list[str | None]) -> Texts:
    """Texts over read-only memory, not from its beginning."""
    return Texts.from_arrow(pa.array(["before", *documents, "after"], pa.string())[1:-1])


def freeze(*arrays: NDArray[Any]) -> None:
    for array in arrays:
        array.flags.writeable = False


def sign(plan: Plan, texts: Texts) -> tuple[NDArray[np.uint64], Signatures]:
    """Keys and signatures, where no stage can write into what it was given."""
    freeze(texts.offsets)
    tokens: Tokens = plan.text(texts)
    freeze(tokens.offsets, tokens.hashes, tokens.positions, tokens.marks)
    features: Features = plan.view.look(tokens)
    freeze(features.offsets, features.hashes)
    assert plan.view.signature is not None
    signatures = plan.view.signature(features)
    freeze(signatures.slots, signatures.present)
    return plan.candidates.keys(signatures), signatures


@every_method
def test_keys_do_not_depend_on_the_batch(method: Method) -> None:
    texts = read(DOCUMENTS)
    for name, plan in changed_plans(method).items():
        keys, whole = sign(plan, texts)
        for size in (1, 2, 7):
            parts = [
                sign(plan, texts.slice(at, min(at + size, len(texts)))) for at in range(0, len(texts), size)
            ]
            assert np.array_equal(np.concatenate([part for part, _ in parts], axis=1), keys), (name, size)
            assert np.array_equal(np.concatenate([part.present for _, part in parts]), whole.present)


@every_method
def test_no_documents_have_no_keys(method: Method) -> None:
    keys, signatures = sign(method.plan(), read([]))
    assert keys.shape == (method.plan().candidates.tables, 0)
    assert len(signatures) == 0


@every_method
def test_a_text_without_a_token_is_absent_and_a_single_word_is_not(method: Method) -> None:
    _, signatures = sign(method.plan(), read(DOCUMENTS))
    assert signatures.present.tolist() == EXPECTED_PRESENT


@every_method
def test_texts_with_the_same_tokens_have_the_same_keys_in_every_table(method: Method) -> None:
    same = [
        ("one", "One!"),
        ("One two three", "one  two, three."),
        (LONG, LONG.upper()),
        ("é 👍", "e\u0301👍"),
    ]
    for left, right in same:
        keys, _ = sign(method.plan(), read([left, "", right]))
        assert np.array_equal(keys[:, 0], keys[:, 2]), (left, right)


@every_method
def test_unlike_texts_share_no_key(method: Method) -> None:
    unlike = ["one", "two", "three", "👍", "👎", "中", "文", LONG, "one two", "two one"]
    keys, _ = sign(method.plan(), read([*unlike]))
    for table in keys:
        assert len(np.unique(table)) == len(unlike)


@every_method
def test_the_same_seed_gives_the_same_keys_and_another_seed_others(method: Method) -> None:
    texts = read([LONG, "one two three four five six"])
    keys = [sign(method.plan(seed=seed), texts)[0] for seed in (1, 1, 2)]
    assert np.array_equal(keys[0], keys[1])
    assert not np.any(keys[0] == keys[2])


@every_method
def test_every_table_has_a_key_for_every_document(method: Method) -> None:
    plan = method.plan()
    keys, signatures = sign(plan, read(DOCUMENTS))
    assert keys.shape == (plan.candidates.tables, len(DOCUMENTS))
    assert keys.dtype == np.uint64
    assert plan.view.signature is not None
    assert signatures.slots.shape == (len(DOCUMENTS), plan.view.signature.slots)


@every_method
def test_the_plan_finds_pairs_at_its_threshold_as_often_as_it_promises(method: Method) -> None:
    plan = method.plan()
    assert plan.candidates.probability(plan.threshold) >= plan.recall
