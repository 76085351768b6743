"""A small deployment for one fault test: its sessions have a plan of their own, and all of it is checked at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from tests.faults.kit.agents import agent
from tests.faults.kit.conversation import Plan, Scenario
from tests.faults.kit.deployment import Deployment, Starter, a_deployment
from tests.faults.kit.evidence import CallEvidence, Evidence, gather
from tests.faults.kit.key_owners import leaks
from tests.faults.kit.verdict import findings
from tests.waiting import eventually

from errands_config import keys
from errands_config.wire import CallState


class Scene:
    """A deployment that serves, and its sessions."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.store = deployment.store
        self._starter = Starter(deployment)

    def begin(self, sessions: int = 1) -> None:
        """Begin so many sessions, the first as an application does."""
        self._starter.publish()
        for number in range(2, sessions + 1):
            self._starter.start(number)

    def one_more(self) -> None:
        """Begin one session more, with the tools that the first was made of."""
        self._starter.start(len(self._starter.sessions) + 1)

    def calls(self) -> list[str]:
        """Every call so far."""
        found: list[Any] = [self.store.zrange(keys.calls(sid), 0, -1) for sid in self._starter.sessions.values()]
        return [cid for cids in found for cid in cids]

    def field(self, cid: str, name: str) -> str:
        """One field of a call's record; empty if it is not there."""
        value: Any = self.store.hget(keys.call(cid), name)
        return value or ""

    def call_of(self, tool: str) -> str:
        """The one call of a tool, once it is recorded."""
        return eventually(lambda: [cid for cid in self.calls() if self.field(cid, "tool") == tool])[0]

    def begun(self, *cids: str) -> None:
        """Wait until the tools of these calls have begun."""

        def have() -> bool:
            self.deployment.effects.look()
            return all(self.deployment.effects.starts[cid] for cid in cids)

        eventually(have, within=20, saying="the tools have begun")

    def becomes(self, cid: str, state: CallState, within: float = 20) -> None:
        """Wait until a call is in a state."""
        eventually(lambda: self.field(cid, "state") == state, within=within, saying=f"{cid} is {state}")

    def are_over(self) -> bool:
        """Whether every session has ended."""
        states: list[Any] = [self.store.hget(keys.session(sid), "status") for sid in self._starter.sessions.values()]
        return all(state == "idle" for state in states)

    def evidence(self, within: float = 60) -> Evidence:
        """What is left when every session has ended and nothing runs any more."""
        eventually(self.are_over, within=within, saying="every session ends")
        there = self.deployment
        eventually(lambda: not there.begun_for_calls(), within=20, saying="nothing runs for a call")
        sessions = gather(there.store, self._starter.sessions, there.scenario, there.endpoint, there.effects)
        return Evidence(sessions, tuple(there.endpoint.strict.refusals), (), tuple(leaks(there.store)))

    def checked_calls(self, within: float = 60, *, least_completed: float = 0.0) -> tuple[CallEvidence, ...]:
        """All calls at the end, of a run in which everything held."""
        evidence = self.evidence(within)
        assert findings(evidence, least_completed=least_completed) == []
        return evidence.calls


@contextlib.contextmanager
def a_scene(
    folder: Path, plan: Callable[[int], Plan], *, queues: Sequence[str], slots: int = 3, **more: Any
) -> Generator[Scene]:
    """A scene with one orchestrator and a worker for each text of queues. `more` goes into the agent file."""
    scenario = Scenario(plan, {"scene": agent("scene", **more)})
    with a_deployment(folder, scenario, orchestrators=1, queues=queues, slots=slots) as deployment:
        deployment.start()
        yield Scene(deployment)
