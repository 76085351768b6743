"""One worker of each pool for all tests that leave it whole, and a desk of each test's own.

The prefork worker has one pool process. Tests get that one unless they are marked `in_both_pools`.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.acceptance.desk import Desk, Worker, a_store, a_threads_worker, a_worker
from tests.tools.hook_scripts import write_hooks

from errands_config.settings import Settings


@pytest.fixture
def pool() -> str:
    """The pool of the worker."""
    return "prefork"


@pytest.fixture(scope="session")
def prefork_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """The shared worker of processes."""
    folder = tmp_path_factory.mktemp("prefork")
    hooks = write_hooks(folder / "hooks")
    with a_store(folder / "home") as settings, _prefork_worker(settings, folder / "log", hooks) as worker:
        yield worker


def _prefork_worker(settings: Settings, log: Path, hooks: Path) -> AbstractContextManager[Worker]:
    modules = ("--module", "tests.tools.cooperative", "--module", "tests.tools.wrapped")
    return a_worker(settings, log, "--slots", "1", *modules, "--hooks", str(hooks))


@pytest.fixture(scope="session")
def threads_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """The shared worker of threads."""
    folder = tmp_path_factory.mktemp("threads")
    words = ("--slots", "4", "--module", "tests.tools.wrapped", "--hooks", str(write_hooks(folder / "hooks")))
    with a_store(folder / "home") as settings, a_threads_worker(settings, folder / "log", *words) as worker:
        yield worker


@pytest.fixture
def hooks(worker: Worker) -> Path:
    """The folder of the shared worker's hooks."""
    return worker.log.parent / "hooks"


@pytest.fixture
def worker(pool: str, request: pytest.FixtureRequest) -> Worker:
    """The shared worker of the test's pool."""
    return request.getfixturevalue(f"{pool}_worker")


@pytest.fixture
def worker_settings(worker: Worker) -> Settings:
    """How the shared worker's store is reached."""
    return worker.settings


@pytest.fixture
def desk(worker: Worker) -> Iterator[Desk]:
    """A session at the shared worker. A test that failed leaves nothing running for the next one."""
    desk = Desk(worker.store)
    yield desk
    desk.clear()
