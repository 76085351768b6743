"""What hooks are asked and what they may answer, as JSON documents. Pure."""

from __future__ import annotations

import json
from typing import Annotated, Literal, TypeAlias, TypeVar

import orjson
from pydantic import Field, JsonValue, TypeAdapter

from errands_config.text import HOOK_NOTE, clean, framed
from errands_config.wire import CallState, Claimed, Frozen, Outcome, ResultType
from errands_workers.json_text import json_text

T = TypeVar("T")


class Continue(Frozen):
    """Go on, with these arguments if there are any."""

    action: Literal["continue"]
    arguments: dict[str, JsonValue] | None = None


class Deny(Frozen):
    """Do not run the tool; the message is what the model gets."""

    action: Literal["deny"]
    message: str


class LeaveIt(Frozen):
    """Do not run the tool before somebody outside says so."""

    action: Literal["defer"]
    reason: str = ""


class Answer(Frozen):
    """Do not run the tool; this is the result."""

    action: Literal["answer"]
    result: JsonValue


class Keep(Frozen):
    """Leave the result as it is, or put another one in its place."""

    action: Literal["continue"]
    result: JsonValue = None


class Annotate(Frozen):
    """Add a note to the result."""

    action: Literal["annotate"]
    text: str


BeforeAnswer: TypeAlias = Continue | Deny | LeaveIt | Answer
AfterAnswer: TypeAlias = Keep | Annotate

BEFORE: TypeAdapter[BeforeAnswer] = TypeAdapter(Annotated[BeforeAnswer, Field(discriminator="action")])
AFTER: TypeAdapter[AfterAnswer] = TypeAdapter(Annotated[AfterAnswer, Field(discriminator="action")])


def read_answer(text: str, answers: TypeAdapter[T]) -> T:
    """The answer in a JSON text. ValueError for any other text, and where a key is repeated: it says two things."""
    answer = answers.validate_json(text)
    json.loads(text, object_pairs_hook=_without_repeats)
    return answer


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands there twice")
    return dict(pairs)


def question(claimed: Claimed, arguments: str) -> bytes:
    """What a hook before the tool is asked."""
    return orjson.dumps(_about(claimed, arguments))


def question_after(claimed: Claimed, arguments: str, outcome: Outcome, seconds: float) -> bytes:
    """What a hook after the tool is asked: `result` is the result, or the text of the failure."""
    told = outcome.result if outcome.state == CallState.COMPLETED else outcome.error
    is_json = outcome.state == CallState.COMPLETED and outcome.result_type == "json"
    what = {
        "result": orjson.Fragment(told) if is_json else told,
        "status": outcome.state.value,
        "duration_ms": round(seconds * 1000),
    }
    return orjson.dumps(_about(claimed, arguments) | what)


def _about(claimed: Claimed, arguments: str) -> dict[str, object]:
    return {
        "tool": claimed.tool,
        "arguments": orjson.Fragment(arguments),
        "session_id": claimed.session,
        "tool_call_id": claimed.call,
        "agent": claimed.agent,
    }


def answered(answer: Answer) -> Outcome:
    """The end of a call that a hook has answered. NotJsonError for what is no JSON after all, such as NaN."""
    text, kind = _result(answer.result)
    return Outcome(state=CallState.COMPLETED, result=text, result_type=kind)


def after_answer(outcome: Outcome, answer: AfterAnswer) -> Outcome:
    """What a hook after the tool makes of an outcome; its state stays. Errors as `answered`."""
    if isinstance(answer, Annotate):
        return _annotated(outcome, answer.text)
    if "result" not in answer.model_fields_set:
        return outcome
    text, kind = _result(answer.result)
    if outcome.state != CallState.COMPLETED:
        return outcome.model_copy(update={"error": text, "noted": False})
    return outcome.model_copy(update={"result": text, "result_type": kind, "noted": False})


def _annotated(outcome: Outcome, text: str) -> Outcome:
    note = f"\n\n{HOOK_NOTE}: {framed(clean(text).text)}]"
    if outcome.state != CallState.COMPLETED:
        return outcome.model_copy(update={"error": _marked(outcome.error, outcome) + note, "noted": True})
    if outcome.result_type == "json":
        return outcome.model_copy(update={"result": f'{{"result":{outcome.result},"hookNote":{json_text(text)}}}'})
    return outcome.model_copy(update={"result": _marked(outcome.result, outcome) + note, "noted": True})


def _marked(text: str, outcome: Outcome) -> str:
    """What the tool said, so that none of it can be taken for a hook's note."""
    return framed(clean(text).text, noted=outcome.noted)


def _result(value: JsonValue) -> tuple[str, ResultType]:
    """A result in the form that it may be handed in: a string, `{"type": "text"|"json", "content": ...}`, else JSON."""
    match value:
        case str():
            return value, "text"
        case {"type": "text", "content": str(content), **rest} if not rest:
            return content, "text"
        case {"type": "json", "content": content, **rest} if not rest:
            return json_text(content), "json"
        case _:
            return json_text(value), "json"
