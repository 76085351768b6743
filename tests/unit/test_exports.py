"""What the two roots offer to the outside, no more and no less."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import errands_orchestrator
import errands_workers
from errands_orchestrator import testing

EXPORTS: dict[ModuleType, set[str]] = {
    errands_workers: {"tool", "ToolContext", "ToolHarness"},
    errands_orchestrator: {
        "BlockedOnDeferredCalls", "CallRow", "Cancellation", "Client", "Event", "PendingCall", "Resolution", "Run",
        "RunCancelled", "RunFailed", "RunPaused", "Sent",
    },
    testing: {
        "Call", "Errands", "FunctionModel", "ModelCall", "Reply", "Say", "ScriptCall", "ScriptTurn", "ScriptedModel",
        "SeenMessage", "StrictEndpoint", "errands", "no_real_requests", "scripted_model", "strict_model",
    },
}  # fmt: skip


@pytest.mark.parametrize("root", EXPORTS, ids=lambda root: root.__name__)
def test_a_root_exports_exactly_this(root: ModuleType) -> None:
    assert set(root.__all__) == EXPORTS[root]
    assert [name for name in root.__all__ if getattr(root, name, None) is None] == []
    assert set(root.__all__) <= set(dir(root))


@pytest.mark.parametrize("root", [errands_orchestrator, testing], ids=lambda root: root.__name__)
def test_a_name_that_is_not_exported_is_missing_as_in_any_module(root: ModuleType) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = root.nothing


def loaded_by(statement: str, *watched: str) -> list[str]:
    """Those of the watched modules that a statement loads in a fresh interpreter."""
    program = f"import sys; {statement}; print(*(name for name in {watched!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_root_loads_nothing_before_it_is_asked_for() -> None:
    assert loaded_by("import errands_orchestrator", "pydantic", "redis", "errands_orchestrator.client") == []


def test_a_client_that_only_sends_and_watches_loads_neither_celery_nor_a_model_client() -> None:
    assert loaded_by("from errands_orchestrator import Client, Event", "celery", "openai", "httpx2", "pytest") == []


def test_only_the_fixture_needs_pytest() -> None:
    assert loaded_by("from errands_orchestrator.testing import errands", "pytest") == []
    assert loaded_by("from errands_orchestrator.testing import strict_model", "pytest") == ["pytest"]
