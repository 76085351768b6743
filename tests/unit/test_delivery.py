"""What goes into one user message: its order, its headings, its bounds; and that the rest follows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.stepper_driver import (
    ALL_DONE,
    ANY_PROGRESS,
    WAIT,
    Driver,
    call,
    control,
    done,
    finished,
    make_brief,
    notified,
    said,
)

from errands_config.wire import CallState, Outcome
from errands_orchestrator.arrivals import Answered, Surveyed
from errands_orchestrator.decisions import AskModel, Park, Survey, Wait
from errands_orchestrator.delivery import delivered
from errands_orchestrator.digest import OUTSTANDING, Outstanding
from errands_orchestrator.room import UNBOUNDED, room_of
from errands_orchestrator.session import Entry, Pending, Session, ToolMessage, ToolsEntry, TrackedCall, UserEntry


def resting(*ids: str, strategy: str = ANY_PROGRESS, more: dict[str, Any] | None = None, **delivery: Any) -> Driver:
    """Background calls c1, c2, … with these provider ids, and a model that ended its turn."""
    driver = Driver(make_brief(strategy, delivery=delivery, **(more or {})))
    driver.begin_run()
    driver.reply(*(call("never", provider_id) for provider_id in ids))
    driver.bring()
    driver.reply(text="meanwhile", finish="stop")
    return driver


def told_of(driver: Driver) -> list[str]:
    """The calls that the newest message tells of."""
    return re.findall(r"^tool_call_id (\w+) ", driver.user_text, re.MULTILINE)


# ---- bounds ----------------------------------------------------------------------------------------------------


def test_no_more_items_go_into_one_request_and_the_rest_follows_in_the_next_ones() -> None:
    driver = resting("a", "b", "d", maxItems=2)
    driver.take(finished("c2"), finished("c3"), finished("c1"), notified("c1"))
    assert told_of(driver) == ["b", "d"]
    assert driver.reply(text="two", finish="stop") == (AskModel(),)
    assert told_of(driver) == ["a"]
    assert driver.user_text.endswith("notifies:\nlook")
    assert driver.reply(text="all", finish="stop") == (Park("idle"),)


def test_the_rest_follows_at_once_although_other_calls_still_run() -> None:
    driver = resting("a", "b", "d", strategy=ALL_DONE, maxItems=1)
    driver.take(finished("c1"), finished("c2"))
    driver.take(said("well?"))
    assert driver.user_text == "well?"
    assert driver.reply(text="hm", finish="stop") == (AskModel(),)
    assert told_of(driver) == ["a"]
    driver.reply(text="one", finish="stop")
    assert told_of(driver) == ["b"]
    assert driver.reply(text="two", finish="stop") == (Wait(None),)


def test_a_rest_is_told_in_a_run_that_would_otherwise_end() -> None:
    driver = resting("a", "b", maxItems=1, more={"onRunEnd": "detach"})
    assert driver.last.decisions == (Park("idle"),)
    driver.take(finished("c1"), finished("c2"))
    driver.begin_run("go on")
    assert [driver.user_text, *(driver.reply(text="ok", finish="stop") and driver.user_text for _ in range(2))] == [
        "go on",
        "Background tool calls from earlier in this conversation finished:\n\ntool_call_id a (never) completed:\nfine",
        "Background tool calls from earlier in this conversation finished:\n\ntool_call_id b (never) completed:\nfine",
    ]


def test_what_the_model_knows_already_makes_no_request_of_its_own_where_it_does_not_fit() -> None:
    driver = resting("a", "b", maxItems=1, more={"capabilities": [WAIT]})
    driver.take(said("?"))
    driver.take(driver.answer(call(WAIT, "q", '{"tool_call_ids":["a"]}')))
    driver.take(finished("c1"), said("!"), Answered("c3", "{}", waited=("c1",)))
    driver.bring()
    assert driver.user_text == "!"
    assert driver.reply(text="hm", finish="stop") == (Wait(None),)
    driver.take(finished("c2"))
    assert told_of(driver) == ["a"]
    assert driver.reply(text="hm", finish="stop") == (AskModel(),)
    assert told_of(driver) == ["b"]


def test_the_first_item_goes_whatever_its_size_and_no_item_is_cut() -> None:
    driver = resting("a", "b", maxBytes=10)
    driver.take(finished("c1", done("x" * 100)), finished("c2"))
    assert driver.user_text.endswith("x" * 100)
    assert told_of(driver) == ["a"]


def test_bytes_are_counted_with_headings_and_blank_lines() -> None:
    both = resting("a", "b")
    both.take(finished("c1", done("é")), finished("c2"))
    size = len(both.user_text.encode())
    for bound, told in ((size, ["a", "b"]), (size - 1, ["a"])):
        driver = resting("a", "b", maxBytes=bound)
        driver.take(finished("c1", done("é")), finished("c2"))
        assert told_of(driver) == told


def test_letters_that_are_not_told_yet_still_count_against_the_bound_of_the_mailbox() -> None:
    driver = resting("a", maxItems=1)
    before = driver.session.heard
    driver.take(said("one"), said("two"))
    assert driver.session.heard == before + 1
    driver.reply(text="hm", finish="stop")
    assert driver.session.heard == before + 2


def test_mail_in_tool_results_and_the_user_message_share_one_bound() -> None:
    brief = make_brief(ANY_PROGRESS, mailInToolResult=True, delivery={"maxItems": 3})
    driver = Driver(brief)
    driver.begin_run()
    driver.reply(call("work", "a"), call("never", "b"))
    driver.take(notified("c2", "n1"), notified("c2", "n2"), finished("c1"), finished("c2"), said("one"), said("two"))
    driver.bring()
    assert driver.tool_messages[0].text.count("notifies:") == 2
    assert driver.user_text == "one"
    driver.reply(text="hm", finish="stop")
    assert driver.user_text.startswith("two\n\nBackground")


def test_that_bound_holds_although_something_is_looked_up_between_the_two() -> None:
    more: dict[str, Any] = {"mailInToolResult": True, "registry": {"digest": True}, "delivery": {"maxItems": 2}}
    driver = Driver(make_brief(ANY_PROGRESS, **more))
    driver.begin_run()
    driver.reply(call("work", "a"), call("never", "b"))
    driver.take(notified("c2"), finished("c1"), said("one"), said("two"))
    assert driver.bring() == (Survey(("c2",)),)
    assert driver.take(Surveyed((Outstanding("c2", CallState.RUNNING),))) == (AskModel(),)
    assert driver.user_text.startswith(f"one\n\n{OUTSTANDING}")
    driver.reply(text="hm", finish="stop")
    driver.take(Surveyed(()))
    assert driver.user_text == "two"
    assert driver.reply(text="hm", finish="stop") == (Wait(None),)


def test_that_bound_holds_over_a_pause_and_a_new_owner() -> None:
    brief = make_brief(ANY_PROGRESS, mailInToolResult=True, delivery={"maxItems": 1})
    driver = Driver(brief)
    driver.begin_run()
    driver.take(control("pause"))
    driver.take(control("resume", turns=1))
    driver.reply(call("work", "a"), call("never", "b"))
    driver.take(notified("c2"), finished("c1"), said("one"))
    driver.bring()
    assert driver.tool_messages[0].text.endswith("notifies:\nlook")
    driver.take(control("resume"))
    assert driver.user_text == "go"
    driver.reply(text="hm", finish="stop")
    assert driver.user_text == "one"


def test_a_stop_keeps_what_was_not_told_for_the_next_run() -> None:
    driver = resting("a", "b", maxItems=1)
    driver.take(finished("c1"), finished("c2"))
    driver.take(control("stopRun"))
    driver.begin_run("on")
    driver.reply(text="hm", finish="stop")
    assert told_of(driver) == ["b"]


def test_results_that_come_on_their_own_calls_are_bounded_too_and_a_person_is_heard_before_them() -> None:
    brief = make_brief(ANY_PROGRESS, flavor="OpenAIResponses", async_tools=True, delivery={"maxItems": 2})
    driver = Driver(brief)
    driver.begin_run()
    driver.reply(*(replace(call("never", provider_id), is_async=True) for provider_id in "abd"))
    driver.reply(text="meanwhile", finish="stop")
    driver.take(finished("c3"), finished("c1"), finished("c2"), said("well?"))
    assert [entry.kind for entry in driver.log[-2:]] == ["tools", "user"]
    assert [message.id for message in driver.tool_messages] == ["d"]
    assert driver.reply(text="hm", finish="stop") == (AskModel(),)
    assert [message.id for message in driver.tool_messages] == ["a", "b"]
    assert driver.reply(text="hm", finish="stop") == (Park("idle"),)


def native(**delivery: Any) -> Driver:
    """Background calls c1, c2, c3 that have no placeholders, and a model that ended its turn."""
    driver = Driver(make_brief(ANY_PROGRESS, flavor="OpenAIResponses", async_tools=True, delivery=delivery))
    driver.begin_run()
    driver.reply(*(replace(call("never", provider_id), is_async=True) for provider_id in "abd"))
    driver.reply(text="meanwhile", finish="stop")
    return driver


@pytest.mark.parametrize("style", ["notice", "event"])
def test_results_on_their_own_calls_are_told_before_the_mail_that_came_behind_them(style: str) -> None:
    driver = native(style=style, maxItems=2)
    driver.take(finished("c2"), notified("c1"), notified("c3"))
    assert [entry.kind for entry in driver.log[-2:]] == ["tools", "user"]
    assert driver.reply(text="hm", finish="stop") == (AskModel(),)
    assert [entry.kind for entry in driver.log[-2:]] == ["assistant", "user"]


def test_results_of_earlier_turns_are_bounded_too_where_a_turn_is_handed_back() -> None:
    driver = native(maxItems=1)
    driver.take(said("?"))
    driver.reply(call("wait", "w"))
    driver.take(finished("c3"), finished("c1"), finished("c2"), finished("c4"))
    assert [message.id for entry in driver.log[-2:] for message in tools(entry)] == ["w", "d"]
    for ended in ("a", "b"):
        driver.reply(text="hm", finish="stop")
        assert [message.id for message in driver.tool_messages] == [ended]
    assert driver.reply(text="hm", finish="stop") == (Park("idle"),)


def tools(entry: Entry) -> tuple[ToolMessage, ...]:
    return entry.messages if isinstance(entry, ToolsEntry) else ()


# ---- headings --------------------------------------------------------------------------------------------------

OWN = {"newest": "{name} ({handle}) is in: {state}", "buried": ["Do you remember {id}?", "It is {state}."]}


def test_a_result_has_the_heading_of_its_place() -> None:
    driver = resting("a", templates=OWN)
    driver.take(finished("c1"))
    assert driver.user_text == "never (a) is in: completed\n\ntool_call_id a (never) completed:\nfine"
    driver = resting("a", templates=OWN)
    driver.take(said("else"))
    driver.take(driver.answer(text="hm", finish="stop"), finished("c1"))
    assert driver.user_text == ("Do you remember a?\nIt is completed.\n\ntool_call_id a (never) completed:\nfine")


def test_results_in_a_row_stand_under_one_heading_as_long_as_it_is_the_same() -> None:
    driver = resting("a", "b", "d", templates={"newest": "{state}:"})
    driver.take(finished("c1"), finished("c2", Outcome(state=CallState.FAILED, error="no")), finished("c3"))
    assert driver.user_text.split("\n\n")[::2] == ["completed:", "failed:", "completed:"]
    driver = resting("a", "b", templates={"newest": "{state}:"})
    driver.take(finished("c1"), finished("c2"))
    assert driver.user_text.count("completed:\n\n") == 1


def test_a_handle_stands_in_a_heading_where_the_call_has_one() -> None:
    tracked = TrackedCall("c1", "a", "t", 1, 0, "strategy", state=CallState.COMPLETED, text="x", handle="price_1")
    _, _, entry = delivered(make_brief(delivery={"templates": OWN}), Session("s", calls=(tracked,)), UNBOUNDED)
    assert entry
    assert entry.text.startswith("t (price_1) is in: completed\n\n")


# ---- any session -----------------------------------------------------------------------------------------------

ITEMS = st.lists(
    st.tuples(st.sampled_from(["user", "mail", "notify", "end", "buried end"]), st.integers(0, 40)), max_size=12
)


def session_of(items: list[tuple[str, int]]) -> Session:
    """Letters and ends that came in this order, each with a number of its own and so many letters more."""
    calls: list[TrackedCall] = []
    inbox: list[Pending] = []
    for number, (kind, size) in enumerate(items, 1):
        text = f"<{number}>" + "é" * size
        if kind in ("user", "mail", "notify"):
            inbox.append(Pending(kind, text, came=number))
        else:
            ended = TrackedCall(f"c{number}", f"p{number}", "t", 1, number, "strategy", ended=number, text=text)
            calls.append(replace(ended, state=CallState.COMPLETED, buried=kind == "buried end"))
    return Session("s", calls=tuple(reversed(calls)), inbox=tuple(inbox))


def numbers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"<(\d+)>", text)]


@given(items=ITEMS, most=st.none() | st.integers(1, 5), size=st.none() | st.integers(1, 300), events=st.booleans())
def test_all_is_told_once_in_order_and_within_the_bounds(
    items: list[tuple[str, int]], most: int | None, size: int | None, *, events: bool
) -> None:
    style = "event" if events else "notice"
    brief = make_brief(capabilities=[], delivery={"style": style, "maxItems": most, "maxBytes": size})
    session = session_of(items)
    whole = delivered(brief, session, UNBOUNDED)[2]
    told: list[int] = []
    for _ in items:
        session, _, entry = delivered(brief, session, room_of(brief))
        assert entry
        new = numbers(entry.text)
        assert new
        assert len(new) <= (most or len(new))
        assert len(new) == 1 or len(entry.text.encode()) <= (size or len(entry.text.encode()))
        assert entry.from_person == any(items[number - 1][0] == "user" for number in new)
        told += new
        if not (session.inbox or session.has_rest):
            break
    assert delivered(brief, session, UNBOUNDED) == (session, (), None)
    assert sorted(told) == list(range(1, len(items) + 1))
    assert not session.calls
    if not any(kind == "buried end" for kind, _ in items) or events:
        # a person's words in between make results ones from earlier; they keep their order among themselves
        assert not whole or numbers(whole.text) == told
    for group in (("user",), ("mail", "notify"), ("end",), ("buried end",)):
        mine = [number for number in told if items[number - 1][0] in group]
        assert mine == sorted(mine)


def test_the_log_never_holds_an_empty_message() -> None:
    brief = make_brief()
    session, _, entry = delivered(brief, Session("s"), room_of(brief))
    assert (session, entry) == (Session("s"), None)
    assert not any(isinstance(it, UserEntry) and not it.text for it in resting("a").log)
    assert all(it.messages for it in resting("a").log if isinstance(it, ToolsEntry))


@pytest.mark.parametrize("bound", [{"maxItems": 1}, {"maxBytes": 1}])
def test_a_bound_that_takes_one_thing_at_a_time_tells_everything(bound: dict[str, Any]) -> None:
    driver = resting("a", "b", "d", **bound)
    driver.take(said("x"), finished("c3"), notified("c1"), finished("c1"), finished("c2"))
    for _ in range(4):
        assert driver.reply(text="hm", finish="stop") == (AskModel(),)
    assert driver.reply(text="hm", finish="stop") == (Park("idle"),)
