"""What a call prints while it runs, on a real store: in order, whole, bounded, and gone once there is a result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
import redis
from tests.acceptance.desk import Desk
from tests.integration.test_runner_reports import HOLDER, call, claimed, desk, reporter
from tests.waiting import eventually

from errands_config import keys
from errands_config.scripts import attempts
from errands_config.scripts.script import run
from errands_config.wire import CallState, Claimed, Outcome
from errands_workers.printed_lines import GAP, PrintedLines
from errands_workers.reports import CallReports, Reporter

__all__ = ["call", "desk", "reporter"]
LINES = [f"line {number}\n" for number in range(3000)]


@pytest.fixture
def reports(reporter: Reporter, call: Claimed) -> Iterator[CallReports]:
    reports = reporter.of(call, per_second=5, on_lost=lambda: None, output_bytes=1_000_000)
    yield reports
    reports.close(completed=True)


def stored(desk: Desk, call: Claimed) -> str:
    kept = desk.store.get(keys.output(call.call))
    return str(kept) if kept else ""


def test_lines_are_stored_in_order_while_the_call_runs(desk: Desk, call: Claimed, reports: CallReports):
    for line in LINES:
        assert reports.output(line)
    eventually(lambda: stored(desk, call) == "".join(LINES))
    assert desk.store.hget(keys.call(call.call), "output_full") is None


def test_a_piece_is_sent_at_most_twice_a_second(desk: Desk, call: Claimed, reports: CallReports):
    def pieces() -> int:
        stats: Any = desk.store.info("commandstats")
        return int(stats.get("cmdstat_append", {"calls": 0})["calls"])

    before, began = pieces(), time.monotonic()
    for line in LINES:
        reports.output(line)
    eventually(lambda: stored(desk, call) == "".join(LINES))
    assert pieces() - before <= 1 + 2 * (time.monotonic() - began)


def test_what_is_not_sent_yet_is_sent_at_the_end_of_a_call_without_a_result(
    desk: Desk, call: Claimed, reports: CallReports
):
    reports.output("the last words\n")
    reports.close(completed=False)
    assert stored(desk, call) == "the last words\n"
    run(desk.store, attempts.finish(call, HOLDER, "default", Outcome(state=CallState.FAILED, error="e")))
    assert stored(desk, call) == "the last words\n"


def test_a_result_takes_the_place_of_what_was_printed(desk: Desk, call: Claimed, reports: CallReports):
    reports.output("one\n")
    eventually(lambda: stored(desk, call))
    reports.output("two\n")
    reports.close(completed=True)
    assert stored(desk, call) == "one\n"
    run(desk.store, attempts.finish(call, HOLDER, "default", Outcome(state=CallState.COMPLETED, result="one\ntwo")))
    assert desk.store.exists(keys.output(call.call)) == 0


def test_more_than_is_kept_is_told_and_no_line_is_cut(desk: Desk, call: Claimed, reporter: Reporter):
    reports = reporter.of(call, per_second=5, on_lost=lambda: None, output_bytes=24)
    assert [reports.output("0123456789\n"), reports.output("one\ntwo\nthree\nfour\n")] == [True, False]
    assert not reports.output("x\n")
    reports.close(completed=False)
    assert stored(desk, call) == "0123456789\none\ntwo\n"
    assert desk.store.hget(keys.call(call.call), "output_full") == "1"


def test_lines_that_the_store_lost_leave_a_mark(desk: Desk, call: Claimed):
    printed = PrintedLines(call)
    printed.add("one\n", is_full=False)
    assert printed.send(desk.store)
    desk.store.set(keys.output(call.call), "")  # it came back a second younger
    printed.add("two\n", is_full=False)
    while printed.is_waiting:
        assert printed.send(desk.store)
    assert stored(desk, call) == f"{GAP}two\n"


def test_a_piece_whose_answer_was_lost_is_not_stored_twice(desk: Desk, call: Claimed):
    piece = attempts.output(call, 0, "é\n")
    assert [run(desk.store, piece), run(desk.store, piece)] == [3, 3]
    assert stored(desk, call) == "é\n"


def test_an_attempt_that_holds_the_call_no_more_adds_nothing_and_is_told(desk: Desk, reporter: Reporter):
    call, lost = claimed(desk), list[bool]()
    reports = reporter.of(call, per_second=5, on_lost=lambda: lost.append(True), output_bytes=100)
    run(desk.store, attempts.finish(call, HOLDER, "default", Outcome(state=CallState.CANCELLED)))
    reports.output("too late\n")
    eventually(lambda: lost)
    reports.close(completed=False)
    assert stored(desk, call) == ""


class Unsure:
    """A connection that loses the next answers of scripts."""

    def __init__(self, store: redis.Redis, failures: int) -> None:
        self.failures = failures
        self._store = store

    def evalsha(self, *words: Any) -> Any:
        answer: Any = self._store.evalsha(*words)
        if self.failures:
            self.failures -= 1
            raise redis.ConnectionError
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_no_line_is_lost_or_doubled_where_answers_are_lost(desk: Desk, call: Claimed):
    unsure = Unsure(desk.store, 2)
    reporter = Reporter(cast("redis.Redis", unsure))
    reporter.start()
    reports = reporter.of(call, per_second=5, on_lost=lambda: None, output_bytes=100)
    reports.output("one\n")
    eventually(lambda: not unsure.failures)
    reports.output("two\n")
    eventually(lambda: "two" in stored(desk, call))
    reports.close(completed=False)
    assert stored(desk, call) == "one\ntwo\n"
