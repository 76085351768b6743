"""The small parts of `errands up` and `errands flower`: pauses, words from logs, news, requests to stop, logins."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.agent import parse_agent
from errands_config.errors import ConfigError, Conflict
from errands_orchestrator.cli.flower import LOGIN, login_of
from errands_orchestrator.cli.keeping import LONGEST_PAUSE_SECONDS, pause_after
from errands_orchestrator.cli.log_tail import LogTail, heard_in, last_words
from errands_orchestrator.cli.own_worker import OwnWorker, worker_command
from errands_orchestrator.cli.sole_up import sole_up
from errands_orchestrator.cli.stop_requests import stop_requests
from errands_orchestrator.cli.up_news import AWAY, Died, News, Note, Status, Stopping
from errands_orchestrator.cli.up_telling import LineTelling

CALM = Status(
    store="ok", workers=1, slots=4, busy_slots=0, sessions_running=0, calls_running=0, calls_queued=0
)  # fmt: skip
BUSY = CALM.model_copy(update={"busy_slots": 1})


@given(st.integers(0, 10_000))
def test_the_more_short_lives_the_longer_the_pause_up_to_a_bound(short_lives: int) -> None:
    assert pause_after(0) == 0
    assert pause_after(short_lives) <= pause_after(short_lives + 1) <= LONGEST_PAUSE_SECONDS
    assert short_lives == 0 or pause_after(short_lives) > 0


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (1, "died with exit code 1"),
        (-9, "was killed by SIGKILL"),
        (-200, "was killed by signal 200"),
        (None, "died"),
    ],
)
def test_a_death_is_told_by_its_code_with_the_last_words(code: int | None, says: str) -> None:
    death = Died(part="worker", exit_code=code, last_words="help", again_in_seconds=0.5)

    assert death.line == f"worker: {says}, starting it again in 0.5 s; last words: help"


def test_who_stops_while_calls_run_is_told_how_to_hurry() -> None:
    assert "Ctrl-C again" in Stopping(busy=2).line
    assert Stopping(busy=0).line == "stopping"


# ---- logs


@given(st.binary())
def test_any_line_may_stand_in_a_log(line: bytes) -> None:
    heard_in("worker", line)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_a_line_that_is_any_json_is_no_news(value: object) -> None:
    assert heard_in("worker", json.dumps(value).encode()) is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"kind": "model.failed", "level": "warning", "ts": "now", "detail": "no key"}, "model.failed: detail=no key"),
        ({"kind": "worker.ended", "level": "info", "end": "died", "code": -9}, "worker.ended: end=died, code=-9"),
        ({"kind": "worker.ended", "level": "info", "end": "stopped"}, None),
        ({"kind": "tool_call.started", "level": "info"}, None),
        ({"kind": "library", "level": "error", "message": "noise"}, None),
    ],
)
def test_a_person_hears_of_warnings_and_deaths_and_of_nothing_else(line: dict[str, object], told: str | None) -> None:
    heard = heard_in("part", json.dumps(line).encode())

    assert (heard and heard.line) == (told and f"part: {told}")


def test_a_log_is_read_on_line_by_line_and_the_same_words_are_not_told_again_at_once(tmp_path: Path) -> None:
    log, warning = tmp_path / "log", b'{"kind": "store.away", "level": "warning"}\n'
    log.write_bytes(b"")
    tail = LogTail("part", log)
    with log.open("ab", buffering=0) as file:
        file.write(warning[:10])
        assert list(tail.news()) == []
        file.write(warning[10:] + warning)
        assert [heard.kind for heard in tail.news()] == ["store.away"]
        log.unlink()
        file.write(warning.replace(b"away", b"back"))
        assert [heard.kind for heard in tail.news()] == ["store.back"]
    tail.close()


def test_last_words_are_the_end_of_a_log_in_short_without_what_no_one_wants_to_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = [
        '{"kind": "worker.started", "level": "info", "pid": 1}',
        '{"kind": "library", "level": "warning", "logger": "py.warnings", "message": "you are root"}',
        "Traceback \x1b[31m(most recent call last)",
    ]
    log.write_text("\n".join(lines) + "\n")

    assert last_words(log) == "worker.started: pid=1 | Traceback (most recent call last)"
    assert last_words(tmp_path / "none") == ""


# ---- telling


def test_the_status_is_told_when_it_has_changed_and_not_too_often() -> None:
    told: list[News] = []
    now = [100.0]
    telling = LineTelling(told.append, 5, lambda: now[0])

    for status, later in ((CALM, 0), (CALM, 9), (BUSY, 0), (CALM, 1), (AWAY, 0), (CALM, 0)):
        now[0] += later
        telling.show(status)

    assert told == [CALM, BUSY, AWAY, CALM]
    telling.tell(Note(text="so"))
    assert told[-1] == Note(text="so")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_every_way_to_ask_for_the_end_counts(number: signal.Signals) -> None:
    with stop_requests() as requests:
        waiting = asyncio.create_task(requests.reach(2))
        os.kill(os.getpid(), number)
        assert requests.count == 1
        assert not waiting.done()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(waiting, 5)


def test_one_home_has_one_up_and_the_second_hears_of_the_first(tmp_path: Path) -> None:
    told = pytest.raises(Conflict, match=f"process {os.getpid()}, agents one, two")
    with sole_up(tmp_path / "home", ["one", "two"]), told, sole_up(tmp_path / "home", []):
        pass
    with sole_up(tmp_path / "home", []):
        pass


# ---- what a worker of ours is started with


def agent(slug: str, **more: object) -> OwnWorker:
    return OwnWorker(parse_agent(json.dumps({"slug": slug, **more}), origin="test"), Path(f"/x/{slug}.json"))


@pytest.mark.parametrize(("concurrency", "said", "slots"), [(1, None, "4"), (9, None, "9"), (9, 2, "2")])
def test_one_worker_serves_all_agents_with_slots_for_the_one_that_needs_most(
    concurrency: int, said: int | None, slots: str
) -> None:
    command = worker_command([agent("a"), agent("b", maxConcurrency=concurrency)], said)

    assert command[-4:] == ["/x/a.json", "/x/b.json", "--slots", slots]


# ---- who may look at Flower


def test_a_login_is_made_where_none_is_given_and_never_the_same() -> None:
    first, second = login_of({}, ()), login_of({}, ())

    assert first != second
    assert all(len(login[LOGIN]) > 20 and login[LOGIN].startswith("errands:") for login in (first, second))


@pytest.mark.parametrize(
    ("environment", "options"),
    [({LOGIN: "me:mine"}, ()), ({LOGIN: "a:b,c:d"}, ()), ({"FLOWER_AUTH": "x@y"}, ()), ({}, ("--auth=x@y",))],
)
def test_no_login_is_made_where_the_user_has_said_who_may_look(
    environment: dict[str, str], options: tuple[str, ...]
) -> None:
    assert login_of(environment, options) == {}


@pytest.mark.parametrize("given", ["me", "me:", ":mine", "a:b,c", "a:b,"])
def test_a_login_without_a_password_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match=LOGIN):
        login_of({LOGIN: given}, ())
