"""Which deferral somebody outside means: the one of a token, or the newest one of a call."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from errands_config import keys
from errands_config.errors import AnswerRefused, NotFound
from errands_config.scripts.calls import Place
from errands_config.settings import Settings
from errands_orchestrator import reads
from errands_orchestrator.tokens import is_token, read_token, secret_key

_FIELDS = ("nonce", "defer_kind", "defer_arguments", "arguments", "state")


@dataclass(frozen=True, slots=True)
class Addressed:
    """One deferral of one call."""

    place: Place
    nonce: int
    """Its number; that of a token may be of an earlier deferral than the rest."""
    kind: str
    arguments: str
    """JSON text of the arguments as they stood when it was deferred."""

    @property
    def is_question(self) -> bool:
        """Whether the model asks its user."""
        return self.kind == "question"


async def addressed(store: reads.Store, settings: Settings, target: str) -> Addressed:
    """The deferral that a token or one of our call ids names.

    Raises NotFound for what is neither or is gone, AnswerRefused for a call that is not deferred.
    """
    cid, nonce = read_token(secret_key(settings), target) if is_token(target) else (_call_id(target), 0)
    values = await reads.fields(store, keys.call(cid), (*Place.FIELDS, *_FIELDS))
    place = Place.of(cid, values[: len(Place.FIELDS)])
    newest, kind, deferred_with, arguments, state = (value or "" for value in values[len(Place.FIELDS) :])
    if place is None:
        raise NotFound(f"no call {cid}: `errands session pending` lists those that wait")
    if not newest:
        raise AnswerRefused(f"call {cid} ({place.tool}) is not deferred: it is {state}", state=state)
    return Addressed(place, nonce or int(newest), kind, deferred_with or arguments or "{}")


def _call_id(text: str) -> str:
    try:
        cid = str(UUID(text))
    except ValueError:
        cid = ""
    if cid != text:
        raise NotFound("this is neither a token nor a call's id: `errands session pending` lists the calls that wait")
    return cid
