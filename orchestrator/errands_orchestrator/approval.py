"""Arguments that somebody edits as they give leave to run a call: checked, and matched against the policy anew."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import JsonValue

from errands_config import keys
from errands_config.arguments_digest import arguments_digest
from errands_config.errors import InvalidArguments, ModelError
from errands_config.scripts.deferred import Edited
from errands_config.settings import Settings
from errands_config.wire import ToolOffer
from errands_orchestrator import reads
from errands_orchestrator.addressed import Addressed
from errands_orchestrator.arguments import read_arguments
from errands_orchestrator.brief import Brief
from errands_orchestrator.definitions import Library
from errands_orchestrator.models.function import FunctionModel
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.recording import with_own
from errands_orchestrator.redaction import restored
from errands_orchestrator.tokens import secret_key


async def edited(store: reads.Store, settings: Settings, meant: Addressed, arguments: str) -> Edited | None:
    """The call as it runs with these arguments (JSON text); None if they are those that were shown.

    A fingerprint in them stands for the value that was redacted. Raises InvalidArguments for what the tool's schema,
    as the session listed it, refuses, and NotFound where the session's agent is not in the store any more.
    """
    brief = await _brief(store, settings, meant.place.sid)
    offer = brief.tools.by_name[meant.place.tool]
    text, value = _checked(arguments, meant.arguments, offer, secret_key(settings))
    if arguments_digest(text) == arguments_digest(meant.arguments):
        return None
    policy = with_own(brief.policy.resolve(offer.name, value), offer)
    return Edited(text, policy, policy.queue or offer.queue)


def _checked(sent: str, shown: str, offer: ToolOffer, key: bytes) -> tuple[str, JsonValue]:
    """The arguments with every value in its place, as text and as a value."""
    # of a model, nothing at all is read as {}; of a person, it is rather a variable that was not set
    form = read_arguments('""' if sent.strip() in ("", "null") else sent, None)
    if not isinstance(form.value, dict):
        raise InvalidArguments(f"the new arguments cannot be used: {form.fault}")
    whole = restored(form.value, json.loads(shown), offer.redact, key)
    text = sent if whole == form.value else json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    read = read_arguments(text, offer.parameters)
    if read.fault:
        # what a schema complains of it quotes, also a value that is not to be shown
        why = f"the schema is {offer.parameters}" if offer.redact else read.fault
        raise InvalidArguments(f"the new arguments do not fit {offer.name}: {why}")
    return text, read.value


async def _brief(store: reads.Store, settings: Settings, sid: str) -> Brief:
    agent, tools = await reads.fields(store, keys.session(sid), ("agent", "tools"))
    library = Library(store, lambda agent, script: (FunctionModel(_nobody), ""), settings.shared_limits)
    return (await library.known(agent or "", tools or "")).brief


def _nobody(messages: Sequence[SeenMessage]) -> Reply:
    raise ModelError("nobody is asked here", cause="nobody is asked here", retryable=False)
