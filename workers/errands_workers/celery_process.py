"""What the launcher starts: a Celery worker with this worker's tools. It dies with its launcher."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
import structlog
from billiard.process import current_process
from celery import Celery, signals

from errands_config.errors import ConfigError, ErrandsError
from errands_config.settings import Settings, load_settings
from errands_config.wire import TaskMessage
from errands_workers.app import make_app, register_tool
from errands_workers.board import Board
from errands_workers.catalogue import NOT_COOPERATIVE, Catalogue, load_catalogue
from errands_workers.logs import log_to_stderr
from errands_workers.one_at_a_time import OneAtATime
from errands_workers.plan import EXIT_CONFIG, INCARNATION_VARIABLE, PLAN_VARIABLE, WorkerPlan
from errands_workers.pool_process import PoolProcess
from errands_workers.printed import keep_out_of_output
from errands_workers.processes import die_with_parent, dying_with_parent
from errands_workers.revoke import replace_revoke
from errands_workers.runner import Dropped, Ended, run_call
from errands_workers.secrets import Secrets, load_secrets
from errands_workers.several_at_once import SeveralAtOnce
from errands_workers.stats import replace_stats
from errands_workers.thread_pool import ThreadPool

_REPLACE_SECONDS = 0.25

log = structlog.get_logger()


def main() -> None:
    """Serve until told to stop. Exits with 3, and a line that says why, if the plan cannot be served."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    log_to_stderr()
    plan = WorkerPlan.model_validate_json(os.environ[PLAN_VARIABLE])
    if plan.launcher:
        die_with_parent(plan.launcher)
    try:
        settings = load_settings()
        secrets = load_secrets(settings, plan)
        keep_out_of_output(secrets.known)
        log_to_stderr()  # to what `sys.stderr` is now
        catalogue = load_catalogue(plan, settings.max_stored_bytes)
    except ErrandsError as wrong:
        log.error("worker.config_invalid", error=str(wrong))
        sys.exit(EXIT_CONFIG if isinstance(wrong, ConfigError) else 1)
    for reason in catalogue.skipped:
        log.warning("worker.tool_skipped", reason=reason)
    if catalogue.left_out:
        log.warning("worker.tools_left_out", tools=catalogue.left_out, reason=NOT_COOPERATIVE)
    serve(settings, plan, catalogue, secrets, sys.argv[1:])


def serve(settings: Settings, plan: WorkerPlan, catalogue: Catalogue, secrets: Secrets, options: list[str]) -> None:
    """Run the Celery worker in this process. `options` are Celery's own and come last, so that they count."""
    incarnation = os.environ[INCARNATION_VARIABLE]
    board = Board(plan.board) if plan.board is not None else None
    queues = catalogue.queues(plan.queues)
    app = make_app(settings)
    replace_revoke(settings)
    replace_stats()
    dying_with_parent()  # looked up once, for every pool process
    enter = partial(PoolProcess, settings, incarnation, catalogue, secrets, board=board)
    processes = _in_threads(app, enter, incarnation, plan.slots) if plan.pool == "threads" else _in_processes(enter)
    for name in catalogue.tools:
        register_tool(app, name, lambda message: _run(processes[-1], message))
    signals.setup_logging.connect(_keep_ours, weak=False)
    _when_ready(lambda consumer: _ready(consumer, board, catalogue, queues))
    app.worker_main(
        [
            "--quiet", "worker", "--hostname", f"{incarnation}@{settings.host}", "--loglevel", "WARNING",
            "--queues", ",".join(queues), "--concurrency", str(plan.slots),
            "--without-gossip", "--without-mingle", *options,
        ]
    )  # fmt: skip


def _in_processes(enter: Callable[..., PoolProcess]) -> list[PoolProcess]:
    """Each process that Celery forks enters by itself; in there, the last of the answer is it."""
    processes: list[PoolProcess] = []

    def begin(**_: Any) -> None:
        index: int = getattr(current_process(), "index", 0)
        processes.append(enter(OneAtATime(), index=index))

    signals.worker_process_init.connect(begin, weak=False)
    signals.celeryd_after_setup.connect(_calling(_share_what_is_there), weak=False)
    return processes


def _share_what_is_there() -> None:
    """Keep the collector of each forked process from what is there before the fork: its looks alone would copy it."""
    gc.collect()
    gc.freeze()


def _in_threads(app: Celery, enter: Callable[..., PoolProcess], incarnation: str, slots: int) -> list[PoolProcess]:
    """This process runs the calls itself."""
    app.conf.worker_pool = f"{ThreadPool.__module__}:{ThreadPool.__name__}"
    manner = SeveralAtOnce(incarnation, slots)
    _when_ready(lambda _consumer: manner.nudges.listen())
    signals.worker_shutting_down.connect(_calling(manner.drain), weak=False)
    return [enter(manner)]


def _calling(act: Callable[[], None]) -> Callable[..., None]:
    """What Celery's signals want: it takes all that they tell, and ignores it."""

    def heard(**_: Any) -> None:
        act()

    return heard


def _run(process: PoolProcess, message: TaskMessage) -> Dropped | Ended:
    with process.manner.busy():
        return run_call(process, message)


def _keep_ours(loglevel: int = logging.WARNING, **_: Any) -> None:
    """That somebody listens to this signal keeps Celery from setting up logs of its own; only its level is taken."""
    logging.getLogger("celery").setLevel(loglevel)


def _when_ready(act: Callable[[Any], None]) -> None:
    """Act when the consumer is first ready; after each lost connection it is ready again."""
    seen: list[Any] = []

    def ready(sender: Any, **_: Any) -> None:
        if not seen:
            seen.append(sender)
            act(sender)

    signals.worker_ready.connect(ready, weak=False)


def _ready(consumer: Any, board: Board | None, catalogue: Catalogue, queues: tuple[str, ...]) -> None:
    """Leave for the launcher what is offered, and have dead pool processes replaced soon.

    Celery looks when a process ends, but that look often comes before the kernel can tell, and the next 5 s later.
    """
    if board:
        offers = {offer.name: offer.model_dump_json() for offer in catalogue.offers}
        board.offer(orjson.dumps({"queues": queues, "offers": offers}))
    if consumer.hub:  # of no use to threads, and harmless
        consumer.hub.call_repeatedly(_REPLACE_SECONDS, consumer.pool.maintain_pool)


if __name__ == "__main__":
    main()
