"""A session whose model asks about its calls, without the rest of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import redis.asyncio
from tests.integration.errand import make_agent
from tests.integration.fake_worker import offer
from tests.integration.script_scenes import Scene

from errands_config.policy import compile_policy
from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.brief import Brief, Toolset
from errands_orchestrator.capabilities.answering import CAPABILITIES
from errands_orchestrator.capabilities.desk import Desk
from errands_orchestrator.session import CapabilityCall, Phase, Session, TrackedCall

NOW = 1_000_000
ONE = "01a22dfb-45b8-7807-a732-244397330bf1"
TWO = "01a22dfb-45b8-7807-a732-244397330bf2"


@dataclass
class Asking:
    """A session whose model asks; its calls have the provider ids p1, p2 and stand in the store."""

    store: redis.asyncio.Redis
    scene: Scene
    session: Session = field(default_factory=lambda: Session("s1", phase=Phase.RESTING, turn=1))
    nudged: list[str] = field(default_factory=list[str])
    agent: dict[str, Any] = field(default_factory=dict[str, Any])
    """What its file says beside what `make_agent` writes."""

    def tracks(self, cid: str, provider_id: str = "p1", *, turn: int = 1, **more: Any) -> None:
        tracked = TrackedCall(cid, provider_id, "work", turn, len(self.session.calls), attach="strategy", **more)
        self.session = replace(self.session, calls=(*self.session.calls, tracked))

    def desk(self, name: str, *, asker: str = "q1", woken_by: Any = "", **arguments: Any) -> Desk:
        agent = make_agent(**self.agent)
        tools = Toolset((offer("work"), offer("stubborn")))
        question = CapabilityCall(asker, "call_q", name, 0, json.dumps(arguments), begun=True, woken_by=woken_by)
        brief = Brief(agent, compile_policy(agent), tools)
        return Desk(self.store, brief, self.session, question, NOW, self._nudge)

    async def _nudge(self, cids: Sequence[str]) -> None:
        self.nudged += cids

    async def begin(self, name: str, **more: Any) -> Begun:
        return await CAPABILITIES[name].begin(self.desk(name, **more))

    async def answer(self, name: str, **more: Any) -> tuple[dict[str, Any], Answered]:
        answered = await CAPABILITIES[name].answer(self.desk(name, **more))
        return orjson.loads(answered.text), answered
