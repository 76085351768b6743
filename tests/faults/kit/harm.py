"""Faults that processes suffer: killed, frozen, cut off."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random

from tests.faults.kit.ambush import Ambush, Held
from tests.faults.kit.deployment import Deployment
from tests.faults.kit.kinds import WINDOWS_OF, Kind, Role, Window
from tests.faults.kit.member import Member, Worker
from tests.faults.kit.processes import send
from tests.faults.kit.rotation import aim_of, victim_of
from tests.faults.kit.sight import Seen
from tests.faults.kit.timeline import Timeline

FREEZE_SECONDS = (6.5, 9.0)
"""Past the lease of an orchestrator (6 s) and the patience with a worker (5 s)."""
REFUSED_SECONDS = 3.0
STORE_AWAY_SECONDS = 2.0
_TRIES = 3
"""How often an ambush that caught something else is laid again."""

_DONE = {"defer": Window.DEFERRED, "finish": Window.FINISHED}

Look = Callable[[], list[Seen]]


class Harm:
    """Makes one fault after the other. What it met: (victim, aim, windows); None: there was nobody to harm."""

    def __init__(self, deployment: Deployment, look: Look, ambush: Ambush, timeline: Timeline, numbers: Random) -> None:
        self._deployment = deployment
        self._look = look
        self._ambush = ambush
        self._timeline = timeline
        self._numbers = numbers
        self._met: Counter[tuple[Kind, Role]] = Counter()
        self._tried: Counter[tuple[Kind, Window]] = Counter()

    def strike(self, kind: Kind, hit: Counter[Window]) -> tuple[str, Window, list[Window]] | None:
        """One fault of this kind. `hit`: how many faults fell in each window so far."""
        standing = self._standing()
        role = victim_of(kind, self._met, {member.role for member in standing})
        if role is None:
            return None
        member = self._numbers.choice([member for member in standing if member.role == role])
        aim = aim_of(kind, role, self._tried, hit)
        self._tried[kind, aim] += 1
        held = self._hold(member, aim)
        try:
            windows = self._act(kind, held)
        finally:
            held.let_go()
        if windows is None:
            return None
        self._met[kind, role] += 1
        return ("store" if kind is Kind.KILL_STORE else member.name), aim, windows

    def _standing(self) -> list[Member]:
        """Who can be harmed: workers that offer their tools, orchestrators that listen."""
        store = self._deployment.store
        workers = [worker for worker in self._deployment.workers if worker.is_up and worker.is_ready(store)]
        return [*workers, *(one for one in self._deployment.orchestrators if one.is_up and one.relay.channels)]

    def _hold(self, member: Member, aim: Window) -> Held:
        """Stop it in the window; a command of another moment is let go, and it is tried again."""
        held = self._ambush.lie(member, aim)
        for _ in range(_TRIES - 1):
            if aim is not Window.COMMITTED or not held.caught:
                break
            if any(seen.window is aim and held.names(seen.id) for seen in self._look()):
                break
            held.let_go()
            held = self._ambush.lie(member, aim)
        return held

    def _act(self, kind: Kind, held: Held) -> list[Window] | None:
        match kind:
            case Kind.KILL_STORE:
                return self._kill_store(held)
            case Kind.RESET | Kind.HALF_OPEN:
                return self._cut(kind, held)
            case Kind.FREEZE:
                return self._freeze(held)
            case Kind.KILL_TOOL:
                return self._kill_tool(held)
            case _:
                return self._kill(kind, held)

    # ---- killing

    def _kill(self, kind: Kind, held: Held) -> list[Window] | None:
        """Stopped first, so that the records tell what it was doing when it died."""
        pid = self._target(kind, held)
        if pid is None:
            return None
        send([pid], signal.SIGSTOP)
        only = str(pid) if kind is Kind.KILL_POOL else ""
        windows = self._windows(held, [seen for seen in self._look() if not only or seen.pid in ("", only)])
        if pid == held.member.pid:
            held.member.kill()
        else:
            send([pid], signal.SIGKILL)
        return windows

    def _target(self, kind: Kind, held: Held) -> int | None:
        worker = held.member
        if not isinstance(worker, Worker) or kind is Kind.KILL_LAUNCHER:
            return worker.pid
        if kind is Kind.KILL_CELERY:
            return worker.celery()
        pool = worker.pool()
        if held.pid in pool:
            return held.pid
        busy = [int(seen.pid) for seen in self._look() if seen.pid and int(seen.pid) in pool]
        return self._numbers.choice(busy or pool) if pool else None

    def _kill_tool(self, held: Held) -> list[Window] | None:
        worker = held.member
        assert isinstance(worker, Worker)
        self._timeline.wait(2, lambda: bool(worker.scripts()))
        scripts = worker.scripts()
        if not scripts:
            return None
        pid, call = self._numbers.choice(sorted(scripts.items()))
        send([pid], signal.SIGSTOP)
        windows = [seen.window for seen in self._look() if seen.id == call]
        send([pid], signal.SIGKILL)
        return windows

    def _kill_store(self, held: Held) -> list[Window]:
        relays = [member.relay for member in self._deployment.members]
        for relay in relays:
            relay.hold_all()
        windows = [seen.window for seen in self._look()] + self._answered(held)
        self._deployment.database.server.kill()
        for relay in relays:
            relay.pass_all()
        threading.Event().wait(self._numbers.uniform(0, STORE_AWAY_SECONDS))
        self._deployment.database.revive()
        return windows

    # ---- cutting and freezing

    def _cut(self, kind: Kind, held: Held) -> list[Window]:
        relay = held.member.relay
        relay.hold_all()
        windows = self._windows(held, self._look())
        if kind is Kind.HALF_OPEN:
            relay.swallow_all()
        else:
            relay.reset_all(refuse=True)
            self._timeline.after(self._numbers.uniform(0, REFUSED_SECONDS), relay.accept)
        relay.pass_all()
        return windows

    def _freeze(self, held: Held) -> list[Window]:
        held.member.freeze()
        self._timeline.after(self._numbers.uniform(*FREEZE_SECONDS), held.member.thaw)
        return self._windows(held, self._look())

    # ---- what it met

    def _windows(self, held: Held, seen: Sequence[Seen]) -> list[Window]:
        mine = self._belonging(held.member, seen)
        named = [one for one in seen if one.window in WINDOWS_OF[held.member.role] and held.names(one.id)]
        return [one.window for one in {*mine, *named}] + self._answered(held)

    def _belonging(self, member: Member, seen: Iterable[Seen]) -> set[Seen]:
        if isinstance(member, Worker):
            lives = member.incarnations(self._deployment.store)
            return {one for one in seen if one.worker in lives and one.window is not Window.PUBLISHED}
        return {one for one in seen if one.channel in member.relay.channels}

    def _answered(self, held: Held) -> list[Window]:
        """An end or a deferral whose answer was stopped: it is in the record, and the worker does not know."""
        is_done = held.trap and held.trap.side == "answer" and held.caught
        return [_DONE[held.script]] if is_done and held.script in _DONE else []
