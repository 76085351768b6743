"""An agent file as the store keeps it for its sessions."""

from __future__ import annotations

import hashlib

from errands_config.wire import Frozen


class StoredAgent(Frozen):
    """An agent file in the store: its canonical text, and the script of a `Scripted` model."""

    file: str
    script: str = ""

    @property
    def text(self) -> str:
        """As it is stored."""
        return self.model_dump_json()

    @property
    def digest(self) -> str:
        """SHA-256 of what is stored."""
        return hashlib.sha256(self.text.encode()).hexdigest()
