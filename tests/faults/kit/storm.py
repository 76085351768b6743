"""One run: sessions come in, faults happen by the seed, everything is set right, and what was left is checked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.kit.ambush import Ambush
from tests.faults.kit.code_copy import shas
from tests.faults.kit.conversation import storm_scenario
from tests.faults.kit.deployment import Deployment, Starter, a_deployment
from tests.faults.kit.desk import Desk
from tests.faults.kit.evidence import Evidence, defects_in, gather
from tests.faults.kit.harm import Harm
from tests.faults.kit.key_owners import leaks
from tests.faults.kit.kinds import TO_MESSAGES, TO_PROCESSES, Kind, Window
from tests.faults.kit.member import Member
from tests.faults.kit.mischief import Mischief
from tests.faults.kit.processes import command_of
from tests.faults.kit.rotation import Rotation
from tests.faults.kit.sight import Seen, Sight
from tests.faults.kit.strike import Strike, counted, hits
from tests.faults.kit.summary import Report
from tests.faults.kit.timeline import Timeline
from tests.faults.kit.verdict import findings

from errands_config import keys

APART_SECONDS = (3.0, 4.0)
"""Between two faults of processes; faults of messages have a rhythm of their own beside it."""
_ARRIVAL_SHARE = 0.85
"""Part of the time of the faults over which the sessions begin."""
_RESTART_SECONDS = (0.1, 1.0)
_STRAY_SECONDS = 20.0
_STOP_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Weather:
    """What a run is made of. `settle_seconds`: longest wait for the end of all sessions when the faults are over."""

    seed: int
    minutes: float
    sessions: int
    settle_seconds: float = 150.0


class Storm:
    """The faults of one run."""

    def __init__(self, deployment: Deployment, weather: Weather, say: Callable[[str], None]) -> None:
        self._deployment = deployment
        self._weather = weather
        self._say = say
        self._numbers = Random(f"{weather.seed} faults")
        self._timeline = Timeline()
        self._starter = Starter(deployment)
        self._sight = Sight(deployment.store, deployment.effects, deployment.endpoint)
        ambush = Ambush(shas(), deployment.endpoint, self._timeline, self._numbers)
        self._harm = Harm(deployment, self._look, ambush, self._timeline, self._numbers)
        self._mischief = Mischief(deployment, self._look, self._timeline, self._numbers)
        self._restarting: set[str] = set()
        self._began = 0.0
        self.strikes: list[Strike] = []

    def _look(self) -> list[Seen]:
        return self._sight.look(list(self._starter.sessions.items()))

    # ---- the faults

    def rage(self) -> None:
        """Begin the sessions, and let the faults happen until their time is over."""
        self._starter.publish()
        self._began = time.monotonic()
        seconds = self._weather.minutes * 60
        self._plan_arrivals(seconds * _ARRIVAL_SHARE)
        to_processes = Rotation(TO_PROCESSES, f"{self._weather.seed} processes")
        to_messages = Rotation(TO_MESSAGES, f"{self._weather.seed} messages")
        next_harm, next_mischief = self._passed + 1, self._passed + 2
        while self._passed < seconds:
            self._pass_time()
            if self._passed >= next_harm:
                next_harm = self._passed + self._numbers.uniform(*APART_SECONDS)
                to_processes.strike(self._do_harm)
            if self._passed >= next_mischief:
                next_mischief = self._passed + self._numbers.uniform(*APART_SECONDS)
                to_messages.strike(self._do_mischief)

    @property
    def _passed(self) -> float:
        return time.monotonic() - self._began

    def _plan_arrivals(self, seconds: float) -> None:
        first = len(self._starter.sessions) + 1
        for number in range(first, self._weather.sessions + 1):
            share = (number - first) / max(1, self._weather.sessions - first)
            self._timeline.after(share * seconds, partial(self._starter.start, number))

    def _pass_time(self) -> None:
        self._timeline.wait(0.05)
        self._restart_ended()

    def _restart_ended(self) -> None:
        for member in self._deployment.members:
            if member.has_ended() and member.name not in self._restarting:
                self._restarting.add(member.name)
                self._timeline.after(self._numbers.uniform(*_RESTART_SECONDS), partial(self._restart, member))

    def _restart(self, member: Member) -> None:
        self._restarting.discard(member.name)
        member.start()

    def _do_harm(self, kind: Kind) -> bool:
        met = self._harm.strike(kind, hits(self.strikes))
        if met:
            self._note(kind, met[0], met[1], met[2])
        return bool(met)

    def _do_mischief(self, kind: Kind) -> bool:
        met = self._mischief.strike(kind)
        if met:
            self._note(kind, met[0], None, met[1])
        return bool(met)

    def _note(self, kind: Kind, victim: str, aim: Window | None, windows: list[Window]) -> None:
        strike = Strike(kind, victim, self._passed, aim, counted(windows))
        self.strikes.append(strike)
        self._say(str(strike))

    # ---- afterwards

    def calm(self) -> float:
        """Set everything right and wait for the end of all sessions; seconds that this took."""
        began = time.monotonic()
        self._timeline.do_all()
        self._mischief.set_right()
        while time.monotonic() < began + self._weather.settle_seconds and not self._is_over():
            self._pass_time()
        return time.monotonic() - began

    def _is_over(self) -> bool:
        store = self._deployment.store
        states: list[Any] = [store.hget(keys.session(sid), "status") for sid in self._starter.sessions.values()]
        return all(state == "idle" for state in states)

    def evidence(self, desk: Desk) -> Evidence:
        """What is left, first with every process still there, then with all of them stopped."""
        deployment = self._deployment
        strays = desk.close()
        sessions = gather(
            deployment.store, self._starter.sessions, deployment.scenario, deployment.endpoint, deployment.effects,
            desk.answers(),
        )  # fmt: skip
        strays += self._left(deployment.begun_for_calls, _STRAY_SECONDS)
        lost = leaks(deployment.store)
        strays += self._stopped()
        refusals = tuple(deployment.endpoint.strict.refusals)
        every = dict.fromkeys([*lost, *leaks(deployment.store)])
        defects = defects_in([desk.log, *(member.log for member in deployment.members)])
        return Evidence(sessions, refusals, tuple(strays), tuple(every), tuple(defects))

    def _left(self, find: Callable[[], list[int]], seconds: float) -> list[str]:
        self._timeline.wait(seconds, lambda: not find())
        return [f"{pid}: {command_of(pid)}" for pid in find()]

    def _stopped(self) -> list[str]:
        for member in self._deployment.members:
            member.stop()
        slow = [member.name for member in self._deployment.members if member.wait(_STOP_SECONDS) is None]
        left = self._left(self._deployment.strays, 5)
        return [f"{name} does not stop" for name in slow] + left


def run_storm(weather: Weather, folder: Path, say: Callable[[str], None] = print) -> Report:
    """One whole run in a folder of its own."""
    with a_deployment(folder, storm_scenario(weather.seed)) as deployment:
        deployment.start()
        desk = Desk(deployment, weather.seed)
        storm = Storm(deployment, weather, say)
        storm.rage()
        settled_in = storm.calm()
        evidence = storm.evidence(desk)
        ends = Counter(f"{member.name} with {code}" for member in deployment.members for code in member.ended_by_itself)
        return Report(
            weather.seed, weather.minutes, tuple(storm.strikes), evidence, tuple(findings(evidence)),
            tuple(f"{what} x{count}" for what, count in ends.items()), settled_in,
        )  # fmt: skip
