"""For the test suites of those who write agents: no key, no network, and every other part real.

    async with errands("agent.json", scripted_model("script.json")) as tested:
        assert await tested.run("Are the tests green?") == "They are."

`strict_model` is a pytest fixture: import it into a `conftest.py`. Nothing else here needs pytest.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from errands_orchestrator.models.function import FunctionModel
from errands_orchestrator.models.model import ModelCall, Reply
from errands_orchestrator.models.real_requests import no_real_requests
from errands_orchestrator.models.scripted import ScriptCall, ScriptedModel, ScriptTurn, scripted_model
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.testing.deployment import Errands, errands
from errands_orchestrator.testing.strict import Call, Say, StrictEndpoint

if TYPE_CHECKING:
    from errands_orchestrator.testing.strict.fixture import strict_model

__all__ = [
    "Call",
    "Errands",
    "FunctionModel",
    "ModelCall",
    "Reply",
    "Say",
    "ScriptCall",
    "ScriptTurn",
    "ScriptedModel",
    "SeenMessage",
    "StrictEndpoint",
    "errands",
    "no_real_requests",
    "scripted_model",
    "strict_model",
]


if not TYPE_CHECKING:  # a type checker that saw this would take every name for an attribute

    def __getattr__(name: str) -> object:
        if name != "strict_model":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # imported when asked for: it needs pytest, which no other process has
        return importlib.import_module(f"{__name__}.strict.fixture").strict_model


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
