"""The strict endpoint as a pytest fixture. Only who asks for it imports pytest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from errands_orchestrator.testing.strict.server import StrictEndpoint


@pytest.fixture
def strict_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictEndpoint]:
    """A running endpoint. A request that the real API would refuse fails the test, whatever came of it.

    A test that means to send one empties `journal` before it ends. Clients reach the endpoint past any proxy.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with StrictEndpoint() as endpoint:
        yield endpoint
        endpoint.release()
        assert not endpoint.refusals, f"the real API would have refused: {endpoint.refusals}"
