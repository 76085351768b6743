"""The clerk: somebody outside who answers deferred calls through `Client`, in a process that is never harmed.

python -m tests.faults.kit.clerk SEED FILE, until SIGTERM. What it was told is appended to FILE. It uses the code of the
run, so that its scripts see the stepped clock as well.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from tests.faults.kit.answers import Answer, append
from tests.faults.kit.deeds import Deed, deeds

from errands_config.errors import Conflict, StoreUnreachable
from errands_orchestrator import Client, PendingCall

_LOOK_SECONDS = 0.2


class Clerk:
    """Answers every call that waits, each deferral once or as its deeds say."""

    def __init__(self, client: Client, seed: str, file: Path) -> None:
        self._client = client
        self._seed = seed
        self._file = file
        self._seen: set[str] = set()
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Begin with no further call."""
        self._stop.set()

    async def work(self) -> None:
        """Go on until it is stopped, and bring to its end what was begun."""
        async with asyncio.TaskGroup() as begun:
            while not self._stop.is_set():
                for waiting in await self._unseen():
                    for deed in deeds(self._seed, str(waiting.arguments["key"]), waiting.kind):
                        begun.create_task(self._do(waiting, deed))
                await asyncio.sleep(_LOOK_SECONDS)

    async def _unseen(self) -> list[PendingCall]:
        try:
            waiting = [call for call in await self._client.pending() if call.token not in self._seen]
        except StoreUnreachable:
            return []
        self._seen |= {call.token for call in waiting}
        return waiting

    async def _do(self, waiting: PendingCall, deed: Deed) -> None:
        """Do it until there is an answer, taken or refused, and write that down."""
        await asyncio.sleep(deed.after)
        taken, why = None, ""
        while taken is None:
            try:
                taken = await self._told(waiting, deed)
            except Conflict as refused:
                taken, why = False, str(refused)
            except StoreUnreachable:
                await asyncio.sleep(_LOOK_SECONDS)
        append(self._file, Answer(call=waiting.call.id, verb=deed.verb, text=deed.text, is_taken=taken, why=why))

    async def _told(self, waiting: PendingCall, deed: Deed) -> bool:
        target = waiting.token if deed.by_token else waiting.call.id
        match deed.verb:
            case "complete":
                await self._client.complete(target, deed.text)
            case "fail":
                await self._client.fail(target, deed.text)
            case "deny":
                await self._client.deny(target, deed.text)
            case "approve":
                await self._client.approve(target)
            case "cancel":
                return (await self._client.cancel(waiting.call.id)).cancelled
        return True


async def _main(seed: str, file: Path) -> None:
    async with Client() as client:
        clerk = Clerk(client, seed, file)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, clerk.stop)
        await clerk.work()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
