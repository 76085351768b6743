"""Faults that no process suffers: messages duplicated and delayed, a stepped clock, ends in another order."""

from __future__ import annotations

import signal
from random import Random
from typing import Any

from tests.faults.kit.broker import Broker, calls_in
from tests.faults.kit.code_copy import OFFSET
from tests.faults.kit.deployment import Deployment
from tests.faults.kit.harm import Look
from tests.faults.kit.kinds import Kind, Window
from tests.faults.kit.processes import below, send
from tests.faults.kit.timeline import Timeline

from errands_config import keys
from errands_config.wire import CallState

MOST_COPIES = 5
DELAY_SECONDS = (1.0, 6.0)
STEP_MS = (2_000, 40_000)
FURTHEST_MS = 60_000
HELD_BACK_SECONDS = 3.0
_PATIENCE_SECONDS = 2.0


class Mischief:
    """Makes one fault after the other; what it met is told as (what, windows). None: there was nothing to do it to."""

    def __init__(self, deployment: Deployment, look: Look, timeline: Timeline, numbers: Random) -> None:
        self._deployment = deployment
        self._store = deployment.store
        self._broker = Broker(deployment.store)
        self._look = look
        self._timeline = timeline
        self._numbers = numbers
        self._offset = 0

    def strike(self, kind: Kind) -> tuple[str, list[Window]] | None:
        """One fault of this kind."""
        match kind:
            case Kind.DUPLICATE:
                return self._duplicate()
            case Kind.DELAY:
                return self._delay()
            case Kind.CLOCK:
                return self._step_clock()
            case _:
                return self._reorder()

    def set_right(self) -> None:
        """The clock is right again."""
        self._store.delete(OFFSET)

    def _duplicate(self) -> tuple[str, list[Window]] | None:
        """Push every waiting message, and those of some running calls, up to five times more."""
        self._timeline.wait(_PATIENCE_SECONDS, lambda: bool(self._broker.waiting()))
        waiting = [(queue, text) for queue, texts in self._broker.waiting().items() for text in texts[:10]]
        running = [seen.id for seen in self._look() if seen.pid]
        again = [self._broker.published(cid) for cid in self._numbers.sample(running, min(4, len(running)))]
        if not waiting and not again:
            return None
        seen, touched = self._look(), set(calls_in([text for _, text in (*waiting, *again)]))
        for queue, text in (*waiting, *again):
            self._broker.push(queue, [text] * self._numbers.randint(1, MOST_COPIES))
        return f"{len(waiting)}+{len(again)}", [one.window for one in seen if one.id in touched]

    def _delay(self) -> tuple[str, list[Window]] | None:
        """Take every waiting message away, and put them back later in another order."""
        self._timeline.wait(_PATIENCE_SECONDS, lambda: bool(self._broker.waiting()))
        taken = self._broker.take_all()
        if not taken:
            return None
        touched = set(calls_in([text for texts in taken.values() for text in texts]))
        self._timeline.after(self._numbers.uniform(*DELAY_SECONDS), lambda: self._broker.put_back(taken, self._numbers))
        return str(sum(map(len, taken.values()))), [one.window for one in self._look() if one.id in touched]

    def _step_clock(self) -> tuple[str, list[Window]]:
        step = self._numbers.choice((-1, 1)) * self._numbers.randint(*STEP_MS)
        if abs(self._offset + step) > FURTHEST_MS:
            step = -step
        self._offset += step
        windows = [seen.window for seen in self._look()]
        self._store.set(OFFSET, self._offset)
        return f"{step / 1000:+.0f} s", windows

    def _reorder(self) -> tuple[str, list[Window]] | None:
        """Hold back the call of a session that began first until another one of that session has ended."""
        pair = self._pair()
        if pair is None:
            return None
        pid, first, others = pair
        stopped = [pid, *below(pid)]
        send(stopped, signal.SIGSTOP)
        windows = [seen.window for seen in self._look() if seen.id == first]
        self._timeline.wait(HELD_BACK_SECONDS, lambda: any(self._has_ended(cid) for cid in others))
        send(reversed(stopped), signal.SIGCONT)
        return f"{len(others)} first", windows

    def _pair(self) -> tuple[int, str, list[str]] | None:
        """Of a session with several calls that run: the process of the first, that call, and the others."""
        by_session: dict[str, list[tuple[int, int, str]]] = {}
        frozen = {str(pid) for member in self._deployment.members for pid in member.frozen}
        for seen in self._look():
            if seen.pid and seen.pid not in frozen:
                record: Any = self._store.hmget(keys.call(seen.id), ("session", "started_at"))
                by_session.setdefault(record[0] or "", []).append((int(record[1] or 0), int(seen.pid), seen.id))
        several = [sorted(calls) for calls in by_session.values() if len({pid for _, pid, _ in calls}) > 1]
        if not several:
            return None
        (_, pid, first), *others = self._numbers.choice(several)
        return pid, first, [cid for _, of, cid in others if of != pid]

    def _has_ended(self, cid: str) -> bool:
        state: Any = self._store.hget(keys.call(cid), "state")
        return CallState(state).is_final
