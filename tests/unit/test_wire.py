"""The wire format, version 1: what another release wrote must be read, and what is written must not change its form."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import hypothesis.strategies as st
import pytest
from hypothesis import given
from pydantic import ValidationError

from errands_config import wire
from errands_config.scripts.letters import outcome_fields, read_mail, read_outcome
from errands_config.wire import (
    WIRE_VERSION,
    Approval,
    CallPolicy,
    CallState,
    Claimed,
    Deferral,
    Frozen,
    Mail,
    Outcome,
    TaskMessage,
    ToolOffer,
)

FIXTURES = Path(__file__).parent / "wire_v1"
MODELS: dict[str, type[Frozen]] = {
    "call_policy": CallPolicy,
    "tool_offer": ToolOffer,
    "task_message": TaskMessage,
    "claimed": Claimed,
    "outcome": Outcome,
    "mail": Mail,
    "approval": Approval,
    "deferral": Deferral,
}
MESSAGES = [
    one for name, one in vars(wire).items() if isinstance(one, type) and issubclass(one, Frozen) and name[0] != "_"
]
NAMES = sorted(path.stem for path in FIXTURES.glob("*.json"))


def model_of(name: str) -> type[Frozen]:
    return next(model for start, model in MODELS.items() if name.startswith(start))


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_message_is_read_and_written_as_it_was(name: str) -> None:
    text = (FIXTURES / f"{name}.json").read_text()

    value = model_of(name).model_validate_json(text)

    assert json.loads(value.model_dump_json()) == json.loads(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_comes_back_from_the_short_form_in_which_records_keep_it(name: str) -> None:
    value = model_of(name).model_validate_json((FIXTURES / f"{name}.json").read_text())

    assert model_of(name).model_validate_json(value.model_dump_json(exclude_defaults=True)) == value


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object in a value, itself included."""
    if isinstance(value, dict):
        yield (found := cast("dict[str, Any]", value))
        value = list(found.values())
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from objects(one)


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_this_version_does_not_know_is_refused_wherever_it_stands(name: str) -> None:
    text = (FIXTURES / f"{name}.json").read_text()
    model = model_of(name)

    for position in range(len(list(objects(json.loads(text))))):
        fields = json.loads(text)
        list(objects(fields))[position]["of_a_later_version"] = 1
        with pytest.raises(ValidationError, match="extra_forbidden"):
            model.model_validate_json(json.dumps(fields))


def parts(value: object) -> Iterator[Frozen]:
    """A message and every message in it."""
    if isinstance(value, Frozen):
        yield value
        for name in type(value).model_fields:
            yield from parts(getattr(value, name))
    if isinstance(value, tuple):
        for one in cast("tuple[object, ...]", value):
            yield from parts(one)


def test_the_fixtures_show_every_message_and_every_field_at_another_value_than_its_default() -> None:
    seen: defaultdict[type[Frozen], list[Frozen]] = defaultdict(list)
    for name in NAMES:
        for part in parts(model_of(name).model_validate_json((FIXTURES / f"{name}.json").read_text())):
            seen[type(part)].append(part)

    unseen = {
        f"{model.__name__}.{name}"
        for model in seen
        for name, field in model.model_fields.items()
        if name not in ("v", "ticket", "tag") and all(getattr(one, name) == field.default for one in seen[model])
    }

    assert set(MESSAGES) == {Frozen, *seen}
    assert unseen == set()


def test_a_message_without_the_fields_that_have_a_default_is_read() -> None:
    policy = CallPolicy.model_validate_json('{"timeout_seconds":1,"queue_timeout_seconds":2}')

    assert (policy.disposition, policy.around, policy.defer, policy.bound, policy.may_defer) == (
        "runSync", (), None, (), False,
    )  # fmt: skip


def test_every_message_names_the_version_and_has_a_place_for_a_ticket() -> None:
    message = json.loads((FIXTURES / "task_message.json").read_text())

    assert (message["v"], message["ticket"]) == (WIRE_VERSION, "")
    with pytest.raises(ValidationError):
        TaskMessage.model_validate(message | {"v": 2})


def test_the_states_of_a_call_are_these_and_these_are_final() -> None:
    assert {str(state): state.is_final for state in CallState} == {
        "waiting": False, "queued": False, "running": False, "deferred": False, "completed": True, "failed": True,
        "denied": True, "skipped": True, "expired": True, "timed_out": True, "cancelled": True, "orphaned": True,
    }  # fmt: skip


TEXTS = st.text(max_size=20)
OUTCOMES = st.builds(
    Outcome,
    state=st.sampled_from([state for state in CallState if state.is_final]),
    result=TEXTS,
    result_type=st.sampled_from(["text", "json"]),
    error=TEXTS,
    error_kind=TEXTS,
    by=TEXTS,
    reason=TEXTS,
    confirmed=st.booleans(),
    timeout_seconds=st.none() | st.floats(0.001, 99_999).map(lambda seconds: float(f"{seconds:g}")),
    noted=st.booleans(),
)


@given(outcome=OUTCOMES)
def test_an_outcome_comes_back_from_a_record_as_it_was_written(outcome: Outcome) -> None:
    fields = outcome_fields(outcome)

    assert read_outcome(fields) == outcome
    assert "" not in fields.values()


@given(outcome=OUTCOMES)
def test_a_completion_letter_brings_its_outcome(outcome: Outcome) -> None:
    fields = {"id": "end-c1", "kind": "toolCallFinished", "sender": "system", "at": "5", "call": "c1"}
    flat = [part for pair in (fields | outcome_fields(outcome)).items() for part in pair]

    [letter] = read_mail([("7-0", flat)])

    assert letter == Mail(
        seq="7-0", id="end-c1", kind="toolCallFinished", sender="system", at=5, call="c1", outcome=outcome
    )
