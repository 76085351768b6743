"""Whether anybody steps sessions."""

from __future__ import annotations

from typing import Any, cast

from errands_config import keys
from errands_orchestrator import reads


async def anybody_steps(store: reads.Store) -> bool:
    """Whether an orchestrator lives: each listens on a channel of its own. One may step a single session only."""
    return bool(await cast("Any", store.pubsub_channels(keys.channel("*"))))
