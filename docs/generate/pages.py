"""Which pages there are, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generate.agent_file import agent_file_page
from docs.generate.command_line import command_line_page
from docs.generate.events import events_page
from docs.generate.settings import settings_page

FOLDER = Path(__file__).parents[1] / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "agent-file.md": agent_file_page,
    "settings.md": settings_page,
    "command-line.md": command_line_page,
    "events.md": events_page,
}
