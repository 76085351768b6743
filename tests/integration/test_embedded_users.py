"""The embedded store under real processes that share it, leave it, and are killed in it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from tests.waiting import eventually

from errands_config.embedded import EmbeddedServer, EmbeddedStore

USER = """
import os, sys
from pathlib import Path
from errands_config.embedded import EmbeddedStore

with EmbeddedStore(Path(sys.argv[1])) as store:
    print(store.url, flush=True)
    asked = sys.stdin.readline()
    if asked == "fork\\n" and os.fork() == 0:
        sys.stdin.readline()
        os._exit(0)
print("left", flush=True)
sys.stdin.readline()
"""


class User:
    """A process that uses the embedded store of a home until it is told to leave."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def reads(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def told(self, word: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self.reads()

    def end(self, by: signal.Signals = signal.SIGKILL) -> None:
        os.killpg(self.process.pid, by)
        self.process.wait(10)


NewUser = Callable[[], User]


@pytest.fixture
def home(tmp_path: Path, clean_environment: None) -> Path:
    return tmp_path / "home"


@pytest.fixture
def new_user(home: Path) -> Iterator[NewUser]:
    """Makes processes that use the store; at the end all are gone, and the store with them."""
    users: list[User] = []

    def start() -> User:
        users.append(User(home))
        return users[-1]

    yield start
    for user in users:
        if user.process.poll() is None:
            user.end()
        user.process.communicate()
    with EmbeddedStore(home):
        pass


def server_of(home: Path) -> EmbeddedServer:
    return EmbeddedServer(home / "store", "fast")


def server_process(url: str) -> int:
    with redis.Redis.from_url(url, decode_responses=True) as client:
        return client.info("server")["process_id"]


def keep(url: str, text: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.set("kept", text)


def kept(url: str) -> object:
    with redis.Redis.from_url(url, decode_responses=True) as client:
        return client.get("kept")


def test_a_killed_user_does_not_count_and_the_last_one_stops_the_store(home: Path, new_user: NewUser) -> None:
    killed, last = new_user(), new_user()
    url = killed.reads()
    assert last.reads() == url
    keep(url, "over both")
    killed.end()
    assert server_of(home).lives()
    assert last.told("leave") == "left"
    assert not server_of(home).lives()
    with EmbeddedStore(home) as store:
        assert kept(store.url) == "over both"


def test_the_store_outlives_the_user_that_started_it(home: Path, new_user: NewUser) -> None:
    first = new_user()
    first.reads()
    second = new_user()
    url = second.reads()
    process = server_process(url)
    assert first.told("leave") == "left"
    first.end()
    assert server_process(url) == process
    second.told("leave")
    assert not server_of(home).lives()


def test_a_store_whose_users_were_all_killed_is_found_by_the_next_and_stopped_by_it(
    home: Path, new_user: NewUser
) -> None:
    user = new_user()
    process = server_process(user.reads())
    user.end()
    with EmbeddedStore(home) as store:
        assert server_process(store.url) == process
    assert not server_of(home).lives()


def test_users_that_start_at_once_get_the_same_store(home: Path, new_user: NewUser) -> None:
    users = [new_user() for _ in range(4)]
    assert len({server_process(user.reads()) for user in users}) == 1
    assert [user.told("leave") for user in users] == ["left"] * 4
    assert not server_of(home).lives()


def test_users_that_come_and_go_at_once_always_find_a_store_with_its_data(home: Path, new_user: NewUser) -> None:
    def come_and_go(name: str) -> int:
        for round_number in range(8):
            with EmbeddedStore(home) as store, redis.Redis.from_url(store.url) as client:
                assert client.incr(name) == round_number + 1
        return 8

    with ThreadPoolExecutor(4) as users:  # a lock belongs to an opened file, so threads contend as processes do
        assert list(users.map(come_and_go, "abcd")) == [8] * 4
    assert not server_of(home).lives()


def test_a_user_killed_while_it_starts_the_store_is_no_obstacle(home: Path, new_user: NewUser) -> None:
    (home / "store").mkdir(parents=True)
    (home / ".gitignore").write_text("*\n")
    starting = new_user()
    eventually(server_of(home).lives, saying="the server process exists")
    starting.end()
    with EmbeddedStore(home) as store:
        keep(store.url, "works")
        assert kept(store.url) == "works"


def test_an_interrupt_at_the_terminal_does_not_reach_the_store(home: Path, new_user: NewUser) -> None:
    user = new_user()
    url = user.reads()
    process = server_process(url)
    assert os.getsid(process) != os.getsid(user.process.pid)
    with EmbeddedStore(home):
        user.end(by=signal.SIGINT)
        assert server_process(url) == process


def test_a_forked_copy_of_a_user_that_left_neither_keeps_the_store_nor_its_lock(home: Path, new_user: NewUser) -> None:
    user = new_user()
    user.reads()
    assert user.told("fork") == "left"
    assert not server_of(home).lives()
    with EmbeddedStore(home) as store:
        assert store.server.lives()
    assert not server_of(home).lives()


def test_the_store_is_a_child_of_nobody_who_uses_it(home: Path, new_user: NewUser) -> None:
    user = new_user()
    process = server_process(user.reads())
    parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    assert parent not in (user.process.pid, os.getpid())
