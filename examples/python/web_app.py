"""A chat for the browser as an ASGI application: it sends and watches, and steps no session itself.

errands up --agent-file agent.json          # store, worker and orchestrator
pip install uvicorn && uvicorn web_app:app

POST /sessions                  a text -> the id of a new session
POST /sessions/{id}/messages    a text, for the agent to hear
GET  /sessions/{id}/events      server-sent events; Last-Event-ID goes on where the browser lost the connection
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from errands_config.errors import Conflict, NotFound
from errands_orchestrator import Client, Event

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

AGENT = Path(__file__).parent / "agent.json"
BEGINNING = "0-0"


class Chat:
    """The application. Its client is open from the server's start to its end."""

    def __init__(self) -> None:
        self.client = Client()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.live(receive, send)
            return
        try:
            match scope["method"], scope["path"].strip("/").split("/"):
                case "POST", ["sessions"]:
                    await answer(send, 201, await self.client.start(AGENT, await text_of(receive)))
                case "POST", ["sessions", session, "messages"]:
                    await answer(send, 202, (await self.client.send(session, await text_of(receive))).id)
                case "GET", ["sessions", session, "events"]:
                    await self.stream(session, dict(scope["headers"]).get(b"last-event-id", b"").decode(), send)
                case _:
                    await answer(send, 404, "no such page")
        except NotFound as missing:
            await answer(send, 404, str(missing))
        except Conflict as full:
            await answer(send, 409, str(full))

    async def live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.client:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def stream(self, session: str, last: str, send: Send) -> None:
        """Until the browser leaves, which the server makes known by cancelling this."""
        await self.client.position(session)  # raises NotFound while another answer can still be given
        await begin(send, 200, "text/event-stream")
        async with aclosing(self.client.events(session, since=last or BEGINNING)) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": as_text(event), "more_body": True})


def as_text(event: Event) -> bytes:
    """A server-sent event. A `reset` tells the page to load the session anew."""
    data = json.dumps({"call": event.call, "tool": event.tool, **event.facts})
    return f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n".encode()


async def text_of(receive: Receive) -> str:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body.decode()


async def begin(send: Send, status: int, kind: str) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind.encode())]})


async def answer(send: Send, status: int, text: str) -> None:
    await begin(send, status, "text/plain; charset=utf-8")
    await send({"type": "http.response.body", "body": text.encode()})


app = Chat()
