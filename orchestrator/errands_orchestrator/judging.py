"""What becomes of the calls of an answer, beside their own form: names, keys, dependencies, equal calls. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from errands_config.wire import CallState, Outcome, ToolOffer
from errands_orchestrator.brief import Brief
from errands_orchestrator.dependencies import Waiters, bound, skipped
from errands_orchestrator.injected import HANDLE, KEY
from errands_orchestrator.likeness import NO_DUPLICATE, Duplicate, duplicate, likeness, may_be_equal_to
from errands_orchestrator.made_call import MadeCall
from errands_orchestrator.naming import NamedCall, Names
from errands_orchestrator.recording import record_of, tracked
from errands_orchestrator.session import Dependency, NewCall, Session, TrackedCall
from errands_orchestrator.texts import OUTSIDE, invalid_arguments, not_run, same_as


@dataclass(frozen=True, slots=True)
class Judged:
    """The calls of an answer as they are recorded and tracked, and the earlier ones that end because of them."""

    records: tuple[NewCall, ...]
    calls: tuple[TrackedCall, ...]
    replaced: frozenset[str]


def judged(brief: Brief, session: Session, made: Sequence[MadeCall], names: Names, now: int) -> Judged:
    """Decide about calls that are recorded: those of tools, and questions to the user."""
    named = _named(made, names)
    depends, ends = bound(named, names.calls)
    earlier = {call.id: call for call in (*names.keys.values(), *names.calls.values())}
    wanted = {cid: tuple(_known(it, earlier) for it in some) for cid, some in depends.items()}
    ends = {**ends, **_hopeless(wanted, earlier)}
    records: list[NewCall] = []
    calls = list(session.calls)
    replaced: set[str] = set()
    waiters = Waiters(session.calls, wanted)
    for one in named:
        call = replace(one, end=one.end or ends.get(one.id))
        verdict = NO_DUPLICATE if call.id in wanted else _compared(brief, call, calls, replaced, waiters)
        call = replace(call, end=call.end or verdict.refusal)
        record, follower = _made(brief, session, call, wanted.get(call.id, ()), verdict, now)
        records.append(record)
        calls.append(follower)
        waiters.add(follower)
        replaced.update(verdict.replaces)
    return Judged(tuple(records), tuple(calls[len(session.calls) :]), frozenset(replaced))


def _made(
    brief: Brief, session: Session, call: MadeCall, depends: tuple[Dependency, ...], verdict: Duplicate, now: int
) -> tuple[NewCall, TrackedCall]:
    record = replace(record_of(brief, call, session.turn + 1), same_as=call.same_as)
    if call.end is None and call.ours.key:
        record = replace(record, key=call.ours.key, likeness=likeness(call.value))
    if verdict.same_as or depends:
        # whether somebody outside is asked is decided once it may run
        record = replace(record, deferral=None)
    follower = tracked(record, now, brief.agent.delivery.max_result_bytes)
    if depends and record.policy.defer and not record.policy.defer.attached:
        follower = replace(follower, detached=OUTSIDE)
    if call.end is None:
        same = verdict.same_as.id if verdict.same_as else ""
        follower = replace(
            follower, depends=depends, same_as=same, likeness=mark_of(brief, call), confirmed=call.ours.confirmed
        )
    return record, follower


# ---- handles and keys


def _named(made: Sequence[MadeCall], names: Names) -> list[MadeCall]:
    """The calls, those ended that repeat a key or take a handle which is bound."""
    handles: dict[str, NamedCall] = {**names.handles}
    keys: dict[str, NamedCall] = {**names.keys}
    named: list[MadeCall] = []
    for call in made:
        first = keys.get(call.ours.key)
        end = call.end or _repeats(call, first) or _taken(call, handles.get(call.ours.handle))
        repeats = first.id if first and end and end.state is CallState.COMPLETED else ""
        named.append(replace(call, end=end, same_as=repeats))
        if end is None:
            this = NamedCall(call.id, call.shown.id, call.shown.name, CallState.WAITING, likeness(call.value))
            handles |= {call.ours.handle: this} if call.ours.handle else {}
            keys |= {call.ours.key: this} if call.ours.key else {}
    return named


def _repeats(call: MadeCall, first: NamedCall | None) -> Outcome | None:
    if first is None or not call.ours.key:
        return None
    if (first.tool and first.tool != call.shown.name) or first.likeness != likeness(call.value):
        return invalid_arguments(f"{KEY}: {_bound(call.ours.key, first)} with other arguments; use a new key")
    said = same_as(first.state, first.provider_id or first.id)
    return Outcome(state=CallState.COMPLETED, result=said, result_type="json")


def _taken(call: MadeCall, other: NamedCall | None) -> Outcome | None:
    if other is None or not call.ours.handle:
        return None
    return invalid_arguments(
        f"{HANDLE}: {_bound(call.ours.handle, other)}; a handle is never used twice: choose a new one"
    )


def _bound(name: str, call: NamedCall) -> str:
    state = f", {call.state}" if call.state and call.state.is_final else ""
    return f"{name!r} is bound to {call.provider_id or call.id} ({call.tool or 'a call of long ago'}{state})"


# ---- dependencies on calls of earlier turns


def _known(it: Dependency, earlier: Mapping[str, NamedCall]) -> Dependency:
    call = earlier.get(it.call)
    return replace(it, done=True) if call and call.state is CallState.COMPLETED else it


def _hopeless(depends: Mapping[str, tuple[Dependency, ...]], earlier: Mapping[str, NamedCall]) -> Mapping[str, Outcome]:
    """The ends of calls that depend on one which has ended otherwise, or which nobody can tell of any more."""
    ends: dict[str, Outcome] = {}
    for cid, wanted in depends.items():
        for it in wanted:
            call = earlier.get(it.call)
            if call is None or it.done:
                continue
            if call.state is None:
                ends[cid] = not_run(f"it depends on {it.name}, which is not kept any more", CallState.SKIPPED)
            elif call.state.is_final:
                ends[cid] = skipped(it.name, call.state)
    return ends


# ---- equal calls


def _compared(
    brief: Brief, call: MadeCall, calls: Sequence[TrackedCall], replaced: set[str], waiters: Waiters
) -> Duplicate:
    if call.end or not may_be_duplicate(brief, call):
        return NO_DUPLICATE
    # one that waits for this call is compared with it later, when its own turn comes
    left_out = replaced | waiters.of(call.id)
    in_flight = [it for it in calls if may_be_equal_to(it) and it.id not in left_out]
    mark = likeness(call.value)
    return duplicate(brief.agent.registry, call.shown.name, mark, in_flight, confirmed=call.ours.confirmed)


def may_be_duplicate(brief: Brief, call: MadeCall) -> bool:
    """Whether it may be in flight beside another: runSync calls run one after another, and questions are not equal."""
    in_background = brief.policy.resolve(call.shown.name, call.value).disposition != "runSync"
    return isinstance(call.offer, ToolOffer) and in_background


def mark_of(brief: Brief, call: MadeCall) -> str:
    """Its likeness, if it is worth keeping. What its arguments refer to is not in it yet: then it has none."""
    return "" if brief.agent.registry.on_duplicate == "allow" or call.refers_to else likeness(call.value)
