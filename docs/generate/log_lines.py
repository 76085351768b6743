"""The log lines that the processes write of themselves, read from the source, and what each means."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"orchestrator": "orchestrator/errands_orchestrator", "workers": "workers/errands_workers"}
_LEVELS = ("debug", "info", "warning", "error")

WORDS: Mapping[str, str] = {
    "agent.unusable": "The agent is gone from the store, or this process has no key for it; its session is paused.",
    "hook.failed": "A hook did not answer as it should: before the tool it blocks the call, behind it nothing changes.",
    "gift.unreadable": "A session that was handed over could not be read; it falls due again and is taken then.",
    "messages.repeated": "Messages that a broker lost, or that were never sent, were sent again.",
    "model.failed": "The endpoint did not answer as it should; `detail` is what it said and what to do.",
    "nudge.failed": "A worker could not be told of a cancel at once; its next beat tells it.",
    "publish.failed": "The broker did not take messages; they are sent again.",
    "session.broken": "A step failed for a reason of ours; the session is paused with the cause.",
    "session.lost": "Another orchestrator has taken over a session.",
    "retention.stuck": "An old session could not be read, and is left as it is; the others are deleted all the same.",
    "session.stuck": "A step failed and the session could not be paused; it is tried again when its lease has run out.",
    "sessions.forgotten": "Sessions that nobody touched for `ERRANDS_KEEP_SESSIONS_DAYS` were deleted.",
    "store.away": "The store did not answer; nothing is lost, and it is tried again.",
    "store.replaced": "Another store answers than before; what was held of the old one is void.",
    "sweep.failed": "A look for lost workers and overdue calls failed; the next one is a moment away.",
    "sweep.refused": "The store refused a look at one call or queue (`call`, `queue`), for a key that is not ours.",
    "worker.beat_failed": "The store did not take a beat.",
    "worker.call_unreadable": "The record of a call is of a later version; the call is failed, and says so.",
    "worker.call_failed": "A message could not be served; `celery_id` is its id in Flower.",
    "worker.config_invalid": "The worker cannot serve what it was asked to, and ends.",
    "worker.defect": "Something of ours failed; the call is failed, and says so.",
    "worker.ended": "The Celery process `stopped` or `died`: so many calls lost, so many given back to their queues.",
    "worker.finish_failed": "The end of a call could not be written yet; it is tried again.",
    "worker.finish_refused": "The end of a call came too late: its record had ended otherwise.",
    "worker.finishes_sent_again": "The store had died; ends of calls that it may have forgotten were sent again.",
    "worker.hard_limit": "Celery's own limit, the last one, ended a call.",
    "worker.lapsed": "The store has given this worker up; it starts anew under another name.",
    "worker.leftovers_killed": "Processes that a killed worker left behind were ended.",
    "worker.lost": "A worker's beat stood still; its calls are settled.",
    "worker.not_settled": "The store was away at the end; an orchestrator settles the calls.",
    "worker.only_stuck_tools": "Every slot is held by a tool that does not stop; the process leaves and is replaced.",
    "worker.pool_process_lost": "A pool process died; its calls are settled and it is replaced.",
    "worker.pool_process_silent": "A pool process no longer attends to its tool; it is killed.",
    "worker.ready": "It offers its tools and takes calls.",
    "worker.report_refused": "Progress was not taken, for a reason of ours; the call goes on.",
    "worker.revoke_failed": "A revoke could not be recorded.",
    "worker.started": "The launcher has started a Celery process.",
    "worker.stopping": "It takes no further call and lets running ones end.",
    "worker.store_replaced": "Another store answers than before: the worker ends what it runs and starts anew.",
    "worker.supervisor_defect": "The thread that stops calls failed and goes on.",
    "worker.sweep_failed": "A look for leftover processes failed.",
    "worker.tool_goes_on": "A tool did not stop when it should; its end is recorded as not confirmed.",
    "worker.tool_returned": "Such a tool came to its end after all, and its slot is free.",
    "worker.tool_skipped": "One tool cannot be offered; the others are.",
    "worker.tool_survives_kill": "A process could not be killed; it waits in the kernel.",
    "worker.tools_left_out": "Tools that this pool cannot stop are not offered.",
}
"""What each line means."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One kind of line, with all fields that it may have."""

    kind: str
    level: str
    fields: Sequence[str]
    words: str


def log_lines_of(side: str) -> Sequence[LogLine]:
    """Every kind of line that this side's code writes, in alphabetical order."""
    fields: dict[str, dict[str, None]] = {}
    levels: dict[str, dict[str, None]] = {}
    for path in sorted((ROOT / PACKAGES[side]).rglob("*.py")):
        for kind, level, names in _written_in(ast.parse(path.read_text())):
            fields.setdefault(kind, {}).update(dict.fromkeys(names))
            levels.setdefault(kind, {})[level] = None
    return [
        LogLine(kind, " or ".join(levels[kind]), list(fields[kind]), WORDS.get(kind, "")) for kind in sorted(fields)
    ]


def _written_in(module: ast.Module) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Kind, level and fields of each `log.LEVEL(KIND, field=…)`, also where a function passes its kind on."""
    for function in _functions(module):
        for call in _calls(function, module):
            names = [keyword.arg for keyword in call.keywords if keyword.arg]
            level = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            for kind in _kinds(call.args[0], function, module):
                yield kind, level, names


def _functions(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _calls(function: ast.AST, module: ast.Module) -> Iterator[ast.Call]:
    """Log calls of a function. `module` must have bound `log` to structlog, not to the standard library's."""
    if "structlog.get_logger" not in ast.unparse(module):
        return
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="log"), attr=str(level)), args=[_, *_]) if (
                level in _LEVELS
            ):
                yield node
            case _:
                pass


def _kinds(named: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef, module: ast.Module) -> Iterator[str]:
    match named:
        case ast.Constant(value=str(kind)):
            yield kind
        case ast.Name(id=parameter):
            position = [argument.arg for argument in function.args.args].index(parameter)
            for node in ast.walk(module):
                match node:
                    case ast.Call(func=ast.Name(id=name), args=given) if name == function.name:
                        yield from _kinds(given[position], function, module)
                    case _:
                        pass
        case _:
            raise ValueError(f"the kind of a log line is written out, not made: {ast.unparse(named)}")
