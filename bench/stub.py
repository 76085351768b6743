"""A model endpoint on loopback that answers every request at once with the same call. A process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_CALL = {"id": "call_0", "type": "function", "function": {"name": "bench_nothing", "arguments": '{"text":"x"}'}}
_MESSAGE = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_COMPLETION = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "instant",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": _MESSAGE}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}  # fmt: skip
_BODY = json.dumps(_COMPLETION).encode()
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + str(len(_BODY)).encode() + b"\r\n\r\n"
) + _BODY


@contextmanager
def stub() -> Generator[str]:
    """The stub's base URL."""
    command = [sys.executable, "-m", "bench.stub"]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(_ANSWER)
    except asyncio.IncompleteReadError:
        writer.close()


if __name__ == "__main__":
    asyncio.run(_serve())
