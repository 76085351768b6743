"""Answers from a file, for an endpoint that is a process of its own.

The file is a script of the scripted model (`errands_orchestrator.models.scripted`) whose turns may say more: `faults`
come first, one a request that picks the turn in this conversation; `style`, `pause` and `cut_after` are those of `Say`.

    [
      {"faults": [{"status": 429, "headers": {"retry-after": "0"}}, {"raw": "<html>", "content_type": "text/html"},
                  {"hang": true}, {"drop": true}, {"cut_after": 2}],
       "say": "Hello", "calls": [{"name": "lint", "id": ""}], "style": {"index": "zero"}}
    ]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from errands_orchestrator.models.scripted import ScriptTurn, turn_for
from errands_orchestrator.models.seen import seen_messages
from errands_orchestrator.testing.strict.answers import HANG, Answer, Call, Drop, Raw, Say, Status, Style
from errands_orchestrator.testing.strict.journal import Received
from errands_orchestrator.testing.strict.prefix import beginning_of
from errands_orchestrator.testing.strict.refusal import RefusedError


class Fault(BaseModel):
    """One thing that goes wrong; exactly one of its fields says what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: int | None = None
    headers: dict[str, str] = {}
    raw: str | None = None
    content_type: str = "application/json"
    hang: bool = False
    drop: bool = False
    cut_after: int | None = None


class FaultyTurn(ScriptTurn):
    """A turn that can go wrong."""

    faults: tuple[Fault, ...] = ()
    style: Style = Style()
    pause: float = 0.0
    cut_after: int | None = None


_SCRIPT = TypeAdapter(tuple[FaultyTurn, ...])


def answers_from(script: Path) -> Callable[[Received], Answer]:
    """What the script in a file answers to a request."""
    turns = _SCRIPT.validate_json(script.read_bytes())
    asked: Counter[tuple[tuple[str, ...], int, int]] = Counter()

    def answer(received: Received) -> Answer:
        messages = seen_messages(received.messages)
        position = turn_for(turns, messages)
        if position is None:
            raise RefusedError("The script has no turn for this request.", code="no_answer_left")
        turn = turns[position]
        said = sum(message.role == "assistant" for message in messages)
        asking = (beginning_of(received.body), said, position)
        asked[asking] += 1
        if asked[asking] <= len(turn.faults):
            return _failing(turn.faults[asked[asking] - 1], turn)
        return _say(turn, said + 1, turn.cut_after)

    return answer


def _failing(fault: Fault, turn: FaultyTurn) -> Answer:
    if fault.status is not None:
        return Status(fault.status, headers=tuple(fault.headers.items()))
    if fault.raw is not None:
        return Raw(fault.raw.encode(), fault.content_type)
    if fault.cut_after is not None:
        return _say(turn, 1, fault.cut_after)
    return HANG if fault.hang else Drop()


def _say(turn: FaultyTurn, number: int, cut_after: int | None) -> Say:
    reply = turn.reply(number)
    calls = tuple(Call(call.name, call.arguments, call.provider_id) for call in reply.calls)
    return Say(reply.text, calls, reply.finish, turn.style, turn.pause, cut_after)
