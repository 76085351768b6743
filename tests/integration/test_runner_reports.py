"""A call's news on a real store: thinned out, in order, none lost that must not be."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from tests.acceptance.desk import Desk
from tests.waiting import eventually

from errands_config import keys
from errands_config.scripts.attempts import ClaimRefused, Holder, claim, finish
from errands_config.scripts.script import run
from errands_config.scripts.workers import beat
from errands_config.settings import Settings
from errands_config.store import LAUNCHER_SECONDS, launcher_connection
from errands_config.wire import CallState, Claimed, Outcome, TaskMessage
from errands_workers.reports import MAX_PAYLOAD_BYTES, CallReports, Reporter
from errands_workers.settling import settle_incarnation, settle_pool_process

HOLDER = Holder("w", 4711)


@pytest.fixture
def desk(store: redis.Redis) -> Desk:
    run(store, beat("w", {"host": "here"}))
    return Desk(store)


def claimed(desk: Desk, holder: Holder = HOLDER) -> Claimed:
    cid = desk.call("add", a=1, b=2)
    message = TaskMessage(call=cid, session=desk.sid, queue="default", attempt=1, published=1)
    taken = run(desk.store, claim(message, f"token of {cid}", holder))
    assert not isinstance(taken, ClaimRefused)
    return taken


@pytest.fixture
def reporter(store: redis.Redis) -> Reporter:
    reporter = Reporter(store)
    reporter.start()
    return reporter


@pytest.fixture
def call(desk: Desk) -> Claimed:
    return claimed(desk)


@pytest.fixture
def reports(reporter: Reporter, call: Claimed) -> Iterator[CallReports]:
    reports = reporter.of(call, per_second=5, on_lost=lambda: None)
    yield reports
    reports.close(completed=True)


def test_of_fast_news_the_newest_is_kept_and_the_last_is_sent_before_the_end(
    desk: Desk, call: Claimed, reports: CallReports
):
    for n in range(2000):
        reports.progress(n)
    reports.close(completed=True)
    said = desk.progress(call.call)[1:]
    assert said == sorted(said)
    assert said[-1] == 1999
    assert len(said) < 50


def test_slow_news_are_all_kept_without_a_further_report(desk: Desk, call: Claimed, reports: CallReports):
    reports.progress("first")
    eventually(lambda: "first" in desk.progress(call.call))
    reports.progress("second")
    eventually(lambda: "second" in desk.progress(call.call), within=1)


def test_notifies_are_mail_in_order_up_to_sixteen_and_progress_beyond(desk: Desk, call: Claimed, reports: CallReports):
    for n in range(20):
        reports.notify(f"note {n}")
    reports.close(completed=True)
    assert [mail["text"] for mail in desk.mails(call.call, "toolCallNotify")] == [f"note {n}" for n in range(16)]
    assert {"level": "notify", "message": "note 19"} in desk.progress(call.call)


def test_a_payload_that_says_it_is_a_notify_is_one(desk: Desk, call: Claimed, reports: CallReports):
    reports.progress({"level": "notify", "message": "look"})
    reports.close(completed=True)
    assert [mail["text"] for mail in desk.mails(call.call, "toolCallNotify")] == ["look"]


def test_large_and_foreign_news_are_cut_and_cleaned(desk: Desk, call: Claimed, reports: CallReports):
    reports.progress("x" * 1_000_000)
    reports.notify("\x1b[31m" + "y" * 1_000_000)
    reports.close(completed=True)
    cut = desk.progress(call.call)[-1]
    assert len(cut) < MAX_PAYLOAD_BYTES
    [mail] = desk.mails(call.call, "toolCallNotify")
    assert mail["text"].startswith("y")
    assert len(mail["text"]) < MAX_PAYLOAD_BYTES + 100


def test_news_of_a_call_that_is_held_no_more_tell_their_sender(desk: Desk, call: Claimed, reporter: Reporter):
    lost = threading.Event()
    reports = reporter.of(call, per_second=5, on_lost=lost.set)
    run(desk.store, finish(call, HOLDER, "default", Outcome(state=CallState.FAILED, error="e")))
    reports.progress(1)
    assert lost.wait(5)
    reports.close(completed=True)


def test_a_notify_waits_for_a_store_that_is_away_and_is_mail_once_though_it_was_sent_twice(
    desk: Desk, call: Claimed, settings: Settings
):
    told: Any = desk.store.info("server")
    with launcher_connection(settings) as store:
        reporter = Reporter(store)
        reporter.start()
        reports = reporter.of(call, per_second=5, on_lost=lambda: None)
        os.kill(told["process_id"], signal.SIGSTOP)
        try:
            reports.notify("kept")
            closing = threading.Thread(target=reports.close, kwargs={"completed": True}, daemon=True)
            closing.start()
            closing.join(LAUNCHER_SECONDS + 0.5)
            assert closing.is_alive()
        finally:
            os.kill(told["process_id"], signal.SIGCONT)
        closing.join(5)
        assert not closing.is_alive()
    assert [mail["text"] for mail in desk.mails(call.call, "toolCallNotify")] == ["kept"]


def test_a_dead_pool_process_ends_its_own_calls_only(desk: Desk, call: Claimed):
    other = claimed(desk, Holder("w", 4712))
    assert settle_pool_process(desk.store, "w", 4711, [call.call, other.call]) == {"orphaned": 1}
    assert (desk.state(call.call), desk.state(other.call)) == (CallState.ORPHANED, CallState.RUNNING)


def test_an_incarnation_that_is_given_up_ends_all_its_calls_once(desk: Desk, call: Claimed):
    other = claimed(desk, Holder("w", 4712))
    assert settle_incarnation(desk.store, "w", "its worker died", drained=False) == {"orphaned": 2}
    assert settle_incarnation(desk.store, "w", "its worker died", drained=False) == {}
    assert desk.end(call.call).reason == "its worker died"
    assert desk.state(other.call) == CallState.ORPHANED
    assert desk.store.zscore(keys.WORKERS, "w") is None


def test_a_call_without_a_record_is_forgotten(desk: Desk, store: redis.Redis):
    store.hset(keys.worker_calls("w"), "gone", 1)
    assert settle_incarnation(store, "w", "its worker died", drained=False) == {}
    assert store.hlen(keys.worker_calls("w")) == 0
