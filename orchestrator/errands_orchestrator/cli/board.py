"""What runs just now, as a person sees it. Pure: events in, lines out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from errands_config.text import for_terminal, short
from errands_config.wire import CallState
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.following import Seen
from errands_orchestrator.texts import word

_STATES = {
    "tool_call.queued": CallState.QUEUED, "tool_call.started": CallState.RUNNING,
    "tool_call.progressed": CallState.RUNNING,
} | {f"tool_call.{state}": state for state in CallState if state.is_final or state is CallState.DEFERRED}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoardCall:
    """One call on the board."""

    id: str
    provider_id: str
    tool: str
    state: CallState
    news: str = ""
    """Its newest progress in short; of a call that waits for outside and has none, why it does."""

    @property
    def line(self) -> str:
        """As §15 of the contract shows it."""
        news = f": {self.news}" if self.news and not self.state.is_final else ""
        return for_terminal(f"{_mark(self.state)} {self.tool} ({self.provider_id}): {_word(self.state)}{news}")


def _mark(state: CallState) -> str:
    if not state.is_final:
        return "⏳"
    return "✓" if state is CallState.COMPLETED else "✗"


def _word(state: CallState) -> str:
    return "waits for outside" if state is CallState.DEFERRED else word(state).replace("_", " ")


@dataclass(frozen=True, slots=True)
class Board:
    """The calls that run, and those that ended since the model was last asked."""

    prompt: str
    calls: tuple[BoardCall, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The block; empty when nothing runs."""
        if all(call.state.is_final for call in self.calls):
            return ()
        head = f"[Partial] > {short(for_terminal(self.prompt))}"
        return (head, *(f"  {call.line}" for call in self.calls))

    def call(self, cid: str) -> BoardCall | None:
        """One call of the board."""
        return next((call for call in self.calls if call.id == cid), None)


def after(board: Board, seen: Seen) -> Board:
    """The board after an event. A request to the model takes what has ended off it."""
    if seen.kind == "turn.started":
        return replace(board, calls=tuple(call for call in board.calls if not call.state.is_final))
    state = _STATES.get(seen.kind)
    if state is None:
        return board
    facts = seen.facts
    known = board.call(facts["tool_call_id"])
    if known is None:
        return with_call(
            board, BoardCall(facts["tool_call_id"], facts.get("provider_call_id", ""), facts.get("tool", ""), state)
        )
    if seen.kind == "tool_call.progressed" and known.state is CallState.DEFERRED:
        return board  # news from outside; it waits on
    is_answered = known.state is CallState.DEFERRED and state is not CallState.DEFERRED
    return with_call(board, replace(known, state=state, news="" if is_answered else known.news))


def with_call(board: Board, changed: BoardCall) -> Board:
    """The board with one call changed, or with one more."""
    if board.call(changed.id) is None:
        return replace(board, calls=(*board.calls, changed))
    return replace(board, calls=tuple(changed if call.id == changed.id else call for call in board.calls))


def with_rows(board: Board, rows: Iterable[CallRow]) -> Board:
    """The board with the calls that are recorded and have not ended; of those that stand on it the board knows more."""
    for row in rows:
        if not row.state.is_final and board.call(row.id) is None:
            board = with_call(board, BoardCall(row.id, row.provider_id, row.tool, row.state))
    return board
