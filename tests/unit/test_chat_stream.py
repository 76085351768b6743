"""Text, ends and odd forms of an answer that is put together from its documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_orchestrator.models.model import ModelCall, Reply, Usage
from errands_orchestrator.models.pieces import AnswerError, ReportedError
from errands_orchestrator.models.stream import Assembly, encodable

Json = dict[str, object]


def delta(finish: str | None = None, **fields: object) -> Json:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def message(finish: str | None = "stop", **fields: object) -> Json:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}]}


def put_together(*documents: object) -> Reply:
    answer = Assembly()
    for document in documents:
        answer.add(document)
    return answer.reply()


@given(st.lists(st.text()))
def test_the_pieces_that_are_heard_are_the_text_of_the_reply(pieces: list[str]) -> None:
    heard: list[str] = []
    answer = Assembly(heard.append)
    for piece in pieces:
        answer.add(delta(content=piece))
    answer.add(delta(finish="stop"))
    assert answer.reply().text == "".join(pieces) == "".join(heard)


@given(st.text(st.characters(min_codepoint=0x10000)), st.data())
def test_a_character_cut_into_surrogates_is_whole_again(text: str, data: st.DataObject) -> None:
    halves = text.encode("utf-16-le").decode("utf-16-le", "surrogatepass") if not text else _as_surrogates(text)
    at = data.draw(st.integers(0, len(halves)))
    reply = put_together(delta(content=halves[:at]), delta(content=halves[at:]), delta(finish="stop"))
    assert reply.text == text


def _as_surrogates(text: str) -> str:
    units = text.encode("utf-16-be")
    return "".join(chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_of_a_reply_can_be_encoded(text: str) -> None:
    call = {"id": text, "function": {"name": text, "arguments": text}}
    reply = put_together(message(content=text, tool_calls=[call]))
    for part in (reply.text, *((c.provider_id + c.name + c.arguments) for c in reply.calls)):
        part.encode()


@given(st.text())
def test_a_text_that_can_be_encoded_stays_as_it_is(text: str) -> None:
    assert encodable(text) == text


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("stop", "stop"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("eos", "other"),
    ],
)
def test_each_finish_reason_is_read_in_both_forms(sent: str, meant: str) -> None:
    assert put_together(delta(content="a"), delta(finish=sent)).finish == meant
    assert put_together(message(sent, content="a")).finish == meant


def test_a_whole_answer_without_a_finish_reason_is_over_all_the_same() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    assert put_together(message(None, content="a")).finish == "stop"
    assert put_together(message(None, tool_calls=[call])).finish == "tool_calls"


def test_a_stream_that_ends_without_a_finish_reason_is_garbage() -> None:
    with pytest.raises(AnswerError, match="before its finish reason"):
        put_together(delta(content="half a sen"))


@pytest.mark.parametrize("documents", [(), ({},), ({"choices": []},), ({"choices": None, "usage": {}},)])
def test_an_answer_without_choices_is_garbage(documents: tuple[Json, ...]) -> None:
    with pytest.raises(AnswerError, match="no choices"):
        put_together(*documents)


def test_usage_comes_with_a_last_document_that_has_no_choices() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
    assert put_together(delta(content="a"), delta(finish="stop"), usage).usage == Usage(7, 3)


@pytest.mark.parametrize("usage", [None, [], "many", {}, {"prompt_tokens": None, "completion_tokens": 1}])
def test_usage_that_cannot_be_read_is_left_out(usage: object) -> None:
    assert put_together(message(content="a") | {"usage": usage}).usage is None


def test_empty_documents_between_the_pieces_change_nothing() -> None:
    reply = put_together(
        {"choices": []}, delta(content="a"), {"choices": None}, {"choices": [{"delta": None}]}, delta("stop")
    )
    assert reply == Reply("a")


@pytest.mark.parametrize("null", [None, ""])
def test_null_and_empty_are_the_same(null: object) -> None:
    assert put_together(message(content=null, tool_calls=None, function_call=None)) == Reply("")


def test_content_in_parts_is_joined_and_thinking_is_left_out() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, "b", {"text": "c"}]
    assert put_together(message(content=parts)).text == "abc"


def test_a_refusal_is_what_is_said() -> None:
    assert put_together(message(content=None, refusal="I cannot.")).text == "I cannot."
    assert put_together(delta(refusal="I can"), delta(refusal="not."), delta("stop")).text == "I cannot."


def test_an_answer_split_over_several_choices_is_one() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    split = {
        "choices": [
            {"index": 0, "message": {"content": "So be it."}, "finish_reason": "tool_calls"},
            {"index": 1, "message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"},
        ]
    }
    assert put_together(split) == Reply("So be it.", (ModelCall("a", "f", "{}"),), "tool_calls")


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ("text", "the document"),
        ([], "the document"),
        ({"choices": "none"}, "choices"),
        ({"choices": [7]}, "choices.0"),
        ({"choices": [{"delta": "a"}]}, "choices.0.delta"),
        ({"choices": [{"message": {"tool_calls": {"id": "a"}}}]}, "choices.0.message.tool_calls"),
    ],
)
def test_a_document_of_another_form_is_garbage_and_its_place_is_named(document: object, place: str) -> None:
    with pytest.raises(AnswerError, match=place):
        put_together(document)


def test_an_error_in_an_answer_is_reported_with_what_it_says() -> None:
    with pytest.raises(ReportedError) as caught:
        put_together({"error": {"message": "overloaded", "code": 529}, "choices": []})
    assert caught.value.body == {"message": "overloaded", "code": 529}


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "message", "tool_calls", "function", "content", "index", "id", "usage"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(any_json, max_size=4))
def test_any_json_becomes_a_reply_or_garbage(documents: list[object]) -> None:
    try:
        reply = put_together(*documents)
    except AnswerError:
        return
    assert isinstance(reply, Reply)
