"""Takes the callbacks of the render service and completes the calls that they are for: python callback_receiver.py"""

import asyncio
import hashlib
import hmac
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from pydantic import JsonValue

from errands_config.errors import AnswerRefused, NotFound, StoreUnreachable
from errands_config.wire import CallState
from errands_orchestrator import Client

RECEIVER = os.environ.get("RENDER_RECEIVER", "http://127.0.0.1:8702")
KEY = os.environ.get("RENDER_KEY", "for this example only").encode()


async def complete(call: str, result: JsonValue) -> None:
    """End the call. The same callback again is confirmed again."""
    async with Client() as client:
        await client.complete(call, result)


class Callbacks(BaseHTTPRequestHandler):
    """POST /CALL with the job's result, signed. The service calls again until it is answered with 204."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.taken(self.path.removeprefix("/"), body))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def taken(self, call: str, body: bytes) -> int:
        signature = hmac.new(KEY, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signature.encode(), (self.headers["X-Signature"] or "").encode()):
            return 403
        try:
            asyncio.run(complete(call, json.loads(body)))
        except AnswerRefused as refused:
            print(f"not taken: {refused}", flush=True)
            # a job that was quicker than its tool is called back again; a call that has ended needs no further callback
            return 204 if CallState(refused.state).is_final else 409
        except NotFound as unknown:
            print(f"not taken: {unknown}", flush=True)
            return 404
        except StoreUnreachable as away:
            print(f"not taken: {away}", flush=True)
            return 503
        print(f"call {call}: completed", flush=True)
        return 204

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing beside what is printed above."""


if __name__ == "__main__":
    where = urlsplit(RECEIVER)
    with ThreadingHTTPServer((where.hostname or "", where.port or 80), Callbacks) as server:
        print(f"the receiver listens on {RECEIVER}", flush=True)
        server.serve_forever()
