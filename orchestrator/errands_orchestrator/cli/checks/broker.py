"""A broker that is not the store. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from errands_orchestrator.cli.checks.finding import Finding


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """What ERRANDS_BROKER_URL names and what came of a try to reach it."""

    place: str
    """Host and port, or a socket; never the login."""
    trouble: str = ""
    """Why it is not usable; empty: nothing is known against it."""
    tried: Literal["login", "connection", "nothing"] = "login"


_TRIED = {
    "login": "answers",
    "connection": "takes connections; the login was not tried",
    "nothing": "cannot be looked at from here",
}


def broker_finding(facts: BrokerFacts | None) -> Finding:
    """The broker; None: it is the store."""
    if facts is None:
        return Finding("broker", "ok", "the store is the broker, too")
    if facts.trouble:
        text = f"the broker at {facts.place} is not usable: {facts.trouble}"
        advice = "start it, or check ERRANDS_BROKER_URL; unset, the store is the broker"
        return Finding("broker", "wrong", text, advice)
    text = f"the broker at {facts.place} {_TRIED[facts.tried]}"
    if facts.tried == "nothing":
        return Finding("broker", "note", text, "see that a worker's log has no connection errors")
    return Finding("broker", "ok", text)
