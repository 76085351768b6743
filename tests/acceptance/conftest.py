"""One store with one worker for all tests of the command line, and a person who types commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.desk import a_store, a_worker
from tests.acceptance.person import Here, Person, agent_file
from tests.stub import StubServer

from errands_config import keys
from errands_config.settings import Settings
from errands_config.store import plain


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A store, and a worker that offers the tools of `tests/tools`."""
    folder = tmp_path_factory.mktemp("deployment")
    with a_store(folder / "home") as settings, a_worker(settings, folder / "worker.log", "--slots", "4"):
        yield settings


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """Somebody without a store: the embedded one is theirs."""
    somebody = Person.at(tmp_path)
    yield somebody
    somebody.leave()


@pytest.fixture
def stub() -> Iterator[StubServer]:
    """A model endpoint. A request that the real API would refuse fails the test."""
    with StubServer() as server:
        yield server
        server.release()
        assert not server.refusals


@pytest.fixture
def user(person: Person, deployment: Settings, stub: StubServer) -> Person:
    """Somebody with the deployment's store, a model endpoint, and an agent file `agent.json` beside them."""
    agent_file(person.folder / "agent.json")
    with plain(deployment) as store:
        store.delete(keys.DUE, keys.BELL)  # what other tests left unfinished is nobody's business here
    return person.with_store(deployment).with_model(stub)


@pytest.fixture
def here(user: Person, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Here:
    """`user`, inside this process."""
    return Here(user, monkeypatch, capfd)
