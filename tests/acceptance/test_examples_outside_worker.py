"""The worker outside: as its README says, and where it crashes between doing a call and saying so."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from tests.acceptance.person import Person
from tests.acceptance.readme import reading

from errands_config.errors import Conflict
from errands_orchestrator.testing import errands

EXAMPLE = Path(__file__).parents[2] / "examples" / "outside-worker"


def test_the_readme_of_the_worker_outside_comes_true(person: Person) -> None:
    with reading(person, EXAMPLE) as reader:
        reader.plays()

        paused = reader.prints("cat paused.json")
        assert paused.startswith('{"status":"paused","reason":"waiting for deferred tool calls","session_id":"')
        assert paused.count('"continuation_token":"ect_') == 2


async def test_who_does_a_call_twice_makes_one_order(capsys: pytest.CaptureFixture[str]) -> None:
    work = runpy.run_path(str(EXAMPLE / "complete_calls.py"))["work"]
    async with errands(EXAMPLE / "agent.json") as tested:
        run = await tested.run_until_blocked("Please order 200 bolts and as many nuts")
        bolts, nuts = run.pending

        for waiting in (bolts, bolts, nuts):  # it had crashed behind the first
            await work(tested.client, waiting)
        with pytest.raises(Conflict, match="had an answer before"):
            await tested.client.complete(bolts.token, "another order")

        assert capsys.readouterr().out.splitlines() == ["completed: 200 x bolt"] * 2 + ["completed: 200 x nut"]
        assert await tested.client.resume(run.session) == "Both are ordered: 200 bolts and 200 nuts."


async def test_a_call_that_was_cancelled_meanwhile_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    work = runpy.run_path(str(EXAMPLE / "complete_calls.py"))["work"]
    async with errands(EXAMPLE / "agent.json") as tested:
        run = await tested.run_until_blocked("Please order 200 bolts and as many nuts")
        bolts, nuts = run.pending
        await tested.client.cancel(bolts.call.id)

        await work(tested.client, bolts)
        await work(tested.client, nuts)

        late, done = capsys.readouterr().out.splitlines()
        assert late.startswith("too late for bolt: ")
        assert "was cancelled" in late
        assert done == "completed: 200 x nut"
