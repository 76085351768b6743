"""What the names in an answer of the model are bound to: handles, idempotency keys, calls that others depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from errands_config.wire import CallState


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call of the conversation that was made before this answer, as its record says."""

    id: str
    provider_id: str = ""
    tool: str = ""
    state: CallState | None = None
    """None: its record is gone, retention took it."""
    likeness: str = ""
    """Of the call that an idempotency key is bound to."""


_NONE: Mapping[str, NamedCall] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Names:
    """Those of an answer's names that are bound, each with its call."""

    handles: Mapping[str, NamedCall] = field(default_factory=lambda: _NONE)
    keys: Mapping[str, NamedCall] = field(default_factory=lambda: _NONE)
    calls: Mapping[str, NamedCall] = field(default_factory=lambda: _NONE)
    """By whatever the model may call them: our id, a handle, the provider's id."""


UNNAMED = Names()


@dataclass(frozen=True, slots=True)
class WantedNames:
    """The names that an answer has."""

    handles: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look up."""
        return not (self.handles or self.keys or self.calls)
