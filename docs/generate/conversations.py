"""The worked conversations of docs/concepts/registry.md: played on a real deployment, and shown as the model was asked.

The model is an endpoint that answers by script and refuses whatever the real API would refuse.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, cast

from docs.generate.pages import FOLDER

from errands_orchestrator.models.model import Model
from errands_orchestrator.testing import Call, Say, StrictEndpoint, errands

PAGE = FOLDER.parent / "concepts" / "registry.md"
SHOP = Path(__file__).parent / "shop"

Dialect: TypeAlias = Literal["chat", "responses"]

_FLAVORS: Mapping[Dialect, dict[str, object]] = {
    "chat": {"flavor": "OpenAIv1"},
    "responses": {"flavor": "OpenAIResponses", "asyncTools": True},
}
_MODELS: Mapping[Dialect, Callable[[StrictEndpoint], Model]] = {
    "chat": StrictEndpoint.model,
    "responses": StrictEndpoint.responses_model,
}
_AGENT: dict[str, object] = {
    "slug": "shop",
    "executionMode": "asynchronous",
    "functionToolboxes": [{"tag": "Module", "contents": {"Module": "prices"}}],
    "toolCallPolicyConfig": {"default": {"tag": "runAsync"}},
    "builtinToolboxes": [{"tag": "SystemToolbox", "contents": {"Capabilities": ["wait-for-tool-calls"]}}],
    "registry": {"handles": True},
}
_ANSWERS = (
    Say(
        "",
        (
            Call("lookup_price", json.dumps({"sku": "WIDGET", "task_handle": "widget_price_1"}), "call_widget"),
            Call("wait-for-tool-calls", json.dumps({"task_handles": ["widget_price_1"]}), "call_wait"),
        ),
    ),
    Say("A widget costs 12 dollars."),
)


def played(dialect: Dialect) -> list[object]:
    """What stands behind the user's message in the last request of the conversation."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "prices.py").write_text((SHOP / "prices.py").read_text())
        (folder / "agent.json").write_text(json.dumps(_AGENT | _FLAVORS[dialect]))
        with StrictEndpoint(_ANSWERS) as endpoint:
            asyncio.run(_run(folder / "agent.json", _MODELS[dialect](endpoint)))
            body = cast("dict[str, list[object]]", json.loads(endpoint.journal[-1].body))
    asked = body["messages" if dialect == "chat" else "input"]
    return asked[_user(asked) + 1 :]


async def _run(file: Path, model: Model) -> None:
    async with errands(file, model) as here:
        await here.run("What does a widget cost?")


def _user(asked: list[object]) -> int:
    return next(place for place, item in enumerate(asked) if cast("dict[str, object]", item).get("role") == "user")


def page() -> str:
    """The page with both conversations as they are now."""
    text = PAGE.read_text()
    for dialect in _FLAVORS:
        before, start, rest = text.partition(f"<!-- conversation: {dialect} -->\n")
        _, end, after = rest.partition("<!-- /conversation -->")
        text = f"{before}{start}{_shown(played(dialect))}{end}{after}"
    return text


def _shown(items: list[object]) -> str:
    lines = ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in items)
    return f"\n```json\n[\n{lines}\n]\n```\n\n"
