"""The scripted model: which turn answers, and how a script that cannot be used is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.errors import ConfigError, ModelError
from errands_orchestrator.models import ModelCall, ModelRequest, Reply, ScriptedModel, scripted_model

Message = dict[str, object]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def tool(text: str) -> Message:
    return {"role": "tool", "tool_call_id": "a", "content": text}


def script(*turns: object) -> ScriptedModel:
    return scripted_model(json.dumps(turns))


async def ask(model: ScriptedModel, *messages: Message) -> Reply:
    return await model.reply(ModelRequest("m", json.dumps(messages).encode()))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6))
async def test_turns_without_when_are_spoken_one_after_another(lines: list[str]) -> None:
    model = script(*({"say": line} for line in lines))
    history: list[Message] = [user("go")]
    for line in lines:
        assert (await ask(model, *history)).text == line
        history += [said(line), user("on")]
    with pytest.raises(ModelError, match=f"answer {len(lines) + 1}") as caught:
        await ask(model, *history)
    assert (caught.value.cause, caught.value.retryable) == ("script has no turn", False)


async def test_another_process_gives_the_same_answer_from_the_messages_alone() -> None:
    turns = ({"say": "one"}, {"when": "news", "say": "ah"}, {"say": "two"})
    history = [user("go"), said("one"), user("news"), said("ah"), user("and?")]
    assert await ask(script(*turns), *history) == await ask(script(*turns), *history) == Reply("two")


async def test_a_turn_with_when_fits_as_often_as_its_text_is_new() -> None:
    model = script({"when": "ping", "say": "pong"}, {"say": "first"}, {"say": "second"})
    history = [user("hello")]
    for heard, answer in [("ping", "first"), ("ping", "pong"), ("and?", "pong"), ("", "second")]:
        assert (await ask(model, *history)).text == answer
        history += [said(answer), user(heard)]


async def test_only_what_came_since_the_last_answer_counts() -> None:
    model = script({"when": "secret", "say": "found"}, {"when": "", "say": "nothing"})
    system: Message = {"role": "system", "content": "secret"}
    assert (await ask(model, system, user("hi"))).text == "nothing"
    assert (await ask(model, user("secret"), said("found"), user("hi"))).text == "nothing"
    assert (await ask(model, user("hi"), said("secret"), tool("a"), tool("secret"), user("hi"))).text == "found"


async def test_every_text_of_a_list_must_be_there() -> None:
    model = script({"when": ["lint", "tests"], "say": "both"}, {"when": "", "say": "not yet"})
    assert (await ask(model, tool("lint"))).text == "not yet"
    assert (await ask(model, tool("lint"), user("tests"))).text == "both"


async def test_lines_are_joined_and_calls_are_sent_as_they_stand() -> None:
    calls = [
        {"name": "a", "arguments": {"x": "ä", "y": [1]}},
        {"name": "b", "arguments": "{broken", "id": ""},
        {"name": "c", "id": "mine"},
    ]
    reply = await ask(script({"say": ["one", "two"], "calls": calls}), user("go"))
    assert reply == Reply(
        "one\ntwo",
        (
            ModelCall("call_1_1", "a", '{"x":"ä","y":[1]}'),
            ModelCall("", "b", "{broken"),
            ModelCall("mine", "c", "{}"),
        ),
        "tool_calls",
    )


async def test_ids_that_the_script_leaves_out_are_unique_over_the_conversation() -> None:
    model = script({"when": "", "calls": [{"name": "a"}, {"name": "a"}]})
    first = await ask(model, user("go"))
    second = await ask(model, user("go"), {"role": "assistant", "content": "x"}, user("on"))
    assert len({call.provider_id for call in first.calls + second.calls}) == 4


async def test_the_finish_reason_can_be_set() -> None:
    assert (await ask(script({"say": "half", "finish": "length"}), user("go"))).finish == "length"


async def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "demo.script.json"
    file.write_text('[{"say": "hello"}]')
    assert (await ask(scripted_model(file), user("go"))).text == "hello"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[{"say": "a"}, {"says": "b"}]', r"demo\.json\[1\]\.says: "),
        ('[{"calls": [{"name": "a"}, {"arguments": {}}]}]', r"demo\.json\[0\]\.calls\[1\]\.name: "),
        ('[{"finish": "soon"}]', r"demo\.json\[0\]\.finish: "),
        ('[{"when": 3}]', r"demo\.json\[0\]\.when: "),
        ('{"say": "a"}', r"demo\.json: "),
        ("[{", r"demo\.json: this is not JSON"),
    ],
)
def test_a_script_that_cannot_be_read_is_refused_with_the_place(text: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=place):
        scripted_model(file)


def test_a_script_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: the script cannot be read: No such file"):
        scripted_model(tmp_path / "none.json")
