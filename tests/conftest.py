"""What every test may ask for: one real store for the whole run, empty at the start of each test."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import redis
import redis.asyncio

from errands_config.embedded import embedded_store
from errands_config.settings import Settings
from errands_config.store import aio, plain


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a real Valkey that lives as long as the test run."""
    with embedded_store(tmp_path_factory.mktemp("valkey") / "home") as url:
        yield url


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them."""
    for name in os.environ:
        if name.startswith(("ERRANDS_", "OPENAI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def settings(valkey_server: str, clean_environment: None, tmp_path: Path) -> Settings:
    """Settings of a process that uses the test store and a home of its own."""
    return Settings(redis_url=valkey_server, home=tmp_path / "home")


@pytest.fixture
def store(settings: Settings) -> Iterator[redis.Redis]:
    """The test store, empty."""
    with plain(settings) as client:
        client.flushall()
        yield client


@pytest.fixture
async def astore(settings: Settings, store: redis.Redis) -> AsyncIterator[redis.asyncio.Redis]:
    """The test store, empty, for asyncio."""
    async with aio(settings) as client:
        yield client


LONGEST = ("tests/faults/", "tests/unit/test_stepper_machine.py", "tests/acceptance/test_long_results.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no process is left alone with it in the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
