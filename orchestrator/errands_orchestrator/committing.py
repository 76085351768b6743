"""How a step becomes what the commit script writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from errands_config.scripts.commits import Commit, End, Publication, Record
from errands_config.scripts.deferred import deferral_fields
from errands_config.scripts.letters import outcome_fields
from errands_config.scripts.sessions import Rest
from errands_config.wire import CallPolicy, CallState, Deferral
from errands_orchestrator.decisions import Decision, Event, Park, Queue, Step, Wait
from errands_orchestrator.dispatcher import first_publication, message
from errands_orchestrator.session import NewCall
from errands_orchestrator.snapshot import dump_entry, dump_session


@dataclass(frozen=True, slots=True)
class Patience:
    """Most seconds that somebody outside is waited for."""

    deferred: float = 604_800
    question: float = 604_800

    def with_deferral(self, deferral: Deferral) -> float:
        """Of this deferral."""
        return self.question if deferral.kind == "question" else self.deferred


PATIENCE = Patience()


def queued_calls(decisions: Sequence[Decision]) -> tuple[str, ...]:
    """The calls that a step publishes."""
    return tuple(cid for decision in decisions if isinstance(decision, Queue) for cid in decision.calls)


def commit_of(
    step: Step,
    *,
    commit_id: str,
    version: int,
    cursor: str,
    publish: Sequence[Publication],
    slug: str,
    patience: Patience = PATIENCE,
) -> Commit:
    """One step as one commit."""
    return Commit(
        id=commit_id,
        version=version,
        cursor=cursor,
        snapshot=dump_session(step.session),
        heard=step.session.heard,
        log=tuple(dump_entry(entry) for entry in step.log),
        records=tuple(_record(call, slug, patience) for call in step.records),
        ends=tuple(End(it.id, outcome_fields(it.outcome) | _named(same_as=it.same_as)) for it in step.ends),
        publish=tuple(publish),
        events=tuple(_event(event) for event in step.events),
    )


def _record(call: NewCall, slug: str, patience: Patience) -> Record:
    fields = {
        "agent": slug, "tool": call.tool, "arguments": call.arguments, "provider_id": call.provider_id,
        "turn": str(call.turn), "position": str(call.position),
        "policy": call.policy.model_dump_json(exclude_defaults=True), "queue": call.queue,
    }  # fmt: skip
    limits = " ".join(limit.name for limit in call.policy.limits)
    more = _named(limits=limits, label=call.policy.label, task_handle=call.handle, same_as=call.same_as)
    return Record(call.id, fields | more | _standing(call, patience), call.key, call.likeness, call.again)


def _named(**values: str) -> dict[str, str]:
    """Fields that a record has only where there is something to say."""
    return {name: value for name, value in values.items() if value}


def _standing(call: NewCall, patience: Patience) -> dict[str, str]:
    """Where a new call stands: it has ended, or waits for somebody outside, or to be published."""
    if call.outcome:
        return outcome_fields(call.outcome)
    if call.deferral:
        longest = patience.with_deferral(call.deferral)
        return {"state": str(CallState.DEFERRED), **deferral_fields(call.deferral, longest)}
    return {"state": str(CallState.WAITING)}


def _event(event: Event) -> tuple[str, tuple[str, ...]]:
    return event.kind, tuple(part for fact in event.facts for part in fact)


def publication_of(
    cid: str, sid: str, tool: str, queue: str, policy: CallPolicy, now: int, direct: bool
) -> Publication:
    """A call's first message. Not `direct`: the broker is not the store, and the dispatcher sends it."""
    text = message(first_publication(cid, sid, tool, queue, now, policy)) if direct else ""
    return Publication(cid, queue, int(policy.queue_timeout_seconds * 1000), text)


def from_records(records: Sequence[NewCall], sid: str, now: int, direct: bool) -> Mapping[str, Publication]:
    """The messages of the calls that a step records, by call; which of them are published is the step's to say."""
    return {
        call.id: publication_of(call.id, sid, call.tool, call.queue, call.policy, now, direct)
        for call in records
        if call.outcome is None and call.deferral is None
    }


def rest_of(decisions: Sequence[Decision]) -> Rest | None:
    """How the session is to be parked, if that is all that is to be done beside publishing."""
    match [decision for decision in decisions if not isinstance(decision, Queue)]:
        case [Wait(until, outside)]:
            return Rest("waiting_external" if outside else "waiting_calls", until)
        case [Park(status)]:
            return Rest(status)
        case _:
            return None
