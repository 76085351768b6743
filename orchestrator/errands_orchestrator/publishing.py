"""Publication to a broker that is not the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from errands_config.scripts.calls import repeat
from errands_config.scripts.commits import Publication
from errands_config.scripts.script import arun
from errands_orchestrator import reads
from errands_orchestrator.dispatcher import Dispatcher, repeated_publication


def publishing(connection: reads.Store, dispatcher: Dispatcher) -> Callable[[Sequence[Publication]], Awaitable[None]]:
    """What sends the messages of a commit to a broker that is not the store. What it misses, the sweeper repeats."""

    async def publish(committed: Sequence[Publication]) -> None:
        asked = [await arun(connection, repeat(one.id, one.queue, elsewhere=True)) for one in committed]
        await dispatcher.publish([repeated_publication(one) for one in asked if one])

    return publish
