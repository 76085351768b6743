"""What kind of store it is, and whether it keeps what it is given. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from errands_orchestrator.cli.checks.finding import Finding

OLDEST_VERSION = (7, 0)
NEARLY_FULL = 0.9

DURABLE = "durable: all promises hold over kill -9 of anything and loss of a machine whose disk survives"
FAST = (
    "fast: all promises hold over kill -9 of any process but the store; after a store crash up to two seconds may be "
    "undone"
)

Info: TypeAlias = Mapping[str, object]
"""What the store's INFO says, by the names it uses there."""


def store_findings(info: Info, appendfsync: str | None) -> Iterator[Finding]:
    """What kind of store it is. `appendfsync` is None where the store does not tell its configuration."""
    yield _version(info)
    yield _cluster(info)
    yield _role(info)
    yield _eviction(info)
    yield _memory(info)
    yield _persistence(info, appendfsync)


def _version(info: Info) -> Finding:
    name = str(info.get("server_name", "redis"))
    text = str(info.get(f"{name}_version", info.get("redis_version", "0")))
    if tuple(int(part) for part in text.split(".")[:2] if part.isdecimal()) < OLDEST_VERSION:
        return Finding("version", "wrong", f"{name} {text} is too old", "use Redis 7 or newer, or Valkey")
    return Finding("version", "ok", f"{name} {text}")


def _cluster(info: Info) -> Finding:
    if str(info.get("cluster_enabled", "0")) == "1":
        advice = "use one primary with replicas; past its limit, several independent deployments"
        return Finding("cluster", "wrong", "this is a Redis Cluster, which is not supported", advice)
    return Finding("cluster", "ok", "no cluster")


def _role(info: Info) -> Finding:
    if (role := str(info.get("role", "master"))) != "master":
        advice = "let ERRANDS_REDIS_URL name the primary"
        return Finding("role", "wrong", f"this store is a {role}: it takes no writes", advice)
    return Finding("role", "ok", f"primary with {info.get('connected_slaves', 0)} replicas")


def _eviction(info: Info) -> Finding:
    policy = str(info.get("maxmemory_policy", "unknown"))
    if policy != "noeviction":
        advice = "set maxmemory-policy to noeviction"
        return Finding("eviction", "wrong", f"maxmemory-policy is {policy}: a full store would drop records", advice)
    return Finding("eviction", "ok", "maxmemory-policy is noeviction")


def _memory(info: Info) -> Finding:
    used, limit = (int(str(info.get(name, 0))) for name in ("used_memory", "maxmemory"))
    if not limit:
        return Finding("memory", "ok", f"{_mib(used)} used, without a limit")
    text = f"{_mib(used)} of {_mib(limit)} used"
    if used >= NEARLY_FULL * limit:
        return Finding(
            "memory", "wrong", f"{text}: a full store refuses writes", "raise maxmemory, or end old sessions"
        )
    return Finding("memory", "ok", text)


def _mib(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


def _persistence(info: Info, appendfsync: str | None) -> Finding:
    if str(info.get("aof_enabled", "0")) != "1":
        advice = "set appendonly to yes, and appendfsync to always (durable) or everysec (fast)"
        return Finding("persistence", "wrong", "no append-only file: a restart of the store loses work", advice)
    if str(info.get("aof_last_write_status", "ok")) != "ok":
        advice = "look at the store's log and at the room on its disk"
        return Finding("persistence", "wrong", "the store cannot write its append-only file", advice)
    match appendfsync:
        case "always":
            return Finding("persistence", "ok", DURABLE)
        case "everysec":
            return Finding("persistence", "ok", FAST)
        case "no":
            advice = "set appendfsync to always (durable) or everysec (fast)"
            return Finding("persistence", "wrong", "appendfsync is no: a crash loses what the system held", advice)
        case _:
            text = "append-only file; the store does not tell its appendfsync"
            return Finding("persistence", "note", text, "make sure that it is always (durable) or everysec (fast)")
