"""A call with everything that its policy puts around its tool: the first of it is outermost, in the order written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from errands_config.errors import ToolError
from errands_config.wire import After, Around, Before, CallPolicy, Retries, Timeout, Truncate
from errands_workers.around.asking import Asking, after, before
from errands_workers.around.given import Given, Layer
from errands_workers.around.pieces import CallOver, Pieces
from errands_workers.around.retrying import retried
from errands_workers.around.timing import timed
from errands_workers.around.tool_call import tool_call
from errands_workers.around.truncating import truncated
from errands_workers.attempt import Attempt, failed
from errands_workers.kinds.kind import RunEnd, Runnable
from errands_workers.pool_process import PoolProcess
from errands_workers.reports import CallReports


def is_plain(policy: CallPolicy, tool: Runnable) -> bool:
    """Whether nothing stands around the tool and nothing is bound to it, so that it can be run as it is."""
    return not (policy.around or policy.bound or tool.retries)


def run_wrapped(process: PoolProcess, attempt: Attempt, tool: Runnable, reports: CallReports) -> RunEnd:
    """Run a call to its end, and say how it ended, for whatever reason.

    Arguments that the tool refuses end it at once: no hook is asked about them, and nothing is tried again.
    """
    claimed = attempt.claimed
    try:
        call = tool_call(claimed, tool, process.values, process.settings.max_stored_bytes)
    except ToolError as unbound:
        return failed(str(unbound), "unbound argument")
    try:
        call.prepare(claimed.arguments)
    except ToolError as unfit:
        return failed(str(unfit), "invalid arguments")
    pieces = Pieces(attempt, process.supervisor.watching, process.manner.ready_for_tool)
    whole = layers(around_of(claimed.policy, tool), Asking(process.hooks, pieces, call), reports)
    try:
        return whole(Given(claimed.arguments, pieces.whole))
    except CallOver as over:
        return over.outcome


def around_of(policy: CallPolicy, tool: Runnable) -> Sequence[Around]:
    """What stands around a tool: what the policy says, and innermost the author's retries where it names none."""
    if not tool.retries or any(isinstance(one, Retries) for one in policy.around):
        return policy.around
    return (*policy.around, Retries(count=tool.retries))


def layers(around: Sequence[Around], asking: Asking, reports: CallReports) -> Layer:
    """The tool of a call with all that stands around it."""
    layer: Layer = partial(asking.call.run, asking.pieces, reports)
    for one in reversed(around):
        layer = _laid(one, asking, reports, layer)
    return layer


def _laid(one: Around, asking: Asking, reports: CallReports, inner: Layer) -> Layer:
    match one:
        case Timeout(seconds=seconds):
            return partial(timed, seconds, inner)
        case Retries():
            return partial(retried, one, asking.pieces, reports, inner)
        case Truncate(max_bytes=max_bytes):
            return partial(truncated, max_bytes, inner)
        case Before(hook=hook):
            return partial(before, hook, asking, inner)
        case After(hook=hook):
            return partial(after, hook, asking, inner)
