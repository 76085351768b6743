"""What the doctor says about the store, the way to it, its doors, its clock and the broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from errands_orchestrator.cli.checks.broker import BrokerFacts, broker_finding
from errands_orchestrator.cli.checks.clock import ClockFacts, clock_findings
from errands_orchestrator.cli.checks.doors import DoorFacts, WayFacts, door_findings
from errands_orchestrator.cli.checks.finding import Finding, span
from errands_orchestrator.cli.checks.store import store_findings
from errands_orchestrator.cli.reaching import reach_of, reach_of_addresses

INFO = {
    "redis_version": "7.2.4", "cluster_enabled": 0, "role": "master", "connected_slaves": 2, "maxmemory": 0,
    "maxmemory_policy": "noeviction", "used_memory": 2**20, "aof_enabled": 1, "aof_last_write_status": "ok",
}  # fmt: skip


def troubles(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """What is not well; each says what to do about it."""
    assert all(bool(one.advice) is (one.level != "ok") for one in findings)
    return [(one.check, one.level) for one in findings if one.level != "ok"]


# ---- the store


@pytest.mark.parametrize(
    ("changed", "check", "word"),
    [
        ({"redis_version": "6.2.14"}, "version", "redis 6.2.14 is too old"),
        ({"redis_version": ""}, "version", "too old"),
        ({"cluster_enabled": 1}, "cluster", "Cluster"),
        ({"role": "slave"}, "role", "takes no writes"),
        ({"maxmemory_policy": "allkeys-lru"}, "eviction", "would drop records"),
        ({"maxmemory": 100 * 2**20, "used_memory": 90 * 2**20}, "memory", "90 MiB of 100 MiB used"),
        ({"aof_enabled": 0}, "persistence", "a restart of the store loses work"),
        ({"aof_last_write_status": "err"}, "persistence", "cannot write"),
    ],
)
def test_a_store_that_cannot_keep_what_it_is_given_is_wrong(changed: dict[str, object], check: str, word: str) -> None:
    findings = list(store_findings({**INFO, **changed}, "everysec"))

    assert troubles(findings) == [(check, "wrong")]
    assert word in next(one.text for one in findings if one.level == "wrong")


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "redis 7.2.4"),
        ({"redis_version": "10.0.1"}, "redis 10.0.1"),
        ({"server_name": "valkey", "valkey_version": "9.1.2"}, "valkey 9.1.2"),
        ({"maxmemory": 100 * 2**20, "used_memory": 89 * 2**20}, "89 MiB of 100 MiB used"),
    ],
)
def test_a_store_that_will_do_is_named(changed: dict[str, object], text: str) -> None:
    findings = list(store_findings({**INFO, **changed}, "always"))

    assert troubles(findings) == []
    assert text in [one.text for one in findings]


@pytest.mark.parametrize(
    ("appendfsync", "level", "text"),
    [
        (
            "always",
            "ok",
            "durable: all promises hold over kill -9 of anything and loss of a machine whose disk survives",
        ),
        ("everysec", "ok", "after a store crash up to two seconds may be undone"),
        ("no", "wrong", "a crash loses what the system held"),
        (None, "note", "does not tell its appendfsync"),
    ],
)
def test_durability_is_said_by_its_name_and_by_what_it_loses(appendfsync: str | None, level: str, text: str) -> None:
    *_, finding = store_findings(INFO, appendfsync)

    assert (finding.check, finding.level) == ("persistence", level)
    assert text in finding.text


# ---- doors

HERE = WayFacts("redis", "here", "localhost:6379", has_login=False)
SOCKET = WayFacts("unix", "here", "/s", has_login=False, socket_mode=0o140600)
NEAR = WayFacts("redis", "private", "store:6379", has_login=True)
FAR = WayFacts("rediss", "public", "store.example.com:6380", has_login=True)
SHUT = DoorFacts(bind=("127.0.0.1", "-::1"), listens=True, protected=True, open_default=True, user="default")
WIDE = replace(SHUT, bind=("*", "-::*"), open_default=False, user="errands")
DUMB = DoorFacts(bind=None, listens=True, protected=None, open_default=None, user=None)


@pytest.mark.parametrize(
    ("way", "door", "expected"),
    [
        (HERE, SHUT, []),
        (HERE, replace(SHUT, bind=("localhost",)), []),
        (HERE, replace(SHUT, protected=False), [("door", "note")]),
        (HERE, replace(SHUT, listens=False, bind=("*",), protected=False), []),
        (HERE, replace(WIDE, open_default=True, protected=True), [("door", "note")]),
        (HERE, replace(WIDE, open_default=True, protected=False), [("door", "wrong")]),
        (HERE, replace(WIDE, bind=(), open_default=True, protected=False), [("door", "wrong")]),
        (HERE, replace(WIDE, bind=("10.0.0.5", "127.0.0.1"), open_default=True, protected=False), [("door", "wrong")]),
        (HERE, replace(WIDE, open_default=None), [("door", "note")]),
        (HERE, DUMB, [("door", "note")]),
        (SOCKET, replace(SHUT, listens=False), []),
        (replace(SOCKET, socket_mode=0o140666), replace(SHUT, listens=False), [("transport", "wrong")]),
        (replace(SOCKET, socket_mode=None), replace(SHUT, listens=False), []),
        (NEAR, WIDE, [("transport", "note")]),
        (NEAR, replace(WIDE, user="default"), [("transport", "note"), ("acl", "note")]),
        (replace(NEAR, has_login=False), WIDE, [("transport", "note"), ("door", "wrong")]),
        (replace(NEAR, reach="public"), WIDE, [("transport", "wrong")]),
        (FAR, WIDE, []),
        (replace(FAR, verified=False), WIDE, [("transport", "wrong")]),
        (FAR, DUMB, [("door", "note")]),
        (replace(FAR, has_login=False), DUMB, [("door", "wrong")]),
    ],
)
def test_every_open_door_is_found(way: WayFacts, door: DoorFacts, expected: list[tuple[str, str]]) -> None:
    assert troubles(list(door_findings(way, door))) == expected


@pytest.mark.parametrize(
    ("addresses", "reach"),
    [
        (["127.0.0.1", "::1"], "here"),
        (["127.0.0.1", "10.1.2.3"], "private"),
        (["192.168.0.1"], "private"),
        (["fe80::1%eth0"], "private"),
        (["10.1.2.3", "8.8.8.8"], "public"),
    ],
)
def test_a_host_is_as_far_away_as_its_farthest_address(addresses: list[str], reach: str) -> None:
    assert reach_of_addresses(addresses) == reach


@pytest.mark.parametrize(("host", "reach"), [(None, "here"), ("localhost", "here"), ("no such host", "public")])
def test_a_host_without_an_address_may_be_anywhere(host: str | None, reach: str) -> None:
    assert reach_of(host) == reach


# ---- clock


@pytest.mark.parametrize(
    ("changed", "expected", "word"),
    [
        ({}, [], ""),
        ({"ahead": 1_900.0}, [], ""),
        ({"ahead": 5_000.0}, [("clock", "note")], "5 s ahead of this machine's"),
        ({"ahead": -7_200_000.0}, [("clock", "wrong")], "2 h behind this machine's"),
        ({"stepped": -1_500.0}, [("clock", "wrong")], "was set by -1.5 s while"),
        ({"newest": 30_000.0}, [("clock", "note")], "newest record lies 30 s ahead"),
        ({"newest": 300_000.0}, [("clock", "wrong")], "newest record lies 5 min ahead"),
    ],
)
def test_clocks_that_disagree_or_were_set_are_found(
    changed: dict[str, float], expected: list[tuple[str, str]], word: str
) -> None:
    findings = list(clock_findings(replace(ClockFacts(ahead=0, stepped=0, newest=-500), **changed)))

    assert troubles(findings) == expected
    assert word in " ".join(one.text for one in findings)


@pytest.mark.parametrize(("ms", "text"), [(1_000, "1 s"), (119_000, "119 s"), (120_000, "2 min"), (172_800_000, "2 d")])
def test_a_span_is_said_in_the_largest_unit_that_fits(ms: float, text: str) -> None:
    assert span(ms) == text


# ---- broker


@pytest.mark.parametrize(
    ("facts", "level", "word"),
    [
        (None, "ok", "the store is the broker"),
        (BrokerFacts("b:1"), "ok", "the broker at b:1 answers"),
        (BrokerFacts("b:1", tried="connection"), "ok", "the login was not tried"),
        (BrokerFacts("sqs", tried="nothing"), "note", "cannot be looked at"),
        (BrokerFacts("b:1", "Connection refused"), "wrong", "the broker at b:1 is not usable: Connection refused"),
    ],
)
def test_a_broker_that_cannot_be_used_is_named(facts: BrokerFacts | None, level: str, word: str) -> None:
    finding = broker_finding(facts)

    assert (finding.check, finding.level, bool(finding.advice)) == ("broker", level, level != "ok")
    assert word in finding.text
