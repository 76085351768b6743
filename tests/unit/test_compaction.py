"""Compaction: which results become one line, when, and that nothing else changes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.stepper_driver import ANY_PROGRESS, STATUS, Driver, call, done, finished, make_brief, notified, said

from errands_orchestrator.arrivals import Received, Surveyed
from errands_orchestrator.compaction import as_seen, in_short
from errands_orchestrator.digest import OUTSTANDING, Outstanding
from errands_orchestrator.printing import Printed, markdown
from errands_orchestrator.session import AssistantEntry, CompactionEntry, Entry, ToolsEntry, UserEntry
from errands_orchestrator.snapshot import dump_entry, load_entry
from errands_orchestrator.transcript import Transcript

LONG = "the first line\n" + "more of it\n" * 40
SHORT = "the first line [in short; get-tool-call-status({}) reads the rest]"


def compacting(turns: int, **more: Any) -> Driver:
    delivery = {"compactAfterTurns": turns, **more.pop("delivery", {})}
    driver = Driver(make_brief(ANY_PROGRESS, delivery=delivery, **more))
    driver.begin_run()
    return driver


def turn(driver: Driver, result: str = LONG) -> None:
    """One call that the step waits for, and its result."""
    driver.reply(call("wait", f"call_{driver.session.turn + 1}"))
    driver.take(finished(f"c{driver.minted}", done(result)))


def compactions(driver: Driver) -> list[tuple[int, int]]:
    """Behind which answer each stands, and what it means."""
    answers = 0
    found: list[tuple[int, int]] = []
    for entry in driver.log:
        answers += isinstance(entry, AssistantEntry)
        if isinstance(entry, CompactionEntry):
            found.append((answers, entry.before))
    return found


def results_of(log: list[Entry]) -> list[str]:
    return [message.text for entry in as_seen(log) if isinstance(entry, ToolsEntry) for message in entry.messages]


def test_it_comes_in_blocks_and_leaves_the_newest_turns_whole() -> None:
    driver = compacting(2)
    for _ in range(9):
        turn(driver)
    assert compactions(driver) == [(4, 3), (6, 5), (8, 7)]
    assert results_of(driver.log) == [SHORT.format(f"c{n}") for n in range(1, 7)] + [LONG] * 3


def test_the_newest_turn_is_whole_even_where_one_turn_is_kept() -> None:
    driver = compacting(1)
    for number in range(1, 6):
        turn(driver)
        assert results_of(driver.log)[-1] == LONG
        assert results_of(driver.log)[:-1] == [SHORT.format(f"c{n}") for n in range(1, number)]


def test_between_two_compactions_the_prefix_keeps_its_bytes() -> None:
    driver = compacting(3)
    sent: list[bytes] = []
    for _ in range(12):
        turn(driver)
        sent.append(Transcript.of("p", as_seen(driver.log)).messages())
    kept = [new.startswith(old[:-1]) for old, new in pairwise(sent)]
    assert [number for number, same in enumerate(kept, 2) if not same] == [6, 9, 12]


def test_the_log_keeps_everything_and_is_printed_whole() -> None:
    driver = compacting(1)
    for _ in range(3):
        turn(driver)
    assert [load_entry(dump_entry(entry)) for entry in driver.log] == driver.log
    printed = markdown(Printed(driver.log, results="shown"))
    assert printed.count("more of it") == 3 * 40
    assert (
        "## Step 6: Compaction\n\n"
        "_(From here on the model sees the results that it had before its answer 2 in one line each)_\n"
    ) in printed


def test_late_results_become_one_line_each_and_words_of_people_and_mail_stay() -> None:
    driver = compacting(1, capabilities=[])
    driver.reply(call("never", "a"), call("never", "b"))
    driver.bring()
    driver.reply(text="meanwhile", finish="stop")
    driver.take(said("one\ntwo"), notified("c2", "still\nrunning"), finished("c1", done(LONG)))
    driver.reply(call("wait", "d"))
    driver.take(finished("c3"))
    driver.reply(text="hm", finish="stop")
    driver.take(said("next"))
    [_, seen, *_] = [entry.text for entry in as_seen(driver.log) if isinstance(entry, UserEntry)]
    assert seen == (
        "one\ntwo\n\nBackground tool calls finished since their placeholder responses:\n\n"
        "tool_call_id a (never) completed:\nthe first line [in short]\n\n"
        "[mail n1 from tool call c2]\ntool call b (never) notifies:\nstill\nrunning"
    )


def test_placeholders_and_mail_behind_a_result_stay_whole() -> None:
    driver = compacting(1, mailInToolResult=True)
    driver.reply(call("work", "a"), call("never", "b"))
    driver.take(notified("c2", "half\nway"), finished("c1", done(LONG)))
    driver.bring()
    turn(driver)
    turn(driver)
    result, placeholder, *_ = results_of(driver.log)
    assert result == f"{SHORT.format('c1')}\n\n[mail n1 from tool call c2]\ntool call b (never) notifies:\nhalf\nway"
    assert json.loads(placeholder)["status"] == "running"


def test_a_result_that_became_short_still_says_that_it_is_of_a_second_run() -> None:
    driver = compacting(1)
    driver.reply(call("wait", "a"))
    again = finished("c1", done(LONG)).mail.model_copy(update={"starts": 2})
    driver.take(Received(again))
    turn(driver)
    assert results_of(driver.log)[0] == f"(run again from the start after a restart)\n{SHORT.format('c1')}"


def test_answers_about_calls_become_short_too_but_name_nothing_to_read() -> None:
    assert in_short("{" + "x" * 400, "", STATUS) == "{" + "x" * 198 + "… [in short]"


@pytest.mark.parametrize("text", ["", "one line", "a\nb", "x" * 200])
def test_what_is_no_longer_than_its_line_stays_as_it_is(text: str) -> None:
    assert in_short(text, "c1", STATUS) == text


def test_a_digest_of_long_ago_goes_with_the_results() -> None:
    driver = compacting(1, registry={"digest": True})
    driver.reply(call("never", "a"))
    driver.bring()
    driver.reply(text="hm", finish="stop")
    driver.take(said("?"))
    driver.take(Surveyed((Outstanding("c1", driver.tracked("c1").state),)))
    assert OUTSTANDING in driver.user_text
    turn(driver)
    turn(driver)
    assert "?" in [entry.text for entry in as_seen(driver.log) if isinstance(entry, UserEntry)]


def test_events_that_hold_their_result_whole_become_short() -> None:
    driver = compacting(1, capabilities=[], delivery={"style": "event"})
    driver.reply(call("never", "a"))
    driver.bring()
    driver.reply(text="hm", finish="stop")
    driver.take(finished("c1", done(LONG)))
    assert "more of it" in driver.user_text
    for _ in range(2):
        driver.reply(text="hm", finish="stop")
        driver.take(said("?"))
    assert [entry.text for entry in as_seen(driver.log) if isinstance(entry, UserEntry)][1] == (
        "[event] job_completed job_id=a tool=never status=done\nsummary: the first line [in short]"
    )


def test_without_the_key_nothing_is_compacted() -> None:
    driver = Driver(make_brief(ANY_PROGRESS))
    driver.begin_run()
    for _ in range(30):
        turn(driver)
    assert compactions(driver) == []
    assert as_seen(driver.log) == driver.log


@given(st.integers(1, 4), st.lists(st.text("ab\n ", max_size=300), min_size=1, max_size=14))
def test_any_log_stays_a_valid_conversation_with_the_newest_turns_whole(kept: int, results: list[str]) -> None:
    driver = compacting(kept)
    for result in results:
        turn(driver, result)
    seen = as_seen(driver.log)
    Transcript.of("p", seen).messages()
    assert len(seen) == len(driver.log)
    whole = [message.text for entry in driver.log if isinstance(entry, ToolsEntry) for message in entry.messages]
    now = [message.text for entry in seen if isinstance(entry, ToolsEntry) for message in entry.messages]
    assert now[-kept:] == whole[-kept:]
    assert sum(one != other for one, other in zip(now, whole, strict=True)) <= max(0, len(results) - kept)
    for number in range(max(0, len(results) - 2 * kept + 1)):
        assert now[number] == in_short(whole[number], f"c{number + 1}", STATUS)
    assert [entry for entry in seen if not isinstance(entry, ToolsEntry)] == [
        entry for entry in driver.log if not isinstance(entry, ToolsEntry)
    ]
