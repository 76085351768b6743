"""The tools of a session as its model is told of them, whatever the dialect: capabilities first. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from errands_config.wire import ToolOffer
from errands_orchestrator.brief import Brief
from errands_orchestrator.capabilities.offers import ASK_USER
from errands_orchestrator.injected import HANDLE, injected_names, with_injected
from errands_orchestrator.texts import BACKGROUND_SENTENCE, LATER_SENTENCE


@dataclass(frozen=True, slots=True)
class DescribedTool:
    """One tool or capability."""

    name: str
    description: str
    parameters: str
    """JSON schema of what the model may send, as JSON text: byte-stable."""
    is_async: bool = False
    """The model may be given the results of its calls in any later request."""


def described_tools(brief: Brief) -> tuple[DescribedTool, ...]:
    """All of them, in the same order every time."""
    named = {ASK_USER: (HANDLE,)} if brief.agent.registry.handles else {}
    asked = [
        DescribedTool(
            it.name,
            it.description,
            with_injected(it.parameters, named.get(it.name, ())),
            is_async=it.name in brief.async_names,
        )
        for it in brief.capabilities
    ]
    return (*asked, *(_tool(brief, offer) for offer in brief.tools.offers))


def _tool(brief: Brief, offer: ToolOffer) -> DescribedTool:
    is_async = offer.name in brief.async_names
    if brief.policy.resolve(offer.name, {}).disposition != "runAsync":
        return DescribedTool(offer.name, offer.description, offer.parameters, is_async)
    description = f"{offer.description} {LATER_SENTENCE if is_async else BACKGROUND_SENTENCE}".strip()
    parameters = with_injected(offer.parameters, injected_names(brief.agent, brief.policy, offer))
    return DescribedTool(offer.name, description, parameters, is_async)
