"""The forms that names have in an agent file, and the capabilities by their names."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

Capability: TypeAlias = Literal[
    "get-tool-call-status",
    "list-running-tool-calls",
    "cancel-tool-call",
    "send-to-tool-call",
    "wait-for-tool-calls",
    "get-tool-call-result",
    "ask-user",
]
"""What a model may ask about its own calls."""

CAPABILITIES: tuple[Capability, ...] = get_args(Capability)

_SLUG = r"^[A-Za-z0-9_-]{1,48}$"
_TOOL_NAME = r"^[A-Za-z0-9_-]{1,64}$"
_TOOL_GLOB = r"^[A-Za-z0-9_*-]+$"
_VALUE_NAME = r"^[A-Za-z0-9_.-]{1,64}$"

FORMS = {
    _SLUG: "a name of 1 to 48 letters, digits, _ or -",
    _TOOL_NAME: "the exact name of a tool (1 to 64 letters, digits, _ or -)",
    _TOOL_GLOB: "a tool's name in which * stands for any run of characters",
    _VALUE_NAME: "a name of 1 to 64 letters, digits, _, . or -",
}
"""The patterns in words."""

Slug: TypeAlias = Annotated[str, Field(pattern=_SLUG)]
ToolName: TypeAlias = Annotated[str, Field(pattern=_TOOL_NAME)]
ToolGlob: TypeAlias = Annotated[str, Field(pattern=_TOOL_GLOB)]
ValueName: TypeAlias = Annotated[str, Field(pattern=_VALUE_NAME)]
"""Of a parameter or a secret: it stands on command lines, and in results where a secret was cut out."""
