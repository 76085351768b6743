"""How the pieces of parallel tool calls are told apart, whatever a gateway leaves out."""

from __future__ import annotations

import json
from itertools import chain, zip_longest

from hypothesis import given
from hypothesis import strategies as st

from errands_orchestrator.models.model import ModelCall
from errands_orchestrator.models.stream import Assembly

Json = dict[str, object]

names = st.sampled_from(["get_weather", "run_tests", "lint"])
objects = st.dictionaries(
    st.text(max_size=4),
    st.text(max_size=6) | st.integers() | st.dictionaries(st.text(max_size=2), st.none()),
    max_size=3,
)
indexes = st.sampled_from([{"index": 0}, dict[str, int]()])
arguments = objects.map(lambda value: json.dumps(value))


def assembled(*pieces: Json) -> tuple[ModelCall, ...]:
    answer = Assembly()
    for piece in pieces:
        answer.add({"choices": [{"delta": {"tool_calls": [piece]}, "finish_reason": None}]})
    answer.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    return answer.reply().calls


def piece(name: str | None = None, text: str | None = None, **fields: str | int) -> Json:
    function: Json = {}
    if name is not None:
        function["name"] = name
    if text is not None:
        function["arguments"] = text
    return {**fields, "function": function}


@st.composite
def cut_calls(draw: st.DrawFn, ids: st.SearchStrategy[str]) -> list[tuple[ModelCall, list[str]]]:
    """Calls, each with its arguments cut into pieces."""
    calls = draw(st.lists(st.builds(ModelCall, ids, names, arguments), min_size=1, max_size=4))
    return [(call, draw(_cuts(call.arguments))) for call in calls]


def _cuts(text: str) -> st.SearchStrategy[list[str]]:
    borders = st.lists(st.integers(0, len(text)), max_size=3).map(sorted)
    return borders.map(lambda at: [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)])


@given(cut_calls(ids=st.sampled_from(["", "a", "b"])), st.booleans())
def test_right_indexes_tell_calls_apart_even_with_equal_ids_and_interleaved(
    calls: list[tuple[ModelCall, list[str]]], interleaved: bool
) -> None:
    streams = [
        [piece(call.name, "", index=index, id=call.provider_id), *(piece(text=cut, index=index) for cut in cuts)]
        for index, (call, cuts) in enumerate(calls)
    ]
    woven = chain.from_iterable(zip_longest(*streams)) if interleaved else chain.from_iterable(streams)
    by_first_piece = assembled(*filter(None, woven))
    assert by_first_piece == tuple(call for call, _ in calls)


@given(cut_calls(ids=st.uuids().map(str)), indexes, st.booleans())
def test_ids_tell_calls_apart_where_the_index_does_not(
    calls: list[tuple[ModelCall, list[str]]], index: dict[str, int], always_with_id: bool
) -> None:
    pieces: list[Json] = []
    for call, cuts in calls:
        again = {"id": call.provider_id} if always_with_id else {}
        pieces.append(piece(call.name, "", id=call.provider_id) | index)
        pieces.extend(piece(text=cut) | again | index for cut in cuts)
    assert assembled(*pieces) == tuple(call for call, _ in calls)


@given(cut_calls(ids=st.uuids().map(str)))
def test_pieces_with_ids_may_be_interleaved_under_one_index(calls: list[tuple[ModelCall, list[str]]]) -> None:
    streams = [
        [
            piece(call.name, "", index=0, id=call.provider_id),
            *(piece(text=cut, index=0, id=call.provider_id) for cut in cuts),
        ]
        for call, cuts in calls
    ]
    assert assembled(*filter(None, chain.from_iterable(zip_longest(*streams)))) == tuple(call for call, _ in calls)


@given(st.lists(st.builds(ModelCall, st.sampled_from(["", "same"]), names, arguments), min_size=1, max_size=4), indexes)
def test_whole_calls_are_told_apart_without_index_and_without_different_ids(
    calls: list[ModelCall], index: dict[str, int]
) -> None:
    same = [ModelCall(calls[0].provider_id, call.name, call.arguments) for call in calls]
    assert assembled(*(piece(c.name, c.arguments, id=c.provider_id) | index for c in same)) == tuple(same)


@given(cut_calls(ids=st.just("")))
def test_a_new_object_behind_a_complete_one_is_a_new_call(calls: list[tuple[ModelCall, list[str]]]) -> None:
    pieces: list[Json] = []
    for call, cuts in calls:
        first, *rest = [cut for cut in cuts if cut]
        pieces.append(piece(call.name, first, index=0))
        pieces.extend(piece(text=cut, index=0) for cut in rest)
    assert assembled(*pieces) == tuple(call for call, _ in calls)


def test_equal_calls_under_one_index_stay_two() -> None:
    twice = [piece("append", '{"line":"x"}', index=0) for _ in range(2)]
    assert assembled(*twice) == (ModelCall("", "append", '{"line":"x"}'),) * 2


def test_another_name_is_another_call_also_behind_empty_arguments() -> None:
    assert assembled(piece("first", "", index=0), piece("second", "", index=0)) == (
        ModelCall("", "first", ""),
        ModelCall("", "second", ""),
    )


def test_a_name_that_is_repeated_with_every_piece_is_one_call() -> None:
    assert assembled(*(piece("f", text, index=0) for text in ("", '{"a":', "{}", "}"))) == (
        ModelCall("", "f", '{"a":{}}'),
    )


def test_a_fresh_id_with_every_piece_is_one_call() -> None:
    pieces = [
        piece("f", "", index=0, id="x1"),
        piece(text='{"a"', index=0, id="x2"),
        piece(text=":1}", index=0, id="x3"),
    ]
    assert assembled(*pieces) == (ModelCall("x1", "f", '{"a":1}'),)


def test_an_id_that_comes_before_its_name_begins_a_call() -> None:
    pieces = [piece("f", "{}", index=0, id="a"), piece(index=0, id="b"), piece("f", '{"n":2}', index=0)]
    assert assembled(*pieces) == (ModelCall("a", "f", "{}"), ModelCall("b", "f", '{"n":2}'))


def test_null_arguments_and_a_null_function_add_nothing() -> None:
    nulls: list[Json] = [{"index": 0, "function": None}, {"index": 0, "function": {"name": None, "arguments": None}}]
    assert assembled(piece("f", "{", index=0, id="a"), *nulls, piece(text="}", index=0)) == (ModelCall("a", "f", "{}"),)


def test_a_piece_that_says_nothing_at_all_is_no_call() -> None:
    assert assembled({"index": 0, "function": {"arguments": ""}}, {"index": 1}) == ()


def test_arguments_that_are_broken_stay_as_they_were_sent() -> None:
    assert assembled(piece("f", '{"a": ', index=0, id="a"), piece(text="oops}}", index=0)) == (
        ModelCall("a", "f", '{"a": oops}}'),
    )


def test_arguments_that_are_an_object_become_its_text() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": {"ä": [1, None]}}}
    answer = Assembly()
    answer.add({"choices": [{"message": {"tool_calls": [call]}}]})
    assert answer.reply().calls == (ModelCall("a", "f", '{"ä":[1,null]}'),)


def test_calls_of_a_whole_answer_are_never_merged() -> None:
    calls = [{"id": call_id, "function": {"name": "f", "arguments": "{}"}} for call_id in ("a", "a", "", None, "f")]
    answer = Assembly()
    answer.add({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]})
    assert [call.provider_id for call in answer.reply().calls] == ["a", "a", "", "", "f"]


def test_the_old_single_function_call_is_read_in_both_forms() -> None:
    whole = Assembly()
    whole.add({"choices": [{"message": {"function_call": {"name": "f", "arguments": "{}"}}}]})
    streamed = Assembly()
    for fields in ({"name": "f", "arguments": ""}, {"arguments": "{"}, {"arguments": "}"}):
        streamed.add({"choices": [{"delta": {"function_call": fields}}]})
    streamed.add({"choices": [{"delta": {}, "finish_reason": "function_call"}]})
    assert whole.reply().calls == streamed.reply().calls == (ModelCall("", "f", "{}"),)


def test_deeply_nested_arguments_do_no_harm() -> None:
    deep = '{"a":' * 20_000 + "1" + "}" * 20_000
    assert assembled(piece("f", deep, index=0, id="a"), piece(text='{"b":1}', index=0)) == (
        ModelCall("a", "f", deep + '{"b":1}'),
    )
