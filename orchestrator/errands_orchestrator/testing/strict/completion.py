"""A `Say` as the API words it: one JSON document, or the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, zip_longest

from errands_orchestrator.testing.strict.answers import FRESH, Call, Say, Style

Json = dict[str, object]


def whole(say: Say, model: str, number: int) -> Json:
    """The answer as one document. `number` makes ids fresh."""
    calls = [_whole_call(call) for call in with_ids(say, number).calls]
    message: Json = {"role": "assistant", "content": say.text, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": say.reason}
    return _envelope("chat.completion", model, number) | {"choices": [choice]} | _usage(say)


def chunks(say: Say, model: str, number: int) -> Iterator[Json]:
    """The answer as the documents of a stream, without the final `[DONE]`."""
    envelope = _envelope("chat.completion.chunk", model, number)
    for delta in _deltas(with_ids(say, number)):
        yield envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if say.reason is not None:
        yield envelope | {"choices": [{"index": 0, "delta": {}, "finish_reason": say.reason}]}
    if say.usage:
        yield envelope | {"choices": []} | _usage(say)


def _envelope(kind: str, model: str, number: int) -> Json:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_700_000_000 + number, "model": model}


def _usage(say: Say) -> Json:
    if say.usage is None:
        return {}
    prompt, completion = say.usage
    return {
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }


def with_ids(say: Say, number: int) -> Say:
    """The answer, its calls that are to have fresh ids with them."""
    calls = tuple(
        replace(call, id=f"call_{number}_{position}") if call.id == FRESH else call
        for position, call in enumerate(say.calls, 1)
    )
    return replace(say, calls=calls)


def _whole_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _deltas(say: Say) -> Iterator[Json]:
    yield {"role": "assistant", "content": None if say.calls else ""}
    for piece in cut(say.text or "", say.style.piece):
        yield {"content": piece}
    streams = [list(_call_pieces(call, position, say.style)) for position, call in enumerate(say.calls)]
    pieces = chain.from_iterable(zip_longest(*streams, fillvalue=None) if say.style.interleaved else streams)
    for piece in filter(None, pieces):
        yield {"tool_calls": [piece]}


def _call_pieces(call: Call, position: int, style: Style) -> Iterator[Json]:
    arguments = call.arguments
    whole_at_once = arguments is not None and len(arguments) <= style.piece
    texts: list[str | None] = [arguments] if whole_at_once or arguments is None else ["", *cut(arguments, style.piece)]
    for turn, text in enumerate(texts):
        first = turn == 0
        piece: Json = {} if style.index == "missing" else {"index": position if style.index == "right" else 0}
        if style.ids != "never" and (first or style.ids == "every") and call.id is not None:
            piece["id"] = call.id
        named: Json = {"name": call.name} if first or style.names == "every" else {}
        yield piece | ({"type": "function"} if first else {}) | {"function": named | {"arguments": text}}


def cut(text: str, size: int) -> list[str]:
    """A text in pieces of this size."""
    return [text[start : start + size] for start in range(0, len(text), size)]
