"""Answers put on the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

from errands_orchestrator.testing.strict.answers import Answer, Drop, Hold, Raw, Say, Status
from errands_orchestrator.testing.strict.completion import Json, chunks, whole
from errands_orchestrator.testing.strict.http import Response
from errands_orchestrator.testing.strict.journal import Outcome, Received
from errands_orchestrator.testing.strict.refusal import RefusedError
from errands_orchestrator.testing.strict.response import response_events, whole_response


async def give(answer: Answer, received: Received, response: Response, released: asyncio.Event) -> Outcome:
    """Give the answer to a request. Raises ClientLeftError when the client leaves before its end."""
    match answer:
        case Say():
            return await (_in_pieces if received.wants_stream else _whole)(answer, received, response)
        case Status(code, message, headers):
            await response.whole(code, RefusedError(message, code="as_told").body(), "application/json", headers)
            return "answered"
        case Raw(body, content_type, status, headers):
            await response.whole(status, body, content_type, headers)
            return "answered"
        case Drop():
            return "cut"
        case Hold(then):
            await response.wait_while_present(released if then else None)
            return await give(then or Drop(), received, response, released)


async def _whole(say: Say, received: Received, response: Response) -> Outcome:
    await _pause(say, response)
    body = json.dumps(_document(say, received)).encode()
    sent = None if say.cut_after is None else min(len(body) - 1, 1024 * say.cut_after)
    await response.whole(200, body, "application/json", sent=sent)
    return "answered" if sent is None else "cut"


async def _in_pieces(say: Say, received: Received, response: Response) -> Outcome:
    await response.begin_stream()
    for position, chunk in enumerate(_documents(say, received)):
        if position == say.cut_after:
            return "cut"
        await _pause(say, response)
        await response.event(json.dumps(chunk).encode())
    if received.dialect == "chat":
        await response.event(b"[DONE]")
    await response.end_stream()
    return "answered"


def _document(say: Say, received: Received) -> Json:
    if received.dialect == "chat":
        return whole(say, received.model, received.number)
    return whole_response(say, received.model, received.number, received.async_tools)


def _documents(say: Say, received: Received) -> Iterator[Json]:
    if received.dialect == "chat":
        return chunks(say, received.model, received.number)
    return response_events(say, received.model, received.number, received.async_tools)


async def _pause(say: Say, response: Response) -> None:
    if say.pause:
        await response.wait_while_present(None, say.pause)
