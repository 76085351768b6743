"""One call, from its message to its end: claim, prepare, run, normalise, finish."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

import structlog
from pydantic import ValidationError

from errands_config.defects import where_raised
from errands_config.errors import ToolError
from errands_config.scripts.attempts import ClaimRefused, Finished, claim, finish
from errands_config.scripts.deferred import Deferred, defer
from errands_config.scripts.script import run
from errands_config.wire import CallPolicy, CallState, Claimed, Deferral, Outcome, SharedLimit, TaskMessage
from errands_workers.around.tool_call import permitted
from errands_workers.around.wrapped import is_plain, run_wrapped
from errands_workers.attempt import Attempt, Stop, failed
from errands_workers.kinds.kind import RunEnd, Runnable
from errands_workers.kinds.output import head_bytes
from errands_workers.normalising import normalised
from errands_workers.persistence import until_answered
from errands_workers.pool_process import PoolProcess
from errands_workers.processes import leave_process
from errands_workers.reports import CallReports

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A message that was void. `text` is for Celery's and Flower's eyes."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A call whose attempt this process brought to its end: for good, or `deferred`.

    `text` tells state, size and time, nothing of its content.
    """

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
    end = _run(process, attempt)
    if isinstance(end, Deferral):
        _defer(process, attempt, end)
        return Ended(CallState.DEFERRED, f"deferred in {time.monotonic() - began:.1f} s")
    outcome = normalised(end, process.settings.max_stored_bytes)
    _finish(process, attempt, outcome)
    return Ended(outcome.state, _told(outcome, time.monotonic() - began))


def _claim(process: PoolProcess, message: TaskMessage) -> Attempt | ClaimRefused:
    token = secrets.token_hex(16)
    try:
        answer = until_answered(lambda: run(process.store, claim(message, token, process.holder)))
    except ValidationError:
        return _unreadable(process, message, token)
    if not isinstance(answer, ClaimRefused):
        offspring = process.manner.offspring_of(answer.call)
        return Attempt(answer, message.queue, process.holder, offspring, process.leaving)
    if answer.why == "lapsed":
        log.warning("worker.lapsed", worker=process.holder.worker)
        leave_process()
    return answer


def _unreadable(process: PoolProcess, message: TaskMessage, token: str) -> ClaimRefused:
    """Fail a call whose record this worker cannot read, since whoever wrote it is of a later version."""
    log.error("worker.call_unreadable", tool_call_id=message.call)
    limits = tuple(SharedLimit(name=name) for name in message.limits)
    claimed = Claimed(
        call=message.call, session=message.session, conversation="", agent="", tool="", provider_id="", arguments="{}",
        policy=CallPolicy(timeout_seconds=1, queue_timeout_seconds=1, limits=limits), attempt=message.attempt,
        token=token, deadline_ms=0,
    )  # fmt: skip
    why = failed("the worker cannot read how this call is to run: it is older than the orchestrator", "unreadable call")
    _finish(process, Attempt(claimed, message.queue, process.holder), why)
    return ClaimRefused("refused", "unreadable")


def _run(process: PoolProcess, attempt: Attempt) -> RunEnd:
    """Run it with all that stands around its tool, end what it leaves behind, and send its last news."""
    tool = process.catalogue.tools.get(attempt.claimed.tool)
    if tool is None:
        return failed("this worker does not have the tool any more", "unknown tool")
    reports = process.reporter.of(
        attempt.claimed,
        per_second=tool.reports_per_second,
        on_lost=lambda: attempt.ask_to_stop(Stop("lost")),
        output_bytes=head_bytes(process.settings.max_stored_bytes) if attempt.claimed.policy.keeps_output else 0,
    )
    act = _run_plain if is_plain(attempt.claimed.policy, tool) else run_wrapped
    process.manner.ready_for_tool()
    with process.manner.running(attempt.claimed.call):
        try:
            end = act(process, attempt, tool, reports)
        except Exception as defect:
            end = _our_defect(attempt, defect)
        attempt.offspring.kill()
    reports.close(completed=isinstance(end, Outcome) and end.state is CallState.COMPLETED)
    return end


def _run_plain(process: PoolProcess, attempt: Attempt, tool: Runnable, reports: CallReports) -> RunEnd:
    """Prepare and run a tool under the supervisor's eyes."""
    with process.supervisor.watching(attempt):
        try:
            end = tool.prepare(attempt.claimed.arguments)(attempt, reports)
        except ToolError as unfit:
            end = failed(str(unfit), "invalid arguments")
        finally:
            stop = attempt.end()
    return attempt.as_stopped() if stop else permitted(attempt.claimed, end)


def _our_defect(attempt: Attempt, defect: Exception) -> Outcome:
    """An error of the worker's own: a call that nobody stopped is failed, and the log says where, without content."""
    kind = type(defect).__name__
    log.error("worker.defect", tool_call_id=attempt.claimed.call, error=kind, place=where_raised(defect))
    return attempt.as_stopped() if attempt.stop else failed(f"the worker failed while it ran the tool ({kind})", kind)


def _finish(process: PoolProcess, attempt: Attempt, outcome: Outcome) -> None:
    entered = finish(attempt.claimed, process.holder, attempt.queue, outcome)
    done = until_answered(lambda: run(process.store, entered))
    process.recent.add(entered)
    _tell_refused(attempt, done)


def _defer(process: PoolProcess, attempt: Attempt, deferral: Deferral) -> None:
    longest = process.settings.max_deferred_seconds
    entered = defer(attempt.claimed, process.holder, attempt.queue, deferral, longest)
    done = until_answered(lambda: run(process.store, entered))
    process.recent.add(entered)
    _tell_refused(attempt, done)


def _tell_refused(attempt: Attempt, done: Finished | Deferred) -> None:
    if done.outcome != "ok":
        call = attempt.claimed.call
        log.warning("worker.finish_refused", tool_call_id=call, why=done.outcome, state=done.detail)


def _told(outcome: Outcome, seconds: float) -> str:
    kind = f" ({outcome.error_kind})" if outcome.error_kind else ""
    size = f" {_size(len(outcome.result))}" if outcome.result else ""
    return f"{outcome.state}{kind}{size} in {seconds:.1f} s"


def _size(number: int) -> str:
    return f"{number} B" if number < 1000 else f"{number / 1000:.1f} kB"
