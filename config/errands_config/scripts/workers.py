"""The transitions of a worker incarnation: beat, settle."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal

import orjson

from errands_config import keys
from errands_config.scripts.script import Invocation, Script

_BEAT = Script(
    "beat",
    keys=("workers", "settled", "worker", "worker_calls", "wishes", "catalogue", "store"),
    args=("worker", "facts", "worker_seconds", "catalogue_seconds", "fresh"),
    shared=("generation",),
)
_MEET = Script("meet", keys=("store",), args=("fresh",), shared=("generation",))
_SETTLE = Script("settle", keys=("workers", "settled"), args=("worker", "beat", "keep_ms"))


@dataclass(frozen=True, slots=True)
class Beat:
    """What a beat brought back. `calls`: call -> process id; `wishes`: call -> `cancel` or `deadline`.

    `offers`: whether the worker's catalogue stands in the store; else it has to be written (again).
    """

    state: Literal["ok", "settled"]
    now: int
    generation: str
    """Which store answered."""
    calls: dict[str, int]
    wishes: dict[str, str]
    offers: bool = False


def beat(worker: str, facts: dict[str, str]) -> Invocation[Beat]:
    """Say that an incarnation lives; `facts` describe it: host, launcher, queues, slots."""
    named = {
        "workers": keys.WORKERS, "settled": keys.SETTLED, "worker": keys.worker(worker),
        "worker_calls": keys.worker_calls(worker), "wishes": keys.wishes(worker), "catalogue": keys.catalogue(worker),
        "store": keys.STORE,
    }  # fmt: skip
    flat = [part for pair in facts.items() for part in pair]
    args = {
        "worker": worker, "facts": orjson.dumps(flat).decode(), "worker_seconds": keys.SETTLED_MS // 1000,
        "catalogue_seconds": keys.CATALOGUE_SECONDS, "fresh": token_hex(8),
    }  # fmt: skip

    def parse(answer: Any) -> Beat:
        if answer[0] == "settled":
            return Beat("settled", int(answer[1]), answer[2], {}, {})
        _, now, met, calls, wishes, offers = answer
        return Beat("ok", int(now), met, {c: int(p) for c, p in _pairs(calls).items()}, _pairs(wishes), offers == 1)

    return _BEAT.use(named, args, parse)


def meet() -> Invocation[str]:
    """Which store this is: its generation. A store that is met for the first time gets one."""
    return _MEET.use({"store": keys.STORE}, {"fresh": token_hex(8)}, str)


def _pairs(answer: Any) -> dict[str, str]:
    return dict(answer) if isinstance(answer, dict) else dict(zip(answer[::2], answer[1::2], strict=True))


def settle(worker: str, watched_beat: str = "") -> Invocation[Literal["settled", "moved", "unknown"]]:
    """Give an incarnation up. With a `watched_beat` nothing is done if it has beaten since."""
    named = {"workers": keys.WORKERS, "settled": keys.SETTLED}
    args = {"worker": worker, "beat": watched_beat, "keep_ms": keys.SETTLED_MS}
    return _SETTLE.use(named, args, lambda answer: answer)
