"""An answer put together from its documents: one when it came whole, many when it was streamed.

Gateways disagree about how the pieces of parallel calls are told apart. The index is followed where it tells them
apart; where it does not (all calls under index 0, or none at all), a new call begins with a new id, with another name,
or where a new object starts behind arguments that are already complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from errands_orchestrator.models.hearing import Heard, encodable
from errands_orchestrator.models.model import Finish, ModelCall, Reply, Usage
from errands_orchestrator.models.pieces import AnswerError, CallPiece, ChoicePiece, MessagePiece, read

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


@dataclass(slots=True)
class _Draft:
    """A call that is still coming in."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    next_name: str = ""
    """A name that came behind whole arguments: that of a call whose arguments may follow, or a mere repetition."""

    def take(self, piece: CallPiece) -> None:
        self.id = self.id or piece.id
        if not piece.function:
            return
        if piece.function.arguments:
            self.arguments.append(piece.function.arguments)
        elif piece.function.name and self.is_complete:
            self.next_name = piece.function.name
        self.name = self.name or piece.function.name

    @property
    def is_empty(self) -> bool:
        return not (self.id or self.name or self.arguments)

    @property
    def is_complete(self) -> bool:
        """Whether the arguments so far are a whole JSON object; cheap while they cannot be."""
        if not (self.arguments and self.arguments[-1].rstrip().endswith("}")):
            return False
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False

    def call(self) -> ModelCall:
        return ModelCall(encodable(self.id), encodable(self.name), encodable("".join(self.arguments)))


def _begins_anew(draft: _Draft, piece: CallPiece) -> bool:
    """Whether a piece that could belong to this draft is the start of another call."""
    name = piece.function.name if piece.function else ""
    arguments = piece.function.arguments.lstrip() if piece.function else ""
    other_name = bool(name and draft.name and name != draft.name)
    other_id = bool(piece.id and draft.id and piece.id != draft.id)
    if other_name or (other_id and name):
        return True
    # some gateways mint a fresh id for every piece: without a name, it counts only behind whole arguments
    return (other_id or arguments.startswith("{")) and draft.is_complete


class Assembly:
    """Collects the documents of one answer."""

    def __init__(self, on_text: Callable[[str], None] | None = None) -> None:
        """`on_text` hears the text as it comes."""
        self._heard = Heard(on_text)
        self._drafts: list[_Draft] = []
        self._finish: str = ""
        self._usage: Usage | None = None
        self._spoke = False

    @property
    def is_finished(self) -> bool:
        """Whether the finish reason was there: nothing that matters follows it."""
        return bool(self._finish)

    def add(self, document: object) -> None:
        """Take in one decoded JSON document. Raises AnswerError."""
        piece = read(document)
        self._usage = piece.usage or self._usage
        for choice in piece.choices or ():
            self._add_choice(choice)

    def reply(self) -> Reply:
        """The answer. Raises AnswerError if it has no choices, or ended before its finish reason."""
        if not self._spoke:
            raise AnswerError("it has no choices")
        if not self._finish:
            raise AnswerError("it ended before its finish reason")
        calls = tuple(draft.call() for draft in self._drafts if not draft.is_empty)
        return Reply(self._heard.text, calls, _FINISHES.get(self._finish, "other"), self._usage)

    def _add_choice(self, choice: ChoicePiece) -> None:
        self._spoke = True
        said = choice.delta or choice.message or MessagePiece()
        if choice.delta is None and choice.message:
            self._drafts.extend(_whole(piece) for piece in said.calls)
            # a whole answer is over, also where the endpoint does not say why
            self._finish = "tool_calls" if said.calls else "stop"
        else:
            for piece in said.calls:
                self._draft_for(piece).take(piece)
        self._finish = choice.finish_reason or self._finish
        self._heard.add(said.text)

    def _draft_for(self, piece: CallPiece) -> _Draft:
        near = [draft for draft in self._drafts if piece.index is None or draft.index == piece.index]
        known = [draft for draft in near if piece.id and draft.id == piece.id]
        draft = (known or near or [None])[-1]
        if draft is None or _begins_anew(draft, piece):
            is_named = piece.function and piece.function.name
            self._drafts.append(_Draft(piece.index, name=draft.next_name if draft and not is_named else ""))
            return self._drafts[-1]
        return draft


def _whole(piece: CallPiece) -> _Draft:
    draft = _Draft(piece.index)
    draft.take(piece)
    return draft
