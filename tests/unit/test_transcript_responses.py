"""The Responses dialect: items, and calls whose output may come in any later request."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.stepper_driver import ASK, STATUS, WAIT, make_brief

from errands_config.errors import TranscriptBroken
from errands_config.wire import CallState
from errands_orchestrator.made_call import unique_ids
from errands_orchestrator.session import AssistantEntry, Entry, ShownCall, ToolMessage, ToolsEntry, UserEntry
from errands_orchestrator.testing.strict.refusal import RefusedError
from errands_orchestrator.testing.strict.response_request import check_response_request
from errands_orchestrator.transcript import Transcript, tools_body


def made(*ids: str, text: str = "", later: str = "", arguments: str = "{}", name: str = "tool") -> AssistantEntry:
    """An answer with calls; those in `later` are asynchronous."""
    return AssistantEntry(text, tuple(ShownCall(it, name, arguments, is_async=it in later) for it in ids))


def told(*ids: str, text: str = "fine") -> ToolsEntry:
    return ToolsEntry(tuple(ToolMessage(it, "c", "tool", CallState.COMPLETED, text) for it in ids))


def items(*entries: Entry) -> list[dict[str, Any]]:
    return json.loads(Transcript.of("p", entries, "responses").messages())[1:]


def test_a_log_becomes_the_items_of_the_responses_api() -> None:
    log = (UserEntry("do it"), made("a", "b", text="On it.", later="b"), told("a"), told("b"), AssistantEntry("done"))
    assert items(*log) == [
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": "On it."},
        {"type": "function_call", "call_id": "a", "name": "tool", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "tool", "arguments": "{}", "async": True},
        {"type": "function_call_output", "call_id": "a", "output": "fine"},
        {"type": "function_call_output", "call_id": "b", "output": "fine"},
        {"role": "assistant", "content": "done"},
    ]


def test_an_answer_with_neither_text_nor_calls_is_left_out() -> None:
    assert items(AssistantEntry("")) == []


def test_an_asynchronous_call_stays_open_over_other_turns_and_people() -> None:
    log = (made("a", "b", later="a"), told("b"), UserEntry("x"), made("c"), told("a", "c"), UserEntry("y"))
    assert [item.get("call_id", "") for item in items(*log)] == ["a", "b", "b", "", "c", "a", "c", ""]


def test_results_may_stand_in_any_order() -> None:
    assert len(items(made("a", "b"), told("b", "a"))) == 4


BROKEN: list[tuple[str, list[Entry], Entry]] = [
    ("a call without its output before a user", [made("a")], UserEntry("x")),
    ("a call without its output before an answer", [made("a")], AssistantEntry("x")),
    ("one output missing", [made("a", "b", "c", later="c")], told("a", "c")),
    ("the same call twice", [made("a")], told("a", "a")),
    ("an open call twice", [made("a", later="a")], told("a", "a")),
    ("a call that is unknown", [made("a", later="a")], told("b")),
    ("a call that was answered", [made("a", later="a"), told("a")], told("a")),
    ("no outputs at all", [made("a", later="a")], told()),
    ("the id of an open call", [made("a", later="a")], made("a")),
    ("the id of a call that has ended", [made("a"), told("a")], made("a")),
    ("equal ids", [], made("a", "a", later="a")),
    ("an empty id", [], made("")),
    ("arguments that are no object", [], made("a", arguments="[]")),
    ("a name that is none", [], made("a", name="no tool")),
    ("a lone surrogate", [], UserEntry("\ud800")),
]


@pytest.mark.parametrize(("before", "entry"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_what_the_api_would_refuse_is_never_appended(before: list[Entry], entry: Entry) -> None:
    transcript = Transcript.of("p", before, "responses")
    count, used = transcript.count, transcript.used("abc")
    with pytest.raises(TranscriptBroken, match=f"behind message {count}: "):
        transcript.append(entry)
    assert (transcript.count, transcript.used("abc")) == (count, used)


def test_no_request_leaves_while_a_call_that_cannot_wait_is_open() -> None:
    transcript = Transcript.of("p", [made("a", "b", later="b")], "responses")
    with pytest.raises(TranscriptBroken, match="no tool message for a;"):
        transcript.messages()


def test_it_is_known_which_ids_are_taken() -> None:
    log = [made("a", "b", later="b"), told("a")]
    assert Transcript.of("p", log, "responses").used(["a", "b", "c"]) == {"a", "b"}
    assert Transcript.of("p", [made("a"), told("a")]).used(["a"]) == frozenset()


IDS = st.lists(st.sampled_from(["", "a", "a~2", "a~3", "a~2~2", "call", "call~1", "call~2"]), min_size=1, max_size=4)


@given(st.lists(IDS, max_size=8))
@example([["a"], ["a~3"], ["a", "a~2"]])
@example([["call~3"], ["", "", "call", "call"]])
def test_however_a_provider_repeats_its_ids_no_two_calls_have_the_same(answers: list[list[str]]) -> None:
    transcript = Transcript("p", "responses")
    for sent in answers:
        ids = unique_ids(sent, transcript.used(sent))
        transcript.append(made(*ids))
        transcript.append(told(*ids))


ENTRIES = st.one_of(
    st.builds(UserEntry, st.text(max_size=5)),
    st.builds(made, *[st.sampled_from(["a", "b", "c", "d", ""])] * 2, later=st.sampled_from(["", "a", "bcd", "abcd"])),
    st.builds(AssistantEntry, st.text(max_size=3)),
    st.lists(st.sampled_from("abcd"), max_size=3).map(lambda ids: told(*ids)),
)
TOOL = {"type": "function", "name": "tool", "parameters": {"type": "object", "properties": {}}}
TOOLS = json.dumps([TOOL | {"async": True, "strict": False}]).encode()


def refused(sent: bytes) -> str:
    """Why the strict endpoint, which shares no code with the transcript, would refuse these items."""
    try:
        check_response_request(b'{"model":"m","tools":%b,"input":%b}' % (TOOLS, sent))
    except RefusedError as refusal:
        return refusal.message
    return ""


@given(st.lists(ENTRIES, max_size=10))
def test_whatever_is_appended_the_list_stays_one_that_the_api_takes(entries: list[Entry]) -> None:
    transcript = Transcript("p", "responses")
    before = b""
    for entry in entries:
        with suppress(TranscriptBroken):
            transcript.append(entry)
        with suppress(TranscriptBroken):
            sent = transcript.messages()
            assert refused(sent) == ""
            assert sent.startswith(before)
            before = sent[:-1]


RESPONSES: dict[str, Any] = {"flavor": "OpenAIResponses"}


def listed(**more: Any) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in json.loads(tools_body(make_brief(**RESPONSES, **more)))}


def test_tools_that_go_on_beside_the_model_are_asynchronous_where_the_model_has_that() -> None:
    tools = listed(async_tools=True, capabilities=[STATUS, ASK])
    assert {name for name, tool in tools.items() if tool.get("async")} == {
        "work",
        "work_too",
        "two_seconds",
        "never",
        "side_gate",
        ASK,
    }
    assert all(tool["strict"] is False for tool in tools.values())
    assert tools["work"]["description"] == (
        "Does work. Runs in the background: its result is delivered by itself, at once or later, so do not poll and do "
        "not call it again."
    )


def test_a_wait_says_where_results_stand() -> None:
    on_calls = "Each result stands on its own call, before this answer."
    assert on_calls in listed(async_tools=True, capabilities=[WAIT])[WAIT]["description"]
    assert on_calls not in listed(capabilities=[WAIT])[WAIT]["description"]


@pytest.mark.parametrize("more", [{"async_tools": False}, {"async_tools": True, "mode": "synchronous"}])
def test_no_tool_is_asynchronous_elsewhere(more: dict[str, Any]) -> None:
    assert not any("async" in tool for tool in listed(**more).values())
