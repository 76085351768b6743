"""A machine that asks a call in the store and a plain model of it the same questions, and compares what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import hypothesis.strategies as st
import redis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.integration.script_scenes import QUEUE, DeclaredOnly, Scene, cancelling, policy

from errands_config import keys
from errands_config.scripts import attempts, calls, workers
from errands_config.scripts.attempts import ClaimRefused, Holder
from errands_config.scripts.script import Invocation
from errands_config.wire import Approval, CallPolicy, CallState, Claimed, Outcome

T = TypeVar("T")
HOLDERS = {"w1": Holder("w1", 11), "w2": Holder("w2", 22)}
WORKERS = st.sampled_from(sorted(HOLDERS))
ASKERS = st.sampled_from(["one", "two"])
TWICE = st.booleans()
BACK = st.sampled_from([0, 0, 0, 1])
"""How many attempts a message or a write is behind."""
ORDERS = settings(max_examples=80, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LISTS = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
RERUNS = st.sampled_from([0, 0, 1, 9])
"""How often a call may be started again."""
ENDS = st.sampled_from([CallState.COMPLETED, CallState.FAILED, CallState.CANCELLED, CallState.TIMED_OUT])


@dataclass
class Call:
    """What the call must be."""

    state: str = "queued"
    worker: str = ""
    asker: str = ""
    """Who asked first for its end; empty: nobody."""
    late: bool = False
    """Its moment in `watch` has passed."""
    deadline_passed: bool = False
    deadline_asked: bool = False
    ended_with: str = ""
    live: set[str] = field(default_factory=set[str])
    attempt: int = 1
    starts: int = 0
    lost: int = 0
    reruns: int = 0
    """How often it may be started again."""
    approved: tuple[Approval, ...] = ()
    after_expiry: str = "expired"
    """How it ends when nobody outside comes in time."""

    @property
    def final(self) -> bool:
        return CallState(self.state).is_final

    def runs_on(self, worker: str) -> bool:
        return self.state == "running" and self.worker == worker

    def held_by(self, worker: str, attempt: int) -> bool:
        return self.runs_on(worker) and attempt == self.attempt


def token_of(worker: str, attempt: int) -> str:
    return f"token of {worker} for {attempt}"


class CallMachine(RuleBasedStateMachine):
    """Puts the same questions to the store and to the model. Any script may run twice."""

    def __init__(self, store: redis.Redis, declared: DeclaredOnly) -> None:
        super().__init__()
        store.flushdb()
        self.scene, self.declared, self.call = Scene(store), declared, Call()
        self.policy = policy()
        self.scene.owned()

    def prepare(self, call_policy: CallPolicy) -> None:
        self.policy, self.call.reruns = call_policy, call_policy.rerun_times
        for worker in HOLDERS:
            self.beat(worker)

    def held(self, token: str) -> Claimed:
        return Claimed(
            call="c1", session="s1", conversation="s1", agent="a", tool="work", provider_id="p1", arguments="{}",
            policy=self.policy, attempt=1, token=token, deadline_ms=1000,
        )  # fmt: skip

    def ask(self, invocation: Invocation[T], twice: bool) -> T:
        answer = self.declared.run(invocation)
        if twice:
            self.declared.run(invocation)
        return answer

    @rule(worker=WORKERS)
    def beat(self, worker: str) -> None:
        heard = self.declared.run(workers.beat(worker, {}))
        if worker in self.settled:
            assert heard.state == "settled"
            return
        self.call.live.add(worker)
        runs = self.call.runs_on(worker)
        assert set(heard.calls) == ({"c1"} if runs else set())
        assert set(heard.wishes) == ({"c1"} if runs and self.asked_to_end else set())

    @property
    def settled(self) -> set[str]:
        return {worker for worker in HOLDERS if self.scene.store.zscore(keys.SETTLED, worker) is not None}

    @property
    def asked_to_end(self) -> bool:
        return bool(self.call.asker or self.call.deadline_asked)

    @rule(worker=WORKERS, twice=TWICE)
    def settle(self, worker: str, twice: bool) -> None:
        assert self.ask(workers.settle(worker), twice) == "settled"
        self.call.live.discard(worker)

    @rule(worker=WORKERS, back=BACK, twice=TWICE)
    def claim(self, worker: str, back: int, twice: bool) -> None:
        attempt = self.call.attempt - back
        message = self.scene.message(attempt=attempt)
        got = self.ask(attempts.claim(message, token_of(worker, attempt), HOLDERS[worker]), twice)
        if worker not in self.call.live:
            assert got == ClaimRefused("lapsed")
        elif self.call.state == "queued" and back == 0:
            assert isinstance(got, Claimed)
            assert (got.attempt, got.approved) == (attempt, self.call.approved)
            self.call.state, self.call.worker, self.call.late = "running", worker, False
            self.call.starts += 1
        elif self.call.held_by(worker, attempt):
            assert isinstance(got, Claimed)
        else:
            assert isinstance(got, ClaimRefused)
            assert got.state == self.call.state

    @rule(worker=WORKERS, end=ENDS, back=BACK, twice=TWICE)
    def finish(self, worker: str, end: CallState, back: int, twice: bool) -> None:
        attempt = self.call.attempt - back
        token = token_of(worker, attempt)
        outcome = Outcome(state=end, result="r")
        answer = self.ask(attempts.finish(self.held(token), HOLDERS[worker], QUEUE, outcome), twice).outcome
        if self.call.final:
            assert answer == ("ok" if self.call.ended_with == token else "late")
        elif self.call.held_by(worker, attempt):
            assert answer == "ok"
            self.call.state, self.call.ended_with = str(end), token
        else:
            assert answer == "lost"

    @rule(asker=ASKERS, twice=TWICE)
    def cancel(self, asker: str, twice: bool) -> None:
        answer = self.ask(cancelling(self.scene.place(), asker=asker), twice).outcome
        if self.call.final:
            mine = self.call.state == "cancelled" and self.call.asker == asker
            assert answer == ("cancelled" if mine else "final")
            return
        self.call.asker = self.call.asker or asker
        assert answer == ("asked" if self.call.state == "running" else "cancelled")
        if answer == "cancelled":
            self.call.state = "cancelled"

    @rule(worker=WORKERS, pid=st.sampled_from(["", "11", "22"]), drained=st.booleans(), twice=TWICE)
    def settle_call(self, worker: str, pid: str, drained: bool, twice: bool) -> None:
        answer = self.ask(calls.settle_call(self.scene.place(), worker, pid=pid, drained=drained), twice)
        if self.call.runs_on(worker) and pid in ("", str(HOLDERS[worker].pid)):
            self.it_lost_its_process(drained)
            assert answer == self.call.state
        else:
            assert answer == ""

    def it_lost_its_process(self, drained: bool) -> None:
        call = self.call
        if call.asker or call.deadline_passed:
            call.state = "cancelled" if call.asker else "timed_out"
            return
        call.lost += not drained
        if call.lost >= calls.MOST_LOST:
            call.state = "failed"
        elif call.starts <= call.reruns:
            call.state, call.attempt, call.late, call.deadline_asked = "queued", call.attempt + 1, False, False
        else:
            call.state = "orphaned"

    @precondition(lambda self: not self.call.final)
    @rule()
    def its_time_passes(self) -> None:
        self.scene.long_ago()
        self.call.late = True
        self.call.deadline_passed = self.call.state == "running"

    @rule(offered=st.booleans(), twice=TWICE)
    def overdue(self, offered: bool, twice: bool) -> None:
        answer = self.ask(calls.overdue(self.scene.place(), offered=offered), twice).outcome
        if self.call.final or not self.call.late:
            assert answer == "early"
        elif self.call.state == "running":
            assert answer == "asked"
            self.call.deadline_asked, self.call.late = True, False
        else:
            assert answer == "ended"
            nobody = self.call.after_expiry if self.call.state == "deferred" else ""
            self.call.state = nobody or ("timed_out" if offered else "failed")

    @rule(twice=TWICE)
    def repeat(self, twice: bool) -> None:
        self.ask(calls.repeat("c1", QUEUE, patience_ms=0), twice)

    @rule(worker=WORKERS, number=st.integers(1, 3), back=BACK, twice=TWICE)
    def notify(self, worker: str, number: int, back: int, twice: bool) -> None:
        attempt = self.call.attempt - back
        answer = self.ask(attempts.notify(self.held(token_of(worker, attempt)), number, "{}", "look"), twice)
        assert answer in (("ok", "kept") if self.call.held_by(worker, attempt) else ("lost",))

    @rule(worker=WORKERS, back=BACK, twice=TWICE)
    def progress(self, worker: str, back: int, twice: bool) -> None:
        attempt = self.call.attempt - back
        answer = self.ask(attempts.progress(self.held(token_of(worker, attempt)), "{}"), twice)
        assert answer == ("ok" if self.call.held_by(worker, attempt) else "lost")

    @invariant()
    def store_and_model_agree(self) -> None:
        final = self.call.final
        assert self.call.starts <= 1 + self.call.reruns
        assert self.scene.state() == self.call.state
        assert self.scene.ends() == ([self.call.state] if final else [])
        assert len(self.scene.completion_letters()) == final

    @invariant()
    def it_stands_in_the_indexes_of_its_state_and_no_others(self) -> None:
        for worker in HOLDERS:
            expected = {"queued": ["queued", "watch"], "running": ["watch"], "deferred": ["watch"]}.get(
                self.call.state, []
            )
            if self.call.runs_on(worker):
                expected = ["watch", "worker_calls", *(["wishes"] if self.asked_to_end else [])]
            assert self.scene.traces(worker=worker) == expected

    def is_as_the_model_says(self) -> None:
        """All that holds after every step."""
        self.store_and_model_agree()
        self.it_stands_in_the_indexes_of_its_state_and_no_others()

    def teardown(self) -> None:
        """Whatever was asked, somebody can still end it."""
        if self.call.state == "running":
            self.settle(self.call.worker, False)
            self.settle_call(self.call.worker, "", False, False)
        self.cancel("one", False)
        assert self.call.final
        self.is_as_the_model_says()
