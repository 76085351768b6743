"""What stays the same over a session: its agent, its policy and its tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from errands_config.agent import Agent
from errands_config.policy import Policy
from errands_config.wire import ToolOffer
from errands_orchestrator.capabilities.offers import ASK_USER, GET_RESULT, CapabilityOffer, capability_offers
from errands_orchestrator.models.model import Dialect


@dataclass(frozen=True)
class Toolset:
    """The tools of one session as they were listed at its start; they stay so."""

    offers: tuple[ToolOffer, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, ToolOffer]:
        """The same tools by the names that the model uses."""
        return {offer.name: offer for offer in self.offers}


@dataclass(frozen=True)
class Brief:
    """What a step is told beside the session."""

    agent: Agent
    policy: Policy
    tools: Toolset
    async_tools: bool = False
    """The model itself knows calls whose results come later."""

    @property
    def dialect(self) -> Dialect:
        """In what form the conversation is sent."""
        return "responses" if self.agent.flavor == "OpenAIResponses" else "chat"

    @cached_property
    def async_names(self) -> frozenset[str]:
        """Those of its tools whose calls have no placeholder and may be answered in any later request."""
        if not (self.async_tools and self.is_asynchronous):
            return frozenset()
        background = (offer.name for offer in self.tools.offers if self._goes_on_beside(offer.name))
        asking = (name for name in self.agent.capabilities if name == ASK_USER)
        return frozenset((*background, *asking))

    def _goes_on_beside(self, tool: str) -> bool:
        policy = self.policy.resolve(tool, {})
        return policy.disposition == "runAsync" or (policy.defer is not None and not policy.defer.attached)

    @cached_property
    def capabilities(self) -> tuple[CapabilityOffer, ...]:
        """What the model may ask about its own calls."""
        handles, late = self.agent.registry.handles, bool(self.async_names)
        return capability_offers(self.agent.capabilities, handles=handles, late_outputs=late)

    @property
    def reads_results(self) -> bool:
        """Whether the model can read results page by page."""
        return GET_RESULT in self.agent.capabilities

    @property
    def is_asynchronous(self) -> bool:
        """Whether calls may run in the background at all."""
        return self.agent.execution_mode == "asynchronous"
