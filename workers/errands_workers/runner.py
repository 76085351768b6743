"""One call, from its message to its end: claim, prepare, run, normalise, finish."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

import structlog

from errands_config.defects import where_raised
from errands_config.errors import ToolError
from errands_config.scripts.attempts import ClaimRefused, claim, finish
from errands_config.scripts.script import run
from errands_config.text import clean, fits, head_and_tail
from errands_config.wire import CallState, Outcome, TaskMessage
from errands_workers.attempt import Attempt, Stop, failed, stopped_outcome
from errands_workers.persistence import until_answered
from errands_workers.pool_process import PoolProcess
from errands_workers.processes import leave_process

MAX_ERROR_BYTES = 16_384

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A message that was void. `text` is for Celery's and Flower's eyes."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that this process brought to its end. `text` tells state, size and time, nothing of its content."""

    state: CallState
    text: str


def run_call(process: PoolProcess, message: TaskMessage) -> Dropped | Ended:
    """Run the call of a message, if this worker gets it, and see to it that its end is recorded.

    Store troubles delay it and lose nothing. It does not return where the process must be left: when its worker was
    given up, or when the tool could not be stopped.
    """
    attempt = _claim(process, message)
    if isinstance(attempt, ClaimRefused):
        return Dropped(f"dropped: {attempt.why} {attempt.state}".rstrip())
    began = time.monotonic()
    outcome = _normalise(_run(process, attempt), process.settings.max_stored_bytes)
    _finish(process, attempt, outcome)
    return Ended(outcome.state, _told(outcome, time.monotonic() - began))


def _claim(process: PoolProcess, message: TaskMessage) -> Attempt | ClaimRefused:
    token = secrets.token_hex(16)
    answer = until_answered(lambda: run(process.store, claim(message, token, process.holder)))
    if not isinstance(answer, ClaimRefused):
        offspring = process.manner.offspring_of(answer.call)
        return Attempt(answer, message.queue, process.holder, offspring, process.leaving)
    if answer.why == "lapsed":
        log.warning("worker.lapsed", worker=process.holder.worker)
        leave_process()
    return answer


def _run(process: PoolProcess, attempt: Attempt) -> Outcome:
    """Prepare and run under the supervisor's eyes, end what the call leaves behind, and send its last news."""
    tool = process.catalogue.tools.get(attempt.claimed.tool)
    if tool is None:
        return failed("this worker does not have the tool any more", "unknown tool")
    reports = process.reporter.of(
        attempt.claimed, per_second=tool.reports_per_second, on_lost=lambda: attempt.ask_to_stop(Stop("lost"))
    )
    process.manner.ready_for_tool()
    with process.manner.running(attempt.claimed.call):
        with process.supervisor.watching(attempt):
            try:
                outcome = tool.prepare(attempt.claimed.arguments)(attempt, reports)
            except ToolError as unfit:
                outcome = failed(str(unfit), "invalid arguments")
            except Exception as defect:
                outcome = _our_defect(attempt, defect)
            stop = attempt.end()
        attempt.offspring.kill()
    reports.close()
    return stopped_outcome(attempt.claimed, stop) if stop else outcome


def _our_defect(attempt: Attempt, defect: Exception) -> Outcome:
    """An error of the worker's own: the call ends as failed, and the log says where, without any content."""
    kind = type(defect).__name__
    log.error("worker.defect", tool_call_id=attempt.claimed.call, error=kind, place=where_raised(defect))
    return failed(f"the worker failed while it ran the tool ({kind})", kind)


def _normalise(outcome: Outcome, max_stored_bytes: int) -> Outcome:
    """What may be stored: clean text within its bounds. JSON that is too large is text once its middle is cut out."""
    result = clean(outcome.result).text
    whole = fits(result, max_stored_bytes)
    return outcome.model_copy(
        update={
            "result": result if whole else head_and_tail(result, max_stored_bytes),
            "result_type": outcome.result_type if whole else "text",
            "error": head_and_tail(clean(outcome.error).text, MAX_ERROR_BYTES),
        }
    )


def _finish(process: PoolProcess, attempt: Attempt, outcome: Outcome) -> None:
    claimed = attempt.claimed
    entered = finish(claimed, process.holder, attempt.queue, outcome)
    done = until_answered(lambda: run(process.store, entered))
    process.recent.add(entered)
    if done.outcome != "ok":
        log.warning("worker.finish_refused", tool_call_id=claimed.call, why=done.outcome, state=done.detail)


def _told(outcome: Outcome, seconds: float) -> str:
    kind = f" ({outcome.error_kind})" if outcome.error_kind else ""
    size = f" {_size(len(outcome.result))}" if outcome.result else ""
    return f"{outcome.state}{kind}{size} in {seconds:.1f} s"


def _size(number: int) -> str:
    return f"{number} B" if number < 1000 else f"{number / 1000:.1f} kB"
