"""What live workers offer, and which of it belongs to an agent."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from errands_config import keys
from errands_config.agent import Agent
from errands_config.agent_file.bindings import Binding, ParamValue
from errands_config.bound_arguments import without_arguments
from errands_config.glob import matches
from errands_config.policy import Policy, compile_policy
from errands_config.wire import ToolOffer
from errands_orchestrator import reads
from errands_orchestrator.brief import Toolset


@dataclass(frozen=True, slots=True)
class LiveOffer:
    """One tool of one live worker incarnation."""

    worker: str
    offer: ToolOffer


async def live_offers(store: reads.Store) -> tuple[LiveOffer, ...]:
    """Everything that workers offer now."""
    workers = await reads.ranked(store, keys.WORKERS)
    found = [(worker, await reads.whole(store, keys.catalogue(worker))) for worker in workers]
    return tuple(
        LiveOffer(worker, ToolOffer.model_validate_json(text)) for worker, offers in found for text in offers.values()
    )


def tools_of(agent: Agent, offers: Iterable[LiveOffer]) -> Toolset:
    """The tools of an agent: from its toolboxes, and those that its `tools` globs name. One a name, in order of names.

    Where workers disagree about a name, the digest that most of them offer is taken, then the smallest.
    """
    wanted = [live.offer for live in offers if _belongs(agent, live.offer)]
    by_name: dict[str, list[ToolOffer]] = {}
    for offer in wanted:
        by_name.setdefault(offer.name, []).append(offer)
    return Toolset(tuple(_agreed(by_name[name]) for name in sorted(by_name)))


def without_bound(agent: Agent, tools: Toolset, parameters: str = "") -> Toolset:
    """The tools as a model sees them: their schemas have no argument that a binding of the agent gives.

    `parameters` are the values of a session, as `parameter_values` gives them: an argument that is exposed without a
    value stays the model's.
    """
    if not agent.bindings:
        return tools
    policy = compile_policy(agent)
    values: Collection[str] = json.loads(parameters or "{}")
    return Toolset(tuple(_without(offer, set(_closed(agent, policy, offer.name, values))) for offer in tools.offers))


def _without(offer: ToolOffer, bound: Collection[str]) -> ToolOffer:
    return offer.model_copy(update={"parameters": without_arguments(offer.parameters, bound)})


def _closed(agent: Agent, policy: Policy, tool: str, values: Collection[str]) -> Iterator[str]:
    for bound in policy.resolve(tool, None).bound:
        if not _is_open(agent.bindings[bound.binding], values):
            yield bound.arg


def _is_open(binding: Binding, values: Collection[str]) -> bool:
    unset = isinstance(binding.value, ParamValue) and binding.value.contents not in values
    return unset and binding.when_unbound == "expose"


def _belongs(agent: Agent, offer: ToolOffer) -> bool:
    return agent.slug in offer.agents or any(matches(glob, offer.name) for glob in agent.tools)


def _agreed(offers: Sequence[ToolOffer]) -> ToolOffer:
    count = {offer.digest: sum(other.digest == offer.digest for other in offers) for offer in offers}
    return min(offers, key=lambda offer: (-count[offer.digest], offer.digest))
