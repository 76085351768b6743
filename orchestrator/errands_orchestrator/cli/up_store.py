"""The store under `errands up`: looked at all the time, started again if it is our own and died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from errands_config.errors import ErrandsError
from errands_config.store import aio_blocking
from errands_config.text import for_terminal
from errands_orchestrator import reads
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.keeping import Tell
from errands_orchestrator.cli.up_news import AWAY, Died, Note, Status
from errands_orchestrator.cli.up_status import read_status

LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Life:
    """One process of a store."""

    run: str
    process: str


class WatchedStore:
    """Knows which life of the store it saw last."""

    def __init__(self, there: Reached, tell: Tell) -> None:
        self._store = aio_blocking(there.settings, LOOK_SECONDS)  # no repeats: that it is away is news
        self._there = there
        self._tell = tell
        self._life: Life | None = None

    async def watch(self, show: Callable[[Status], None]) -> None:
        """Show the status once a second; for ever."""
        try:
            while True:
                show(await self._status())
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await self._store.aclose()

    async def _status(self) -> Status:
        try:
            await self._note_life()
            return await read_status(self._store, self._there.settings)
        except reads.AWAY:
            await self._revive()
            return AWAY

    async def _note_life(self) -> None:
        """A store whose run id has changed has died, whoever started it again."""
        server = await self._store.info("server")
        before, self._life = self._life, Life(str(server["run_id"]), str(server["process_id"]))
        if before and before != self._life:
            words = self._last_words(before)
            self._tell(Died(part="store", exit_code=None, last_words=words, again_in_seconds=0))

    async def _revive(self) -> None:
        try:
            await self._there.revive()
        except ErrandsError as still_away:
            self._tell(Note(text=f"store: {still_away}"))

    def _last_words(self, life: Life) -> str:
        """Of the embedded store; every line of its log begins with the process that wrote it."""
        embedded = self._there.embedded
        if embedded is None:
            return ""
        lines = (embedded.server.folder / "valkey.log").read_text(errors="replace").splitlines()
        said = [line for line in lines if line.startswith(f"{life.process}:")]
        return for_terminal(said[-1]) if said else ""
