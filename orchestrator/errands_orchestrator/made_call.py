"""The calls of an answer, read: ids, arguments, what is ours of them, and what is wrong with their form."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from pydantic import JsonValue

from errands_config.wire import Outcome, ToolOffer
from errands_orchestrator.arguments import Arguments, breach, read_arguments
from errands_orchestrator.brief import Brief
from errands_orchestrator.capabilities.offers import ASK_USER, CapabilityOffer
from errands_orchestrator.injected import (
    HANDLE,
    NOTHING,
    Injected,
    injected_names,
    injected_schema,
    read_injected,
    taken_apart,
)
from errands_orchestrator.models.model import Finish, ModelCall, Reply
from errands_orchestrator.references import references_in
from errands_orchestrator.session import ShownCall
from errands_orchestrator.texts import CUT_OFF, invalid_arguments, unknown_tool

_LONGEST_ID = 256
_FOREIGN_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")

Offer = ToolOffer | CapabilityOffer


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of the answer, read."""

    id: str
    shown: ShownCall
    position: int
    offer: Offer | None
    arguments: str
    """Its own arguments, JSON text of an object: what its record keeps."""
    value: JsonValue
    """The same as a value; None if they are no JSON object."""
    ours: Injected = NOTHING
    refers_to: tuple[str, ...] = ()
    """The calls whose results stand in its arguments, by the names that the model gives."""
    end: Outcome | None = None
    """How it ends at once: refused, or because it repeats another one."""
    same_as: str = ""
    """The call that it repeats; empty: none."""

    @property
    def is_question_about_calls(self) -> bool:
        """Whether it is answered within the turn and leaves no record; a question to the user does."""
        return isinstance(self.offer, CapabilityOffer) and self.offer.name != ASK_USER


def read_calls(brief: Brief, reply: Reply, ids: Sequence[str], used: Collection[str] = ()) -> list[MadeCall]:
    """The calls of an answer in their order. `ids` are fresh ids of ours, one for each."""
    offers: dict[str, Offer] = {offer.name: offer for offer in brief.capabilities}
    shown_ids = unique_ids([call.provider_id for call in reply.calls], used)
    made: list[MadeCall] = []
    for position, (ours, shown_id, call) in enumerate(zip(ids, shown_ids, reply.calls, strict=True)):
        offer = offers.get(call.name) or brief.tools.by_name.get(call.name)
        is_async = call.is_async and call.name in brief.async_names
        shown = ShownCall(shown_id, _FOREIGN_IN_NAME.sub("_", call.name)[:64] or "unnamed", "{}", is_async)
        made.append(_read(brief, MadeCall(ours, shown, position, offer, "{}", None), call, reply.finish))
    return made


def _read(brief: Brief, made: MadeCall, call: ModelCall, finish: Finish) -> MadeCall:
    """The call with its arguments. Those that refer to results are held against the schema once these are in."""
    names = _ours_of(brief, made.offer)
    may_refer = brief.agent.registry.references and isinstance(made.offer, ToolOffer)
    whole = made.offer.parameters if made.offer and not (names or may_refer) else None
    arguments = read_arguments(call.arguments, whole)
    read = replace(made, shown=replace(made.shown, arguments=arguments.text), arguments=arguments.text)
    fault = arguments.fault
    if isinstance(arguments.value, dict) and whole is None and made.offer:
        ours, own = taken_apart(arguments.value, names)
        refers_to, fault = _referred(own) if may_refer else ((), "")
        fault = fault or (breach(ours, injected_schema(names)) if names else "")
        fault = fault or ("" if refers_to else breach(own, made.offer.parameters))
        text = compact(own) if ours else arguments.text
        read = replace(read, arguments=text, ours=NOTHING if fault else read_injected(ours), refers_to=refers_to)
        arguments = Arguments(text, own, fault)
    return replace(read, value=arguments.value, end=_refusal(call.name, made.offer, fault, finish))


def _referred(own: JsonValue) -> tuple[tuple[str, ...], str]:
    """The names of the calls that arguments refer to, each once, and what is wrong with the arguments."""
    try:
        return tuple(dict.fromkeys(reference.name for reference in references_in(own))), ""
    except RecursionError:
        return (), "nested too deeply"


def compact(value: JsonValue) -> str:
    """JSON text of arguments that we had to write anew."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _ours_of(brief: Brief, offer: Offer | None) -> tuple[str, ...]:
    if isinstance(offer, ToolOffer):
        return injected_names(brief.agent, brief.policy, offer)
    is_named = offer is not None and offer.name == ASK_USER and brief.agent.registry.handles
    return (HANDLE,) if is_named else ()


def _refusal(name: str, offer: Offer | None, fault: str, finish: Finish) -> Outcome | None:
    if finish == "length":
        return invalid_arguments(CUT_OFF)
    if offer is None:
        return unknown_tool(name)
    return invalid_arguments(fault) if fault else None


def plain_id(sent: str) -> str:
    """A provider's id as far as it can be shown."""
    return "".join(filter(str.isprintable, sent)).strip()[:_LONGEST_ID]


def unique_ids(sent: Sequence[str], used: Collection[str] = ()) -> list[str]:
    """Ids as they stand in the history: the provider's own, but for empty ones, those that are `used`, and equal ones
    after the first."""
    plain = list(map(plain_id, sent))
    seen, taken = set(used), {*plain, *used}
    numbers: dict[str, Iterator[int]] = {}
    unique: list[str] = []
    for own in plain:
        shown = own
        if not own or own in seen:
            series = numbers.setdefault(own, count(2 if own else 1))
            shown = next(name for number in series if (name := f"{own or 'call'}~{number}") not in taken)
        seen.add(own)
        taken.add(shown)
        unique.append(shown)
    return unique
