"""What stays the same over a session: its agent, its policy and its tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from errands_config.agent import Agent
from errands_config.policy import Policy
from errands_config.wire import ToolOffer


@dataclass(frozen=True)
class Toolset:
    """The tools of one session as they were listed at its start; they stay so."""

    offers: tuple[ToolOffer, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, ToolOffer]:
        """The same tools by the names that the model uses."""
        return {offer.name: offer for offer in self.offers}


@dataclass(frozen=True, slots=True)
class Brief:
    """What a step is told beside the session."""

    agent: Agent
    policy: Policy
    tools: Toolset

    @property
    def is_asynchronous(self) -> bool:
        """Whether calls may run in the background at all."""
        return self.agent.execution_mode == "asynchronous"
