"""The stub as a pytest fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.stub.server import StubServer


@pytest.fixture
def openai_stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """A running stub. A request that the real API would refuse fails the test, whatever came of it.

    A test that means to send one empties `journal` before it ends. Clients reach the stub past any proxy.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with StubServer() as stub:
        yield stub
        assert not stub.refusals
