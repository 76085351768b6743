"""One call under every order of questions, from workers and from outside, right and wrong, against a model of it."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
import redis
from hypothesis import given
from hypothesis.stateful import initialize, run_state_machine_as_test
from tests.integration.call_machine import LISTS, ORDERS, RERUNS, CallMachine
from tests.integration.deferred_machine import BIRTHS, LEAVES, MOVES, DeferredCallMachine
from tests.integration.script_scenes import DeclaredOnly, Kind, policy

from errands_config.settings import Settings


@pytest.fixture
def declared(settings: Settings, store: redis.Redis) -> Iterator[DeclaredOnly]:
    client = DeclaredOnly(settings)
    yield client
    client.close()


def test_a_call_ends_once_whatever_is_asked_in_whatever_order(store: redis.Redis, declared: DeclaredOnly) -> None:
    class Machine(CallMachine):
        def __init__(self) -> None:
            super().__init__(store, declared)

        @initialize(reruns=RERUNS)
        def begin(self, reruns: int) -> None:
            self.prepare(policy(rerun_times=reruns))
            self.scene.queued(call_policy=self.policy)

    run_state_machine_as_test(Machine, settings=ORDERS)


def test_a_call_that_waits_for_somebody_outside_takes_one_answer_in_whatever_order_they_come(
    store: redis.Redis, declared: DeclaredOnly
) -> None:
    class Machine(DeferredCallMachine):
        def __init__(self) -> None:
            super().__init__(store, declared)

    run_state_machine_as_test(Machine, settings=ORDERS)


@LISTS
@given(
    born=BIRTHS,
    reruns=RERUNS,
    leaves=st.lists(st.sampled_from(LEAVES), max_size=2),
    moves=st.lists(st.tuples(st.sampled_from(MOVES), st.booleans()), min_size=6, max_size=20),
)
def test_no_order_of_answers_leave_cancels_expiry_and_restarts_ends_a_call_twice(
    store: redis.Redis,
    declared: DeclaredOnly,
    born: Kind | None,
    reruns: int,
    leaves: list[str],
    moves: list[tuple[str, bool]],
) -> None:
    machine = DeferredCallMachine(store, declared)
    machine.begin(born, reruns)
    waited_before = [(name, False) for leave in leaves for name in ("run", "defer hook", leave)]

    for name, twice in (*waited_before, *moves):
        machine.move(name, twice)
        machine.is_as_the_model_says()

    machine.teardown()
