"""Where every open call and every session stands just now: in which window, with whom.

`window_of_call` and `window_of_session` are pure; `Sight` reads the records, the file of effects and the endpoint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from tests.faults.kit.conversation import Endpoint
from tests.faults.kit.effects import Effects
from tests.faults.kit.kinds import Window

from errands_config import keys
from errands_orchestrator.session import Phase
from errands_orchestrator.snapshot import load_entry, load_session
from errands_orchestrator.transcript_chat import chat_message


@dataclass(frozen=True, slots=True)
class Seen:
    """One call or session in a window. What does not apply is empty."""

    window: Window
    id: str
    worker: str = ""
    pid: str = ""
    channel: str = ""


def window_of_call(state: str, attempt: int, starts: Collection[int], ends: Collection[int]) -> Window | None:
    """Where a call is, from its record and from what its tool said of its attempts; None: in no window."""
    if state == "queued":
        return Window.PUBLISHED
    if state != "running":
        return None
    if attempt in ends:
        return Window.FINISHED
    return Window.RUNNING if attempt in starts else Window.CLAIMED


def window_of_request(length: int, sent: Collection[int]) -> Window:
    """Where a committed request of so many messages is, if its answer is not committed."""
    return Window.SENT if length in sent else Window.COMMITTED


class Sight:
    """Looks at everything at once."""

    def __init__(self, store: redis.Redis, effects: Effects, endpoint: Endpoint) -> None:
        self._store = store
        self._effects = effects
        self._endpoint = endpoint

    def look(self, numbers: Sequence[tuple[int, str]]) -> list[Seen]:
        """Every window that is open. `numbers`: the sessions of the run with their numbers."""
        self._effects.look()
        return [*self._calls(), *self._sessions(numbers)]

    def _calls(self) -> Iterator[Seen]:
        open_calls: Any = self._store.zrange(keys.WATCH, 0, -1)
        with self._store.pipeline(transaction=False) as pipe:
            for cid in open_calls:
                pipe.hmget(keys.call(cid), ("state", "attempt", "worker", "pid"))
            records: Any = pipe.execute()
        for cid, (state, attempt, worker, pid) in zip(open_calls, records, strict=True):
            said = self._effects.starts[cid], self._effects.ends[cid]
            if window := window_of_call(state or "", int(attempt or 0), *said):
                yield Seen(window, cid, worker or "", pid or "")

    def _sessions(self, numbers: Iterable[tuple[int, str]]) -> Iterator[Seen]:
        for number, sid in numbers:
            head: Any = self._store.hmget(keys.session(sid), ("status", "token", "channel", "cursor", "snapshot"))
            status, token, channel, cursor, snapshot = (field or "" for field in head)
            if status == "idle":
                continue
            if self._store.xrange(keys.mail(sid), f"({cursor}", "+", count=1):
                yield Seen(Window.MAIL, sid, channel=channel if token else "")
            if token and snapshot and load_session(snapshot).phase is Phase.ASKING:
                window = window_of_request(self._length(sid), self._endpoint.sent[number])
                yield Seen(window, sid, channel=channel)

    def _length(self, sid: str) -> int:
        """Messages of the request that the log makes."""
        entries: Any = self._store.lrange(keys.log(sid), 0, -1)
        return 1 + sum(len(chat_message(load_entry(text))) for text in entries)
