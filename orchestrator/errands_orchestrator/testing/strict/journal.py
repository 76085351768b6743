"""What the endpoint notes of each request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from errands_orchestrator.models.model import Dialect

Outcome: TypeAlias = Literal["open", "answered", "refused", "cut", "client left", "stopped"]


@dataclass(slots=True)
class Received:
    """One request. Times are those of `time.monotonic`."""

    number: int
    """From 1."""
    client: str
    """Address and port that it came from: a connection."""
    headers: dict[str, str]
    body: bytes
    began: float
    request: dict[str, object]
    """The decoded body; empty if it was refused."""
    refusal: str = ""
    outcome: Outcome = "open"
    ended: float | None = None

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.request.get("model", ""))

    @property
    def wants_stream(self) -> bool:
        """Whether the answer was asked for in pieces."""
        return self.request.get("stream") is True

    @property
    def messages(self) -> list[dict[str, object]]:
        """The decoded messages, or items in the Responses API."""
        return cast("list[dict[str, object]]", self.request.get("messages", self.request.get("input", [])))

    @property
    def dialect(self) -> Dialect:
        """Which API was asked."""
        return "responses" if "input" in self.request else "chat"

    @property
    def async_tools(self) -> frozenset[str]:
        """Names of the tools whose calls may be answered in a later request."""
        tools = cast("list[dict[str, object]]", self.request.get("tools", []))
        return frozenset(str(tool.get("name")) for tool in tools if tool.get("async") is True)
