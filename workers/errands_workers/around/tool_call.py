"""The tool of one call, with the arguments that are bound to it, and without their secrets in what it says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

from errands_config.errors import InvalidArguments, ToolError
from errands_config.text import clean
from errands_config.wire import After, Claimed, Deferral
from errands_workers.around.given import Given
from errands_workers.around.pieces import Pieces
from errands_workers.attempt import Attempt, failed
from errands_workers.bindings import Given as Bound
from errands_workers.bindings import Values, merged
from errands_workers.context import Reports
from errands_workers.json_text import json_text
from errands_workers.kinds.kind import Run, RunEnd, Runnable
from errands_workers.normalising import normalised
from errands_workers.scrubbing import scrubbed, scrubbed_outcome

_NOTHING = Bound()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The innermost of what is run. Made by `tool_call`."""

    claimed: Claimed
    tool: Runnable
    bound: Bound
    max_stored_bytes: int

    def prepare(self, arguments: str) -> Run:
        """The tool with these arguments and what is bound. Raises InvalidArguments, with no secret in it."""
        try:
            return self.tool.prepare(merged(arguments, self.bound))
        except ToolError as unfit:
            raise InvalidArguments(scrubbed(str(unfit), self.bound.secrets)) from None

    def run(self, pieces: Pieces, reports: Reports, given: Given) -> RunEnd:
        """Run the tool as one piece; what it says is clean and within its bounds. Raises Overdue and CallOver."""
        told = Scrubbed(reports, self.bound) if self.bound.secrets else reports
        if any(isinstance(one, After) for one in self.claimed.policy.around):
            told = Unprinted(told)
        end = pieces.run(partial(self._run, given.arguments), given.within, told)
        if isinstance(end, Deferral):
            return self._deferred(end)
        return normalised(scrubbed_outcome(end, self.bound.secrets), self.max_stored_bytes)

    def _run(self, arguments: str, attempt: Attempt, reports: Reports) -> RunEnd:
        return self.prepare(arguments)(attempt, reports)

    def _deferred(self, deferral: Deferral) -> RunEnd:
        reason = scrubbed(deferral.reason, self.bound.secrets)
        return permitted(self.claimed, deferral.model_copy(update={"reason": reason}))


def tool_call(claimed: Claimed, tool: Runnable, values: Values, max_stored_bytes: int) -> ToolCall:
    """A call's tool with what is bound to it. Raises ToolError if a value is missing, or a secret would be seen."""
    bound = values.of(claimed, tool.parameters) if claimed.policy.bound else _NOTHING
    hidden = tuple(bound.secrets.values())
    if flaw := tool.unfit_for_secrets([name for name, value in bound.values.items() if value in hidden]):
        raise ToolError(flaw)
    return ToolCall(claimed, tool, bound, max_stored_bytes)


def permitted(claimed: Claimed, end: RunEnd) -> RunEnd:
    """The end of a run; a failure in place of a deferral that the call's agent has no use for."""
    if isinstance(end, Deferral) and not claimed.policy.may_defer:
        return failed(
            "the tool wants to wait for somebody outside, which calls of this agent cannot: "
            "its executionMode is not asynchronous",
            "cannot be deferred",
        )
    return end


class Scrubbed:
    """Reports without the secrets of a call."""

    def __init__(self, reports: Reports, bound: Bound) -> None:
        self._reports = reports
        self._secrets = bound.secrets

    def progress(self, payload: object) -> None:
        """Pass on what is not secret."""
        text = json_text(payload, constants=True)
        clear = scrubbed(text, self._secrets)
        self._reports.progress(_read(clear) if clear != text else payload)

    def notify(self, text: str) -> None:
        """Pass on what is not secret."""
        self._reports.notify(scrubbed(text, self._secrets))

    def output(self, text: str) -> bool:
        """Pass on what is not secret. Of a secret of several lines each could come in a text of its own, unseen."""
        if any("\n" in clean(secret).text.strip() for secret in self._secrets.values()):
            return False
        return self._reports.output(scrubbed(text, self._secrets))


class Unprinted:
    """Reports of a tool whose result a hook has a say in: what it prints would pass the hook by."""

    def __init__(self, reports: Reports) -> None:
        self.progress, self.notify = reports.progress, reports.notify

    def output(self, text: str) -> bool:
        """Pass on nothing."""
        return False


def _read(text: str) -> object:
    """The value in it; the text itself where a secret was a number, so that it is no JSON any more."""
    try:
        return json.loads(text)
    except ValueError:
        return text
