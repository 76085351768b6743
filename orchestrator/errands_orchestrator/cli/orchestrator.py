"""`errands orchestrator`: step sessions until told to stop."""

from __future__ import annotations

import asyncio
import importlib.util

from errands_config.errors import ConfigError
from errands_config.settings import Settings, load_settings
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.interrupts import interrupts
from errands_orchestrator.cli.own_log import log_to_stderr


def serve() -> None:
    """Step sessions that are due, until SIGTERM or Ctrl-C. The log goes to stderr, as JSON lines.

    Any number may run; each session is stepped by one of them. When one stops, the others go on with its sessions.
    """
    check_installation()
    log_to_stderr()
    with reached(load_settings()) as there:
        asyncio.run(_serve(there.settings))


def check_installation() -> None:
    """Raises ConfigError where only what a worker needs is installed."""
    if importlib.util.find_spec("openai") is None:
        raise ConfigError("an orchestrator needs more than a worker does: pip install 'errands[orchestrator]'")


async def _serve(settings: Settings) -> None:
    from errands_orchestrator.service import orchestrator  # imported here: it takes a second

    with interrupts() as pressed:
        async with orchestrator(settings):
            await pressed.any()
