"""One worker with one pool process for all tests that leave it whole, and a desk of each test's own."""

from collections.abc import Iterator

import pytest
from tests.acceptance.desk import Desk, Worker, a_store, a_worker

from errands_config.settings import Settings


@pytest.fixture(scope="session")
def worker_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """The store of the shared worker."""
    with a_store(tmp_path_factory.mktemp("worker-store") / "home") as settings:
        yield settings


@pytest.fixture(scope="session")
def worker(worker_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """The shared worker."""
    with a_worker(worker_settings, tmp_path_factory.mktemp("worker") / "log") as worker:
        yield worker


@pytest.fixture
def desk(worker: Worker) -> Iterator[Desk]:
    """A session at the shared worker. A test that failed leaves nothing running for the next one."""
    desk = Desk(worker.store)
    yield desk
    desk.clear()
