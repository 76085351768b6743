"""Figure 4: from the wish that a running script end to the end of all its processes, and the next call behind it.

A shell script with a child, both of which die of TERM; the wish is a cancel by the user, as `errands calls cancel`
sends it. The worker has one slot, so the next call runs on the same pool process. No baseline: Celery's
`revoke(terminate=True)` kills the pool process.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.cpu import Cpu, tree
from bench.figure import Figure, Round, side
from bench.product import Turns, agent, calling, connected, made_of, product, start
from bench.stage import Store
from bench.waiting import until
from errands_config import keys
from errands_config.store import broker_url
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import cancel_call
from errands_orchestrator.dispatcher import Dispatcher

ROUNDS = 7
GOAL_GONE_MS = 200.0
GOAL_NEXT_MS = 50.0


def cancel(store: Store, worker: int) -> list[Figure]:
    """So many cancels, one after another. `worker` has one slot."""
    store.be("fast")
    seen = asyncio.run(_Cancels(store, worker).all())[1:]  # the first opens connections
    gone, told, following, same = zip(*seen, strict=True)
    stayed = "on the same pool process" if all(same) else "NOT always on the same pool process"
    return [
        _figure("cancel wish to script's processes gone", gone, GOAL_GONE_MS, "script and child die of TERM"),
        _figure("cancel wish to the model's being told", told, None, ""),
        _figure("next call after a cancelled one", following, GOAL_NEXT_MS, stayed),
    ]


def _figure(name: str, seconds: tuple[float, ...], goal: float | None, note: str) -> Figure:
    rounds = [Round((one,), Cpu(0, 0, 0)) for one in seconds]
    return Figure(name, median(seconds) * 1000, goal, "ms", "fast", side(rounds), None, note)


class _Cancels:
    """One session whose turns call the script and the trivial tool by turns."""

    def __init__(self, store: Store, worker: int) -> None:
        self._store = store
        self._worker = worker
        self._model = Turns([calling("bash_sleep"), calling("bench_nothing", arguments={"text": "x"})] * (1 + ROUNDS))

    async def all(self) -> list[tuple[float, float, float, bool]]:
        """Of each cancel: wish to gone, wish to the model's next question, next call; whether the process lived on."""
        settings = self._store.settings
        dispatcher = Dispatcher(broker_url(settings))
        try:
            async with connected(settings) as store, product(settings, self._model):
                sid = await start(store, await made_of(store, agent()))
                return [await self._one(store, sid, number, dispatcher) for number in range(1 + ROUNDS)]
        finally:
            dispatcher.close()

    async def _one(
        self, store: reads.Store, sid: str, number: int, dispatcher: Dispatcher
    ) -> tuple[float, float, float, bool]:
        script = await until(lambda: _script(self._worker))
        cid = (await sessions.call_ids(store, sid))[-1]
        wished = perf_counter()
        cancelling = asyncio.create_task(
            cancel_call(store, cid, by="user", reason="not needed", nudge=dispatcher.nudge)
        )
        await until(lambda: not any(map(_lives, script)))
        gone = perf_counter()
        await cancelling
        await until(lambda: len(self._model.asked) > 2 * number + 2)
        pair = (await sessions.call_ids(store, sid))[2 * number : 2 * number + 2]
        pids = await reads.field_of_each(store, [keys.call(one) for one in pair], "pid")
        told, applied = self._model.asked[2 * number + 1 : 2 * number + 3]
        return gone - wished, told - wished, applied - self._model.answered[2 * number + 1], pids[0] == pids[1]


def _script(worker: int) -> list[int]:
    """The script and its child, once both are there."""
    found = [pid for pid in tree(worker) if "sleep" in _command(pid)]
    return found if len(found) == 2 else []


def _command(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def _lives(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
