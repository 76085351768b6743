"""Which calls wait for which: bound when the model answers, watched until the last one has ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from errands_config.wire import CallState, Outcome
from errands_orchestrator.injected import DEPENDS
from errands_orchestrator.made_call import MadeCall
from errands_orchestrator.naming import NamedCall
from errands_orchestrator.session import Dependency, Session, TrackedCall
from errands_orchestrator.texts import invalid_arguments, not_run


def wanted_of(call: MadeCall) -> tuple[str, ...]:
    """The calls that this one names, each once."""
    return tuple(dict.fromkeys((*call.ours.depends_on, *call.refers_to)))


def bound(
    made: Sequence[MadeCall], earlier: Mapping[str, NamedCall]
) -> tuple[Mapping[str, tuple[Dependency, ...]], Mapping[str, Outcome]]:
    """What each call depends on, and the ends of those that name nothing, or themselves in a circle.

    `earlier` are the calls that were made before, by the names used here. Calls of the same answer are named by their
    handles and ids.
    """
    here = _names_of(made)
    depends: dict[str, tuple[Dependency, ...]] = {}
    ends: dict[str, Outcome] = {}
    for call in made:
        wanted = [] if call.end else wanted_of(call)
        unknown = [name for name in wanted if name not in here and name not in earlier]
        if unknown:
            named = ", ".join(map(repr, unknown))
            ends[call.id] = invalid_arguments(f"{DEPENDS}: no call of this conversation is named {named}")
        elif wanted:
            depends[call.id] = tuple(Dependency(_meant(name, call, here, earlier), name) for name in wanted)
    return depends, ends | _circles(made, depends)


def _meant(name: str, by: MadeCall, here: Mapping[str, str], earlier: Mapping[str, NamedCall]) -> str:
    """The call of this name, of this answer before earlier ones. Nobody means the call itself by an id that an earlier
    one had already: some providers count their ids anew in each answer."""
    if name in earlier and here.get(name, by.id) == by.id:
        return earlier[name].id
    return here[name]


def _names_of(made: Sequence[MadeCall]) -> Mapping[str, str]:
    """A call that repeats another one is that one, and one that is refused has taken no handle."""
    by_id = {call.shown.id: call.same_as or call.id for call in made if not call.is_question_about_calls}
    return by_id | {call.ours.handle: call.id for call in made if call.ours.handle and call.end is None}


def _circles(made: Sequence[MadeCall], depends: Mapping[str, tuple[Dependency, ...]]) -> dict[str, Outcome]:
    names = {call.id: call.ours.handle or call.shown.id for call in made}
    graph = {cid: [it.call for it in depends.get(cid, ()) if it.call in names] for cid in names}
    ends: dict[str, Outcome] = {}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as circle:
            around: list[str] = circle.args[1][::-1]
            shown = " → ".join(names[cid] for cid in around)
            ends |= {cid: invalid_arguments(f"{DEPENDS}: these calls wait for one another: {shown}") for cid in around}
            graph = {cid: [it for it in wanted if it not in ends] for cid, wanted in graph.items() if cid not in ends}
        else:
            return ends


class Waiters:
    """Who waits for whom, of calls that were made before and of those being made now."""

    def __init__(self, calls: Sequence[TrackedCall], depends: Mapping[str, tuple[Dependency, ...]]) -> None:
        self._waiters: dict[str, list[str]] = {}
        for call in calls:
            self.add(call)
        for cid, wanted in depends.items():
            self._wait(cid, [it.call for it in wanted])

    def add(self, call: TrackedCall) -> None:
        """Take in what this one waits for, or stands for."""
        self._wait(call.id, [*(it.call for it in call.depends), *([call.same_as] if call.same_as else [])])

    def _wait(self, cid: str, awaited: Sequence[str]) -> None:
        for other in awaited:
            self._waiters.setdefault(other, []).append(cid)

    def of(self, cid: str) -> frozenset[str]:
        """All calls that cannot end before this one has."""
        found: set[str] = set()
        ends = [cid]
        while ends:
            fresh = set(self._waiters.get(ends.pop(), ())) - found
            found |= fresh
            ends += fresh
        return frozenset(found)


def watched(session: Session) -> tuple[Session, dict[str, Outcome]]:
    """Note what has completed, and the ends of calls that cannot run any more because another one did not complete."""
    ends: dict[str, Outcome] = {}
    while True:
        states = {call.id: call.state for call in session.calls}
        found = {
            call.id: end
            for call in session.calls
            if call.depends and not call.is_final and call.id not in ends and (end := _doomed(call, states, ends))
        }
        if not found:
            break
        ends |= found
    calls = tuple(_noted(call, states) for call in session.calls)
    return (session if calls == session.calls else replace(session, calls=calls)), ends


def _doomed(call: TrackedCall, states: Mapping[str, CallState], ends: Mapping[str, Outcome]) -> Outcome | None:
    for it in call.depends:
        state = ends[it.call].state if it.call in ends else states.get(it.call)
        if state is not None and not it.done and state.is_final and state is not CallState.COMPLETED:
            return skipped(it.name, state)
    return None


def skipped(name: str, state: CallState) -> Outcome:
    """The end of a call that depends on one which did not complete."""
    return not_run(f"it depends on {name}, which {state}", CallState.SKIPPED)


def _noted(call: TrackedCall, states: Mapping[str, CallState]) -> TrackedCall:
    if not call.depends or call.is_final:
        return call
    depends = tuple(
        replace(it, done=True) if not it.done and states.get(it.call) is CallState.COMPLETED else it
        for it in call.depends
    )
    return call if depends == call.depends else replace(call, depends=depends)


def is_ready(call: TrackedCall) -> bool:
    """Whether all that it waits for has completed."""
    return all(it.done for it in call.depends)


def held_from_outside(calls: Sequence[TrackedCall], *, let_go: bool = False) -> frozenset[str]:
    """The open calls that only somebody outside can bring on: deferred ones, and those that wait for such.

    `let_go`: of the deferred ones only those that no step waits for.
    """
    held = {call.id for call in calls if call.is_deferred and (call.detached or not let_go)}
    while True:
        more = {
            call.id
            for call in calls
            if call.state is CallState.WAITING
            and call.id not in held
            and (call.same_as in held or any(it.call in held for it in call.depends if not it.done))
        }
        if not more:
            return frozenset(held)
        held |= more
