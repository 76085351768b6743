"""What the doctor finds in a real store and in a real folder."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import redis
from pydantic import SecretStr
from tests.integration.fake_worker import fake_worker, offer

from errands_config import keys, store
from errands_config.embedded import embedded_store
from errands_config.settings import Settings, make_home
from errands_orchestrator.cli.checks.finding import Finding
from errands_orchestrator.cli.look_at_broker import broker_facts
from errands_orchestrator.cli.look_here import found_here
from errands_orchestrator.cli.look_there import found_there, way_facts
from errands_orchestrator.service import orchestrator

pytestmark = pytest.mark.usefixtures("clean_environment")
PORT_OF_NOBODY = 1


async def troubles(settings: Settings) -> list[str]:
    """Everything that is not well with the store, as `check level: text`."""
    return [line(one) for one in await found_there(settings) if one.level != "ok"]


def line(finding: Finding) -> str:
    return f"{finding.check} {finding.level}: {finding.text}"


async def test_a_store_with_a_worker_and_an_orchestrator_has_no_trouble(settings: Settings, store: redis.Redis) -> None:
    async with fake_worker(settings, "work"), orchestrator(settings, logs=False):
        found = await found_there(settings)

    assert [line(one) for one in found if one.level != "ok"] == []
    assert "processes that step sessions: 1" in [one.text for one in found]
    assert "w1 on here: ? slots on default" in [one.text for one in found]


def queued(store: redis.Redis, cid: str, queue: str, tool: str, *, ago_ms: int, sent: bool = True) -> None:
    """A call as a commit leaves it."""
    now = now_ms(store)
    store.sadd(keys.QUEUES, queue)
    store.zadd(keys.queued(queue), {cid: now if sent else 0})
    store.hset(keys.call(cid), mapping={"tool": tool, "queued_at": str(now - ago_ms), "state": "queued"})


def now_ms(store: redis.Redis) -> int:
    seconds, micros = store.time()
    return seconds * 1000 + micros // 1000


async def test_calls_that_nobody_takes_are_found_by_queue_and_by_tool(settings: Settings, store: redis.Redis) -> None:
    queued(store, "c1", "slow", "work", ago_ms=5_000)
    queued(store, "c2", "default", "paint", ago_ms=3_600_000)
    queued(store, "c3", "default", "work", ago_ms=30_000, sent=False)

    async with fake_worker(settings, "work"):
        found = [one for one in await troubles(settings) if one.startswith("queues")]

    assert found == [
        "queues wrong: calls waiting on queue default: 2, one of them for 30 s without having been sent to the broker",
        "queues wrong: calls of paint waiting on queue default: 1, and its workers do not offer it",
        "queues note: calls waiting on queue default: 2, the first of them for 60 min",
        "queues wrong: calls waiting on queue slow: 1, and no worker serves it",
    ]


async def test_workers_that_disagree_are_found_with_their_hosts(settings: Settings, store: redis.Redis) -> None:
    newer = offer("work", digest="e" * 64)

    async with fake_worker(settings, "work", "more"), fake_worker(settings, newer, name="w2"):
        found = await troubles(settings)

    assert "catalogue wrong: work is offered in 2 versions: d by w1 on here; eeeeeeee by w2 on here" in found
    assert "queues note: w2 on here serves queue default without more, which others on it offer" not in found


async def test_two_workers_on_a_queue_that_calls_use_are_compared(settings: Settings, store: redis.Redis) -> None:
    store.sadd(keys.QUEUES, "default")

    async with fake_worker(settings, "work", "more"), fake_worker(settings, "work", name="w2"):
        found = await troubles(settings)

    assert "queues note: w2 on here serves queue default without more, which others on it offer" in found


async def test_sessions_and_calls_that_are_overdue_are_found(settings: Settings, store: redis.Redis) -> None:
    now = now_ms(store)
    store.zadd(keys.DUE, {"s1": now - 60_000, "s2": now - 5_000, "owned": now + 6_000})
    store.zadd(keys.WATCH, {"c1": now - 10_000, "later": now + 10_000})

    found = await troubles(settings)

    assert [one for one in found if one.startswith("orchestrators")] == [
        "orchestrators note: no orchestrator is running",
        "orchestrators wrong: sessions waiting to be stepped: 2, the first of them for 60 s",
        "orchestrators wrong: calls past their deadline or queue timeout: 1, by up to 10 s",
    ]


@pytest.mark.parametrize("key", [keys.SESSIONS, keys.WORKERS])
async def test_records_from_the_future_show_that_the_clock_was_set_back(
    settings: Settings, store: redis.Redis, key: str
) -> None:
    store.zadd(key, {"x": now_ms(store) + 3_600_000})

    assert "clock wrong: the store's clock was set back: its newest record lies 60 min ahead" in await troubles(
        settings
    )


async def test_events_from_the_future_show_it_too(settings: Settings, store: redis.Redis) -> None:
    store.xadd(keys.EVENTS, {"kind": "x"}, id=f"{now_ms(store) + 30_000}-0")

    assert "clock note: the store's clock was set back: its newest record lies 30 s ahead" in await troubles(settings)


# ---- doors


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[Settings]:
    """A store that listens on TCP, on this machine only, and that the test may configure."""
    with embedded_store(tmp_path / "own") as url:
        settings = Settings(redis_url=url, home=tmp_path / "own")
        with store.plain(settings) as client:
            client.config_set("bind", "127.0.0.1")
            client.config_set("port", str(free_port()))
        yield settings


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.parametrize(
    ("configured", "expected"),
    [
        ({}, []),
        ({"protected-mode": "no"}, ["door note"]),
        ({"bind": "* -::*"}, ["door note"]),
        ({"bind": "* -::*", "requirepass": "secret"}, ["acl note"]),
        ({"appendfsync": "no"}, ["persistence wrong"]),
        ({"maxmemory-policy": "allkeys-lru", "maxmemory": "1mb"}, ["eviction wrong", "memory wrong"]),
    ],
)
async def test_what_a_store_is_set_to_is_judged(
    own_store: Settings, configured: dict[str, str], expected: list[str]
) -> None:
    with store.plain(own_store) as client:
        for name, value in configured.items():
            client.config_set(name, value)
    if password := configured.get("requirepass"):
        own_store = own_store.at((own_store.redis_url or "").replace("unix://", f"unix://:{password}@"))

    found = [one for one in await troubles(own_store) if not one.startswith(("workers", "orchestrators"))]

    assert [one.split(":")[0] for one in found] == expected
    with store.plain(own_store) as client:  # the store is stopped without a login
        client.config_set("requirepass", "")


async def test_a_store_that_keeps_its_configuration_to_itself_gives_notes(own_store: Settings) -> None:
    with store.plain(own_store) as client:
        cast("Any", client).acl_setuser(
            "app", enabled=True, passwords=["+p"], keys=["*"], channels=["*"], commands=["+@all", "-config", "-acl"]
        )
    app = own_store.at((own_store.redis_url or "").replace("unix://", "unix://app:p@"))

    found = await troubles(app)

    assert "door note: the store does not tell where it listens" in found
    assert "persistence note: append-only file; the store does not tell its appendfsync" in found


def test_a_socket_that_others_may_use_is_seen(own_store: Settings, tmp_path: Path) -> None:
    assert way_facts(own_store).socket_mode == 0o140600


@pytest.mark.parametrize(
    ("url", "facts"),
    [
        ("redis://localhost/0", ("redis", "here", "localhost:6379", False, True)),
        ("redis://:pw@127.0.0.1:7000/0", ("redis", "here", "127.0.0.1:7000", True, True)),
        ("rediss://10.0.0.1?ssl_cert_reqs=none", ("rediss", "private", "10.0.0.1:6379", False, False)),
        ("rediss://8.8.8.8:1?ssl_certfile=/c", ("rediss", "public", "8.8.8.8:1", True, True)),
    ],
)
def test_the_way_to_the_store_is_read_from_its_address(settings: Settings, url: str, facts: tuple[object, ...]) -> None:
    way = way_facts(settings.at(url))

    assert (way.scheme, way.reach, way.place, way.has_login, way.verified) == facts


# ---- broker


@pytest.mark.parametrize(
    ("url", "trouble", "tried"),
    [
        ("redis://localhost:port/0", "no number for a port", "login"),
        (f"redis://127.0.0.1:{PORT_OF_NOBODY}/0", "refused", "login"),
        (f"amqp://me:secret@127.0.0.1:{PORT_OF_NOBODY}//", "refused", "login"),
        ("redis+socket:///no/such/socket?virtual_host=0", "No such file", "login"),
        ("sqs://", "", "nothing"),
    ],
)
def test_a_broker_that_cannot_be_reached_is_told_without_its_login(
    settings: Settings, url: str, trouble: str, tried: str
) -> None:
    facts = broker_facts(with_broker(settings, url))

    assert facts
    assert (trouble in facts.trouble, bool(trouble), facts.tried) == (True, bool(facts.trouble), tried)
    assert "secret" not in facts.place + facts.trouble


def with_broker(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"broker_url": SecretStr(url)})


def test_a_broker_that_answers_is_found_by_login_or_by_connection(settings: Settings, own_store: Settings) -> None:
    with store.plain(own_store) as client:
        port = cast("dict[str, str]", client.config_get("port"))["port"]

    by_socket = broker_facts(with_broker(settings, store.broker_url(own_store)))
    by_login = broker_facts(with_broker(settings, f"redis://127.0.0.1:{port}/0"))
    by_connection = broker_facts(with_broker(settings, f"amqp://127.0.0.1:{port}//"))

    assert broker_facts(settings) is None
    assert [(one.trouble, one.tried) for one in (by_socket, by_login, by_connection) if one] == [
        ("", "login"),
        ("", "login"),
        ("", "connection"),
    ]


# ---- this machine


def test_a_home_that_we_made_is_well_and_so_is_none(settings: Settings) -> None:
    before = [one.level for one in found_here(settings) if one.check in ("home", "secret", "installation")]
    make_home(settings.home)
    after = [one.level for one in found_here(settings) if one.check in ("home", "secret", "installation")]

    assert set(before) == set(after) == {"ok"}


def test_a_key_file_is_looked_at_itself_and_not_where_it_points(settings: Settings, tmp_path: Path) -> None:
    make_home(settings.home)
    (tmp_path / "elsewhere").write_text("key")
    (settings.home / "secret-key").symlink_to(tmp_path / "elsewhere")

    [finding] = [one for one in found_here(settings) if one.check == "secret"]

    assert (finding.level, "no file with a key" in finding.text) == ("wrong", True)


def test_a_key_that_others_can_read_and_a_lost_gitignore_are_found(settings: Settings) -> None:
    home = make_home(settings.home)
    (home / ".gitignore").unlink()
    (home / "secret-key").write_text("key")
    (home / "secret-key").chmod(0o640)

    wrong = [one.advice for one in found_here(settings) if one.level == "wrong"]

    assert wrong == [f"echo '*' > {home}/.gitignore", f"chmod 600 {home}/secret-key, and think about a new key"]
