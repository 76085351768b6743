"""Settings of the model endpoint, without a request to it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from errands_orchestrator.cli.checks.doors import Reach
from errands_orchestrator.cli.checks.finding import Finding

_OWN = "only agents whose files name one of their own can run"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What agents get whose files say nothing."""

    name: str | None
    url: str | None
    """None: that of the `openai` package."""
    url_setting: str
    """The variable that the URL comes from."""
    has_key: bool
    named_keys: tuple[str, ...] = ()
    """Names in ERRANDS_API_KEYS."""
    reach: Reach = "public"
    """Where the URL's host is."""
    forbidden: bool = False
    """Whether requests are refused here."""


def model_findings(facts: ModelFacts) -> Iterator[Finding]:
    """Model, endpoint and key."""
    if facts.forbidden:
        text = "ERRANDS_FORBID_REQUESTS is set: only scripted models can be asked here"
        yield Finding("model", "note", text, "unset it where real agents are to run")
    if facts.name:
        yield Finding("model", "ok", f"model {facts.name}, if an agent names none")
    else:
        yield Finding("model", "note", f"ERRANDS_MODEL is not set: {_OWN}", "set ERRANDS_MODEL")
    yield _key(facts)
    if facts.url is not None:
        yield _url(facts, facts.url)


def _key(facts: ModelFacts) -> Finding:
    named = f"; ERRANDS_API_KEYS has {', '.join(sorted(facts.named_keys))}" if facts.named_keys else ""
    if facts.has_key:
        return Finding("model", "ok", f"OPENAI_API_KEY is set{named}")
    text = f"OPENAI_API_KEY is not set{named}: only agents that name a key of ERRANDS_API_KEYS can run"
    return Finding("model", "note", text, "set OPENAI_API_KEY; for an endpoint that wants none, to any word")


def _url(facts: ModelFacts, url: str) -> Finding:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        advice = f"set {facts.url_setting} to something like https://api.openai.com/v1"
        return Finding("model", "wrong", f"{facts.url_setting} is not the address of an HTTP endpoint", advice)
    if parts.scheme == "http" and facts.reach != "here":
        text = f"key and conversations go to {host} in clear"
        advice = f"use https:// in {facts.url_setting}"
        return Finding("model", "wrong" if facts.reach == "public" else "note", text, advice)
    return Finding("model", "ok", f"endpoint {parts.scheme}://{host}, from {facts.url_setting}")
