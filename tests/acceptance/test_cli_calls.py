"""Calls that are listed and cancelled by what they have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import Desk, a_store, a_worker
from tests.acceptance.person import Here
from tests.waiting import eventually

from errands_config import keys
from errands_config.settings import Settings
from errands_config.store import plain
from errands_config.wire import CallState


@contextmanager
def a_desk(settings: Settings) -> Generator[Desk]:
    """A session of this test's own. It is no whole one: nothing of it is left for others to list."""
    with plain(settings) as store:
        desk = Desk(store)
        try:
            yield desk
        finally:
            store.zrem(keys.SESSIONS, desk.sid)
            desk.clear()


@pytest.fixture
def desk(deployment: Settings) -> Iterator[Desk]:
    """A session at the worker of the deployment."""
    with a_desk(deployment) as desk:
        yield desk


@pytest.fixture
def calls(desk: Desk) -> dict[str, str]:
    """Two calls that run, one that waits on a queue of nobody, and one that has ended."""
    made = {
        "ended": desk.call("add", a=1, b=2),
        "first": desk.call("bash_fake", mode="sleep"),
        "second": desk.call("bash_fake", mode="sleep"),
        "queued": desk.call("add", a=1, b=2, queue="nobody"),
    }
    desk.end(made["ended"])
    desk.running(made["first"])
    desk.running(made["second"])
    return made


def names(calls: dict[str, str], rows: list[dict[str, Any]]) -> list[str]:
    by_id = {cid: name for name, cid in calls.items()}
    return [by_id[row["tool_call_id"]] for row in rows]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["queued", "second", "first", "ended"]),
        (("--limit", "2"), ["queued", "second"]),
        (("--state", "running"), ["second", "first"]),
        (("--state", "running", "--limit", "1"), ["second"]),
        (("--state", "completed,queued"), ["queued", "ended"]),
        (("--state", "completed", "--state", "queued"), ["queued", "ended"]),
        (("--tool", "bash_*"), ["second", "first"]),
        (("--tool", "add", "--since", "1h"), ["queued", "ended"]),
        (("--since", "2200-01-01"), []),
        (("--since", "0s"), []),
    ],
)
def test_calls_are_listed_by_state_tool_and_time(
    here: Here, desk: Desk, calls: dict[str, str], words: tuple[str, ...], expected: list[str]
) -> None:
    rows = here.types("calls", "ls", "--session", desk.sid, *words, "--json").json

    assert names(calls, rows) == expected


def test_running_calls_of_all_sessions_are_listed_newest_first(
    here: Here, deployment: Settings, calls: dict[str, str]
) -> None:
    with a_desk(deployment) as other:
        newest = other.call("bash_fake", mode="sleep")
        other.running(newest)

        rows = here.types("calls", "ls", "--state", "running", "--json").json

    assert [row["tool_call_id"] for row in rows][:3] == [newest, calls["second"], calls["first"]]


def test_a_dry_run_lists_what_would_be_cancelled_and_cancels_nothing(
    here: Here, desk: Desk, calls: dict[str, str]
) -> None:
    dry = here.types("calls", "cancel", "--session", desk.sid, "--dry-run", "--json")
    table = here.types("calls", "cancel", "--session", desk.sid, "--tool", "add", "--dry-run")

    assert (dry.code, names(calls, dry.json)) == (0, ["queued", "second", "first"])
    assert [line.split()[:3] for line in table.out.splitlines()] == [
        ["TOOL_CALL_ID", "TOOL", "STATUS"],
        [calls["queued"], "add", "queued"],
    ]
    assert desk.state(calls["queued"]) is CallState.QUEUED


def test_all_open_calls_of_a_session_are_cancelled_at_once(here: Here, desk: Desk, calls: dict[str, str]) -> None:
    done = here.types("calls", "cancel", "--session", desk.sid, "--yes", "--reason", "enough", "--json")

    assert done.code == 0
    assert names(calls, done.json) == ["queued", "second", "first"]
    assert [list(row.values())[1:] for row in done.json] == [
        [True, "queued", "cancelled"],
        [True, "running", "cancelled"],
        [True, "running", "cancelled"],
    ]
    assert here.types("calls", "show", calls["first"], "--json").json["reason"] == "enough"
    assert here.types("calls", "cancel", "--session", desk.sid, "--yes").err == "no call to cancel\n"


def test_calls_that_are_named_are_cancelled_and_one_that_had_ended_is_told(
    here: Here, desk: Desk, calls: dict[str, str]
) -> None:
    done = here.types("calls", "cancel", calls["first"], calls["ended"], calls["first"], "--json")

    assert done.code == 5
    assert names(calls, done.json) == ["first", "ended"]
    assert [(row["cancelled"], row["status"]) for row in done.json] == [(True, "cancelled"), (False, "completed")]
    assert desk.state(calls["second"]) is CallState.RUNNING


def test_a_name_that_nobody_has_keeps_the_others_from_being_cancelled(
    here: Here, desk: Desk, calls: dict[str, str]
) -> None:
    done = here.types("calls", "cancel", calls["queued"], "nobody")

    assert (done.code, "no call 'nobody'" in done.err) == (4, True)
    assert desk.state(calls["queued"]) is CallState.QUEUED


def test_filters_narrow_the_calls_that_are_named(here: Here, calls: dict[str, str]) -> None:
    done = here.types("calls", "cancel", *calls.values(), "--tool", "add", "--yes", "--json")

    assert (done.code, names(calls, done.json)) == (0, ["queued"])


def test_a_call_whose_worker_does_not_answer_is_told_as_asked(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands_orchestrator.cli.cancelling.CONFIRM_SECONDS", 0.2)
    with a_store(tmp_path / "other") as settings, a_worker(settings, tmp_path / "log"), a_desk(settings) as desk:
        cid = desk.call("fake", mode="native")  # holds the interpreter, so that its process must be killed
        desk.running(cid)

        done = here.having(ERRANDS_REDIS_URL=settings.redis_url or "").types("calls", "cancel", cid, "--json")

    assert done.json == {
        "tool_call_id": cid, "cancelled": False, "previous_status": "running", "status": "running",
        "cancel_requested": True,
    }  # fmt: skip


# ---- asking


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of the terminal on which this process reads what is typed."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "r") as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        yield ours
    os.close(ours)


@pytest.mark.parametrize(("typed", "state"), [(b"n\n", "queued"), (b"\n", "queued"), (b"yes\n", "cancelled")])
def test_a_person_sees_what_would_be_cancelled_and_is_asked(
    here: Here, desk: Desk, terminal: int, typed: bytes, state: str
) -> None:
    cid = desk.call("add", a=1, b=2, queue="nobody")
    os.write(terminal, typed)

    done = here.types("calls", "cancel", "--session", desk.sid)

    assert done.code == 0
    assert cid in done.err
    assert "Cancel this call? [y/N]" in done.err
    assert desk.state(cid) == state


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "name the calls"),
        (("--state", "queued"), "say --yes, or look first with --dry-run"),
        (("--state", "runing", "--yes"), "did you mean 'running'?"),
        (("--state", "completed", "--yes"), "a call that is completed has ended"),
        (("--since", "soon", "--yes"), "neither a span"),
    ],
)
def test_a_wish_that_cannot_be_understood_is_refused(here: Here, words: tuple[str, ...], text: str) -> None:
    done = here.types("calls", "cancel", *words)

    assert (done.code, done.out) == (2, "")
    assert text in done.err


def test_hundreds_of_calls_are_cancelled_in_seconds(here: Here, desk: Desk) -> None:
    made = [desk.call("add", a=1, b=2, queue="nobody") for _ in range(300)]

    done = here.types("calls", "cancel", "--session", desk.sid, "--yes", "--json")

    assert [row["tool_call_id"] for row in done.json] == made[::-1]
    assert {row["status"] for row in done.json} == {"cancelled"}
    eventually(lambda: len(desk.mails(made[0], "toolCallFinished")) == 1)
