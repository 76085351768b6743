"""A response put together from its documents: one when it came whole, many when it was streamed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from errands_orchestrator.models.hearing import Heard, encodable
from errands_orchestrator.models.model import Finish, ModelCall, Reply
from errands_orchestrator.models.pieces import AnswerError
from errands_orchestrator.models.response_pieces import ItemPiece, ResponsePiece, read_event

_SAID = ("response.output_text.delta", "response.refusal.delta")
_ENDS = ("", "response.completed", "response.incomplete", "response.cancelled")
_CUT: dict[str, Finish] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class Composition:
    """Collects the documents of one response."""

    def __init__(self, on_text: Callable[[str], None] | None = None) -> None:
        """`on_text` hears the text as it comes."""
        self._heard = Heard(on_text)
        self._items: list[ItemPiece] = []
        self._end: ResponsePiece | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the response has ended: nothing that matters follows."""
        return self._end is not None

    def add(self, document: object) -> None:
        """Take in one decoded JSON document. Raises AnswerError."""
        event = read_event(document)
        if event.type in _SAID:
            self._heard.add(event.delta)
        elif event.type == "response.output_item.done" and event.item:
            self._items.append(event.item)
        elif event.type in _ENDS and event.response:
            self._ended(event.response)

    def reply(self) -> Reply:
        """The answer. Raises AnswerError if the response did not end."""
        if self._end is None:
            raise AnswerError("it ended before the response did")
        calls = tuple(_call(item) for item in self._items if item.type == "function_call")
        return Reply(self._heard.text, calls, _finish(self._end, calls), self._end.usage)

    def _ended(self, response: ResponsePiece) -> None:
        if response.status not in ("", "completed", "incomplete"):
            raise AnswerError(f"its status is {response.status}")
        # some gateways leave the output out of the last event, because it was streamed
        self._items = list(response.output or self._items)
        if not self._heard.text:
            self._heard.add(_text(self._items))
        self._end = response


def _text(items: Sequence[ItemPiece]) -> str:
    return "".join(item.content for item in items if item.type == "message")


def _call(item: ItemPiece) -> ModelCall:
    return ModelCall(encodable(item.call_id), encodable(item.name), encodable(item.arguments), item.is_async)


def _finish(response: ResponsePiece, calls: Sequence[ModelCall]) -> Finish:
    if response.status == "incomplete":
        reason = response.incomplete_details.reason if response.incomplete_details else ""
        # a call in it may be cut where nobody sees it, such as before its arguments
        return "length" if calls else _CUT.get(reason, "other")
    return "tool_calls" if calls else "stop"
