"""Calls that wait for somebody outside, as a real worker leaves them: a hook's doing, or the tool's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import Desk, Worker, in_both_pools
from tests.waiting import eventually

from errands_config import keys
from errands_config.scripts.calls import Place
from errands_config.scripts.deferred import approve
from errands_config.scripts.script import run
from errands_config.wire import After, Around, Before, CallState, Hook, Retries, Timeout, Truncate

pytest_plugins = ("tests.acceptance.worker_fixtures",)


def before(name: str) -> tuple[Around, ...]:
    return (Before(hook=Hook(kind="command", name=name)),)


def after(name: str) -> tuple[Around, ...]:
    return (After(hook=Hook(kind="command", name=name)),)


def _trace(desk: Desk, folder: Path, around: tuple[Around, ...], *, may_defer: bool = True) -> str:
    """A call that leaves a trace in a folder if its tool runs."""
    return desk.call("leave_trace", path=str(folder / "trace"), around=around, may_defer=may_defer)


def _place(desk: Desk, cid: str) -> Place:
    record: Any = desk.store.hmget(keys.call(cid), *Place.FIELDS)
    place = Place.of(cid, record)
    assert place
    return place


def _wait_deferred(desk: Desk, cid: str, nonce: int = 1) -> None:
    eventually(lambda: desk.state(cid) == CallState.DEFERRED and desk.field(cid, "nonce") == str(nonce))


@in_both_pools
def test_an_approved_call_is_run_without_the_hook_that_asked(desk: Desk, hooks: Path, tmp_path: Path):
    around = (*before("record"), *before("defer"), *after("note"))
    cid = _trace(desk, tmp_path, around)
    _wait_deferred(desk, cid)
    assert (desk.field(cid, "defer_kind"), desk.field(cid, "defer_reason")) == ("hook", "ask Ada")
    assert (desk.field(cid, "defer_hook"), desk.field(cid, "defer_arguments")) == ("command defer", "")
    assert not (tmp_path / "trace").exists()
    (hooks / f"seen-{cid}").unlink()
    assert run(desk.store, approve(_place(desk, cid), 1, desk.field(cid, "arguments"))).outcome == "ok"
    desk.publish(desk.message(cid, "leave_trace", attempt=2))
    assert desk.end(cid).result == "ran\n\n[hook note: seen]"
    assert (hooks / f"seen-{cid}").exists()


@in_both_pools
def test_leave_for_other_arguments_is_none(desk: Desk, tmp_path: Path):
    cid = _trace(desk, tmp_path, before("defer"))
    _wait_deferred(desk, cid)
    assert run(desk.store, approve(_place(desk, cid), 1, '{"path": "other"}')).outcome == "ok"
    desk.publish(desk.message(cid, "leave_trace", attempt=2))
    _wait_deferred(desk, cid, nonce=2)
    assert not (tmp_path / "trace").exists()


@in_both_pools
def test_arguments_that_another_hook_has_changed_are_those_that_wait(desk: Desk, hooks: Path, tmp_path: Path):
    cid = _trace(desk, tmp_path, (*before("change"), *before("defer")))
    _wait_deferred(desk, cid)
    shown = desk.field(cid, "defer_arguments")
    assert json.loads(shown) == {"path": f"{hooks}/changed", "text": "changed"}
    assert run(desk.store, approve(_place(desk, cid), 1, shown)).outcome == "ok"
    desk.publish(desk.message(cid, "leave_trace", attempt=2))
    assert desk.end(cid).result == "changed"


@in_both_pools
def test_a_call_that_may_not_wait_is_denied_where_a_hook_wants_to_defer_it(desk: Desk, tmp_path: Path):
    outcome = desk.end(_trace(desk, tmp_path, before("defer"), may_defer=False))
    assert outcome.state == CallState.DENIED
    assert outcome.error.startswith("blocked by policy: hook defer wants to defer this call")


EVERYTHING: tuple[Around, ...] = (
    Truncate(max_bytes=1), *after("note"), Retries(count=5), Timeout(seconds=30), *before("allow"),
)  # fmt: skip


@in_both_pools
@pytest.mark.parametrize("around", [(), EVERYTHING], ids=["plain", "wrapped"])
def test_a_tool_can_leave_its_call_to_others_and_nothing_around_it_acts_on_that(
    desk: Desk, tmp_path: Path, around: tuple[Around, ...]
):
    cid = desk.call("leave_to_others", path=str(tmp_path / "trace"), around=around)
    _wait_deferred(desk, cid)
    assert (desk.field(cid, "defer_kind"), desk.field(cid, "defer_reason")) == ("tool", "the job runs elsewhere")
    assert desk.field(cid, "expires_ms") == "60000"
    assert (tmp_path / "trace").read_text() == "ran\n"
    assert desk.progress(cid) == [{"started": True}]
    assert [mail["call"] for mail in desk.mails(cid, "toolCallDeferred")] == [cid]
    desk.cancel(cid)


@in_both_pools
def test_a_sync_tool_can_do_so_too_and_its_slot_is_free_at_once(desk: Desk, worker: Worker):
    cid = desk.call("leave_to_others_sync")
    _wait_deferred(desk, cid)
    assert desk.field(cid, "defer_reason") == "the job\u2400 runs elsewhere"
    assert worker.store.hgetall(keys.worker_calls(worker.ready())) == {}
    assert desk.result("add", a=1, b=2) == 3
    desk.cancel(cid)


@in_both_pools
@pytest.mark.parametrize("around", [(), (Retries(count=1),)], ids=["plain", "wrapped"])
def test_a_call_that_may_not_wait_fails_where_its_tool_wants_to_leave_it(desk: Desk, around: tuple[Around, ...]):
    outcome = desk.end(desk.call("leave_to_others_sync", around=around, may_defer=False))
    assert outcome.state == CallState.FAILED
    assert "the tool wants to wait for somebody outside" in outcome.error


def test_the_reason_why_a_call_waits_stands_in_no_log(desk: Desk, worker: Worker):
    cid = desk.call("leave_to_others_sync")
    _wait_deferred(desk, cid)
    assert "the job" not in worker.log.read_text()
    desk.cancel(cid)
