"""The wire format, version 1: what another release wrote must be read, and what is written must not change its form."""

from __future__ import annotations

import json
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from pydantic import ValidationError

from errands_config.scripts.letters import outcome_fields, read_mail, read_outcome
from errands_config.wire import (
    WIRE_VERSION,
    CallPolicy,
    CallState,
    Claimed,
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
}
NAMES = sorted(path.stem for path in FIXTURES.glob("*.json"))


def model_of(name: str) -> type[Frozen]:
    return next(model for start, model in MODELS.items() if name.startswith(start))


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_message_is_read_and_written_as_it_was(name: str) -> None:
    text = (FIXTURES / f"{name}.json").read_text()

    value = model_of(name).model_validate_json(text)

    assert json.loads(value.model_dump_json()) == json.loads(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_this_version_does_not_know_is_refused(name: str) -> None:
    fields = json.loads((FIXTURES / f"{name}.json").read_text())

    with pytest.raises(ValidationError, match="extra_forbidden"):
        model_of(name).model_validate(fields | {"of_a_later_version": 1})


@pytest.mark.parametrize("start", MODELS)
def test_the_fixtures_show_every_field_at_another_value_than_its_default(start: str) -> None:
    model = MODELS[start]
    shown = [model.model_validate_json((FIXTURES / f"{n}.json").read_text()) for n in NAMES if n.startswith(start)]
    plain = {name: field.default for name, field in model.model_fields.items() if name not in ("v", "ticket")}

    unseen = {name for name, default in plain.items() if all(getattr(value, name) == default for value in shown)}

    assert unseen == set()


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
