"""Shared limits: how many calls run at a time, how many start in a minute, and who is next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.integration.script_scenes import HOLDER, QUEUE, DeclaredOnly, Scene, cancelling, deferring, policy

from errands_config import keys
from errands_config.scripts import attempts, calls, workers
from errands_config.scripts.attempts import ClaimRefused
from errands_config.scripts.calls import Place
from errands_config.scripts.deferred import Edited, approve, complete
from errands_config.settings import Settings
from errands_config.wire import CallPolicy, CallState, Claimed, Outcome, SharedLimit

DONE = Outcome(state=CallState.COMPLETED)


def limited(*limits: SharedLimit, **more: Any) -> CallPolicy:
    return policy(limits=limits or (SharedLimit(name="gpu", concurrency=1),), **more)


class Line:
    """Calls under a limit, in a store that lets scripts touch declared keys only."""

    def __init__(self, store: redis.Redis, declared: DeclaredOnly) -> None:
        self.store, self.scene, self.run = store, Scene(store), declared.run
        self.scene.owned()
        self.run(workers.beat(HOLDER.worker, {}))
        self.claims: dict[str, Claimed] = {}

    def queued(self, *cids: str, under: CallPolicy | None = None) -> None:
        for cid in cids:
            self.scene.queued(cid, call_policy=under or limited())

    def claim(self, cid: str) -> str:
        """What became of it: `running`, or why not."""
        attempt = int(self.scene.fields(cid)["attempt"])
        got = self.run(attempts.claim(self.scene.message(cid, attempt=attempt), f"{cid} {attempt}", HOLDER))
        if isinstance(got, ClaimRefused):
            return got.why
        self.claims[cid] = got
        return "running"

    def finish(self, cid: str) -> None:
        assert self.run(attempts.finish(self.claims.pop(cid), HOLDER, QUEUE, DONE)).outcome == "ok"

    def defer(self, cid: str) -> None:
        assert self.run(deferring(self.claims.pop(cid))).outcome == "ok"

    def approve(self, cid: str, edited: Edited | None = None) -> None:
        assert self.run(approve(self.scene.place(cid), 1, "{}", edited)).outcome == "ok"

    def swept(self) -> list[str]:
        """Let a sweeper look at what is due; the calls that have their turn now."""
        due = self.store.zrangebyscore(keys.WATCH, "-inf", self.now)
        asked: list[Any] = due
        return [
            cid for cid in asked if self.run(calls.overdue(self.scene.place(cid), offered=True)).outcome == "granted"
        ]

    @property
    def now(self) -> int:
        seconds, micros = self.store.time()
        return seconds * 1000 + micros // 1000

    def members(self, which: int, name: str = "gpu") -> list[str]:
        found: Any = self.store.zrange(keys.limit(name)[which], 0, -1)
        return found

    @property
    def holders(self) -> list[str]:
        return self.members(0)

    @property
    def waiting(self) -> list[str]:
        return self.members(1)


@pytest.fixture
def declared(settings: Settings, store: redis.Redis) -> Iterator[DeclaredOnly]:
    client = DeclaredOnly(settings)
    yield client
    client.close()


@pytest.fixture
def line(store: redis.Redis, declared: DeclaredOnly) -> Line:
    return Line(store, declared)


def test_a_call_over_the_limit_waits_without_a_slot_and_names_the_limit(line: Line) -> None:
    line.queued("c1", "c2")

    assert (line.claim("c1"), line.claim("c2")) == ("running", "limited")

    kept = line.scene.fields("c2")
    assert (kept["state"], kept["limit"], kept["attempt"]) == ("waiting", "gpu", "1")
    assert (line.holders, line.waiting) == (["c1"], ["c2"])
    assert line.scene.traces("c2") == ["watch"]


@pytest.mark.parametrize("lets_go", [Line.finish, Line.defer])
def test_a_slot_that_is_let_go_goes_to_the_first_in_line_and_a_sweeper_is_told(
    lets_go: Callable[[Line, str], None], line: Line
) -> None:
    line.queued("c1", "c2", "c3")
    for cid in ("c1", "c2", "c3"):
        line.claim(cid)
    line.store.delete(keys.SWEEP)

    lets_go(line, "c1")

    assert line.store.llen(keys.SWEEP) == 1
    assert line.swept() == ["c2"]
    assert (line.scene.state("c2"), line.holders, line.waiting) == ("queued", ["c2"], ["c3"])
    assert line.store.zscore(keys.queued(QUEUE), "c2") == 0
    assert line.claim("c2") == "running"


def test_nobody_overtakes_those_who_wait(line: Line) -> None:
    line.queued("c1", "c2")
    line.claim("c1")
    line.claim("c2")
    line.finish("c1")
    line.queued("c3")

    assert line.claim("c3") == "limited"
    assert line.waiting == ["c2", "c3"]


@pytest.mark.parametrize("end", ["cancelled", "settled", "again"])
def test_a_slot_is_free_however_its_holder_ends(end: str, line: Line) -> None:
    line.queued("c1", under=limited(rerun_times=1 if end == "again" else 0))
    line.queued("c2")
    line.claim("c1")
    line.claim("c2")

    if end == "cancelled":
        line.run(attempts.finish(line.claims["c1"], HOLDER, QUEUE, Outcome(state=CallState.CANCELLED)))
    else:
        line.run(calls.settle_call(line.scene.place("c1"), HOLDER.worker))

    assert line.swept() == ["c2"]
    assert line.holders == ["c2"]


def test_a_call_that_is_cancelled_in_line_lets_the_next_one_forward(line: Line) -> None:
    line.queued("c1", "c2", "c3")
    for cid in ("c1", "c2", "c3"):
        line.claim(cid)

    assert line.run(cancelling(line.scene.place("c2"))).outcome == "cancelled"
    line.finish("c1")

    assert line.swept() == ["c3"]


def test_a_call_that_was_granted_and_is_cancelled_gives_its_slot_back(line: Line) -> None:
    line.queued("c1", "c2", "c3")
    for cid in ("c1", "c2", "c3"):
        line.claim(cid)
    line.finish("c1")
    line.swept()

    line.run(cancelling(line.scene.place("c2")))

    assert line.swept() == ["c3"]


def test_a_call_that_has_leave_takes_its_place_behind_those_who_wait(line: Line) -> None:
    line.queued("c1", "c2", "c3")
    for cid in ("c1", "c2", "c3"):
        line.claim(cid)
    line.defer("c1")
    line.swept()

    line.approve("c1")

    assert line.claim("c1") == "limited"
    assert (line.holders, line.waiting) == (["c2"], ["c3", "c1"])
    line.claim("c2")
    line.finish("c2")
    assert line.swept() == ["c3"]


def test_the_end_of_a_deferred_call_takes_nobody_elses_slot(line: Line) -> None:
    line.queued("c1", "c2")
    line.claim("c1")
    line.defer("c1")
    line.claim("c2")

    assert line.run(complete(line.scene.place("c1"), 1, DONE)).outcome == "ok"

    assert line.holders == ["c2"]


@pytest.mark.parametrize("asks", ["cancel", "overdue"])
def test_who_has_seen_a_call_under_another_limit_than_its_edited_one_looks_again(asks: str, line: Line) -> None:
    line.queued("c1", "c2")
    line.claim("c1")
    line.defer("c1")
    line.claim("c2")
    seen = line.scene.place("c1")
    api = limited(SharedLimit(name="api", concurrency=1))
    line.queued("c3", under=api)
    line.claim("c3")
    line.approve("c1", Edited('{"x":1}', api, QUEUE))
    assert (line.claim("c1"), line.members(1, "api")) == ("limited", ["c1"])
    line.scene.long_ago("c1")

    def ask(place: Place) -> str:
        if asks == "cancel":
            return line.run(cancelling(place)).outcome
        return line.run(calls.overdue(place, offered=True)).outcome

    assert (ask(seen), line.members(1, "api")) == ("moved", ["c1"])
    assert ask(line.scene.place("c1")) == ("cancelled" if asks == "cancel" else "ended")
    assert line.members(1, "api") == []


def test_a_call_that_waits_in_line_too_long_times_out(line: Line) -> None:
    line.queued("c1", "c2")
    line.claim("c1")
    line.claim("c2")
    line.scene.long_ago("c2")

    assert line.run(calls.overdue(line.scene.place("c2"), offered=True)).outcome == "ended"
    assert (line.scene.state("c2"), line.scene.fields("c2")["reason"]) == (
        "timed_out",
        "it waited for the shared limit gpu",
    )
    assert line.waiting == []


def test_starts_in_a_minute_are_bounded_and_the_next_one_is_looked_at_when_the_oldest_is_out(line: Line) -> None:
    under = limited(SharedLimit(name="gpu", per_minute=2))
    line.queued("c1", "c2", "c3", under=under)

    assert [line.claim(cid) for cid in ("c1", "c2", "c3")] == ["running", "running", "limited"]
    line.finish("c1")
    assert line.swept() == []

    moment = line.store.zscore(keys.WATCH, "c3") or 0
    assert 50_000 < moment - line.now <= 60_000
    starts = keys.limit("gpu")[2]
    line.store.zadd(starts, {"c1:1": line.now - 60_001}, xx=True)
    line.store.zadd(keys.WATCH, {"c3": 1}, xx=True)
    assert line.swept() == ["c3"]
    assert line.claim("c3") == "running"


def test_a_call_under_two_limits_holds_neither_while_it_waits_for_one(line: Line) -> None:
    gpu, api = SharedLimit(name="gpu", concurrency=1), SharedLimit(name="api", concurrency=1)
    line.queued("c1", under=limited(api))
    line.queued("c2", under=limited(gpu, api))
    line.queued("c3", under=limited(gpu))
    line.claim("c1")

    assert line.claim("c2") == "limited"
    assert (line.holders, line.members(1, "api")) == ([], ["c2"])
    assert line.claim("c3") == "running"
    line.finish("c1")
    assert line.swept() == []
    assert line.waiting == ["c2"]
    line.finish("c3")
    assert line.swept() == ["c2"]


def assert_sound(line: Line, under: dict[str, tuple[str, int]]) -> None:
    """No limit is exceeded, and whatever runs holds its slot."""
    for name in {name for name, _ in under.values()}:
        held = line.members(0, name)
        assert len(held) <= max(bound for other, bound in under.values() if other == name)
        assert {cid for cid in under if under[cid][0] == name and line.scene.state(cid) == "running"} <= set(held)


MOVES = st.lists(
    st.tuples(st.sampled_from(["claim", "finish", "cancel", "settle", "sweep", "sweep"]), st.integers(0, 5)),
    max_size=40,
)
BOUNDS = st.lists(st.sampled_from([("a", 1), ("a", 2), ("b", 1), ("b", 3)]), min_size=6, max_size=6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES, bounds=BOUNDS)
@example(moves=[("claim", 0), ("claim", 2)], bounds=[("a", 1)] * 6)
def test_no_order_of_things_breaks_a_limit_or_leaves_a_call_behind(
    store: redis.Redis, declared: DeclaredOnly, moves: list[tuple[str, int]], bounds: list[tuple[str, int]]
) -> None:
    store.flushdb()
    line = Line(store, declared)
    cids = [f"c{number}" for number in range(6)]
    for cid, (name, bound) in zip(cids, bounds, strict=True):
        line.queued(cid, under=limited(SharedLimit(name=name, concurrency=bound), rerun_times=1))

    for move, number in moves:
        cid = cids[number]
        match move:
            case "claim":
                line.claim(cid)
            case "finish" if cid in line.claims and line.scene.state(cid) == "running":
                line.run(attempts.finish(line.claims[cid], HOLDER, QUEUE, DONE))
            case "cancel":
                line.run(cancelling(line.scene.place(cid)))
            case "settle":
                line.run(calls.settle_call(line.scene.place(cid), HOLDER.worker))
            case _:
                line.swept()
        assert_sound(line, dict(zip(cids, bounds, strict=True)))
    for _ in range(60):
        for cid in cids:
            line.claim(cid)
            line.run(calls.settle_call(line.scene.place(cid), HOLDER.worker))
        line.swept()
    assert all(CallState(line.scene.state(cid)).is_final for cid in cids)
    assert not any(line.members(which, name) for which in (0, 1) for name, _ in bounds)
