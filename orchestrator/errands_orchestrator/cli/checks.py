"""What `errands doctor` knows: facts in, findings out. Pure; each finding says what to do."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from errands_orchestrator.catalogue import LiveOffer

OLDEST_VERSION = (7, 0)

DURABLE = "durable: all promises hold over kill -9 of anything and loss of a machine whose disk survives"
FAST = (
    "fast: all promises hold over kill -9 of any process but the store; after a store crash up to two seconds may be "
    "undone"
)

Level: TypeAlias = Literal["ok", "note", "wrong"]
Info: TypeAlias = Mapping[str, object]
"""What the store's INFO says, by the names it uses there."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    level: Level
    text: str
    advice: str = ""
    """What to do; empty where all is well."""


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """A worker incarnation that beats."""

    id: str
    host: str
    queues: tuple[str, ...]
    slots: str
    silent_ms: int
    """Store time since its last beat."""


def store_findings(info: Info, appendfsync: str | None) -> Iterator[Finding]:
    """What kind of store it is. `appendfsync` is None where the store does not tell its configuration."""
    yield _version(info)
    yield _cluster(info)
    yield _eviction(info)
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


def _eviction(info: Info) -> Finding:
    policy = str(info.get("maxmemory_policy", "unknown"))
    if policy != "noeviction":
        advice = "set maxmemory-policy to noeviction"
        return Finding("eviction", "wrong", f"maxmemory-policy is {policy}: a full store would drop records", advice)
    return Finding("eviction", "ok", "maxmemory-policy is noeviction")


def _persistence(info: Info, appendfsync: str | None) -> Finding:
    if str(info.get("aof_enabled", "0")) != "1":
        advice = "set appendonly to yes, and appendfsync to always (durable) or everysec (fast)"
        return Finding("persistence", "wrong", "no append-only file: a restart of the store loses work", advice)
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


def home_finding(home: str, mode: int | None, *, ours: bool) -> Finding:
    """The folder of local state; `mode` is None where there is none yet."""
    if mode is None:
        return Finding("home", "ok", f"{home} will be made when it is needed")
    if not ours:
        advice = "name a folder of your own in ERRANDS_HOME"
        return Finding("home", "wrong", f"{home} belongs to another user", advice)
    if stat.S_IMODE(mode) & 0o077:
        text = f"{home} has mode {stat.S_IMODE(mode):o}: others can read conversations"
        return Finding("home", "wrong", text, f"chmod 700 {home}")
    return Finding("home", "ok", f"{home} is for its owner alone")


def worker_findings(workers: Sequence[LiveWorker], lost_after_ms: int) -> Iterator[Finding]:
    """The workers that beat, and those that stopped to."""
    if not workers:
        yield Finding(
            "workers", "note", "no worker is running", "`errands worker FILE` starts one, `errands run` its own"
        )
    for worker in workers:
        text = f"{worker.id} on {worker.host}: {worker.slots} slots on {', '.join(worker.queues)}"
        if worker.silent_ms > lost_after_ms:
            silence = f"{text}; silent for {worker.silent_ms / 1000:.0f} s"
            yield Finding("workers", "wrong", silence, "an orchestrator would settle it: `errands orchestrator`")
        else:
            yield Finding("workers", "ok", text)


def queue_findings(waiting: Mapping[str, int], workers: Sequence[LiveWorker]) -> Iterator[Finding]:
    """Queues with calls that no live worker takes. `waiting`: queued calls by queue."""
    served = {queue for worker in workers for queue in worker.queues}
    for queue, count in sorted(waiting.items()):
        if count and queue not in served:
            text = f"{count} calls wait on queue {queue}, which no worker serves"
            yield Finding("queues", "wrong", text, f"`errands worker … --queues {queue}`")


def catalogue_findings(offers: Sequence[LiveOffer]) -> Iterator[Finding]:
    """Names under which workers offer different tools."""
    digests: dict[str, set[str]] = {}
    for live in offers:
        digests.setdefault(live.offer.name, set()).add(live.offer.digest)
    for name in conflicts(digests):
        text = f"{name} is offered in {len(digests[name])} versions"
        yield Finding("catalogue", "wrong", text, "restart the older workers; `errands tools list` shows who is who")


def conflicts(digests: Mapping[str, Collection[str]]) -> list[str]:
    """The names with more than one digest."""
    return sorted(name for name, found in digests.items() if len(found) > 1)
