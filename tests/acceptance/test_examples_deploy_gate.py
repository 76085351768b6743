"""The deploy agent with a gate: as its README says, and what must not get past the gate."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from tests.acceptance.person import Person
from tests.acceptance.readme import reading

from errands_config.errors import Conflict
from errands_orchestrator import BlockedOnDeferredCalls
from errands_orchestrator.testing import errands

EXAMPLE = Path(__file__).parents[2] / "examples" / "deploy-gate"
DEPLOY = "Deploy shop 2.4.1 to production"


def test_the_readme_of_the_deploy_gate_comes_true(person: Person) -> None:
    with reading(person, EXAMPLE) as reader:
        reader.plays()

        assert len((person.folder / "deployments.log").read_text().splitlines()) == 2  # what was denied did not run
        assert "worker.ready" in reader.log
        assert "heron" not in reader.log + reader.prints("errands calls ls --json; cat paused.json")


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_environment: None) -> Path:
    """A copy of the example, in which the worker's tool writes its journal."""
    copytree(EXAMPLE, tmp_path / "gate")
    monkeypatch.chdir(tmp_path / "gate")
    return tmp_path / "gate"


async def test_only_what_is_for_production_and_no_rehearsal_waits_for_somebody(gate: Path) -> None:
    async with errands(gate / "agent.json") as tested:
        assert (await tested.run("Rehearse the deployment")).startswith("The rehearsal went well")
        with pytest.raises(BlockedOnDeferredCalls) as blocked:
            await tested.run(DEPLOY)

        [waiting] = blocked.value.calls
        assert waiting.kind == "hook"
        assert waiting.arguments["version"] == "2.4.1"
        assert str(waiting.arguments["passphrase"]).startswith("[redacted ")
        assert not (gate / "deployments.log").exists()


async def test_a_gate_whose_hook_does_not_work_lets_nothing_through(gate: Path) -> None:
    (gate / "hooks" / "approve").write_text("#!/bin/sh\nexit 1\n")
    (gate / "script.json").write_text(
        (gate / "script.json").read_text().replace("not on a Friday", "blocked by policy", 1)
    )
    async with errands(gate / "agent.json") as tested:
        assert await tested.run(DEPLOY) == "shop 2.4.1 was not deployed: not on a Friday."
        assert not (gate / "deployments.log").exists()


async def test_a_token_serves_once(gate: Path) -> None:
    async with errands(gate / "agent.json") as tested:
        run = await tested.run_until_blocked(DEPLOY)
        [waiting] = run.pending
        changed = {"service": "shop", "version": "2.4.0", "env": "production"}

        await tested.client.approve(waiting.token, changed)
        await tested.client.approve(waiting.token, changed)  # the same again is confirmed again
        with pytest.raises(Conflict, match="was approved before"):
            await tested.client.approve(waiting.token)
        with pytest.raises(Conflict):
            await tested.client.deny(waiting.token, "no")

        assert "2.4.0 is live" in await tested.client.resume(run.session)
        assert (gate / "deployments.log").read_text() == f"shop 2.4.0 production {waiting.call.id}\n"
