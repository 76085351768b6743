"""Answers from outside to deferred calls, each by the token of a deferral or by the call's id.

The same answer again is answered as the first time. Whatever cannot be done raises Conflict and says what stands there,
or NotFound.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Literal, TypeAlias

import orjson
from pydantic import JsonValue

from errands_config import keys
from errands_config.errors import Conflict
from errands_config.scripts import attempts
from errands_config.scripts import deferred as scripts
from errands_config.scripts.attempts import Written
from errands_config.scripts.deferred import OutsideAnswer
from errands_config.scripts.script import Invocation, arun
from errands_config.settings import Settings
from errands_config.text import cap, clean, fits, head_and_tail
from errands_config.wire import CallPolicy, CallState, Claimed, Outcome
from errands_orchestrator import questions, reads
from errands_orchestrator.addressed import Addressed, addressed
from errands_orchestrator.approval import edited
from errands_orchestrator.outside_refusals import no_question, not_for_questions, refusal
from errands_orchestrator.outside_result import Result, completed, outside_json
from errands_orchestrator.questions import Question
from errands_orchestrator.tokens import read_token, secret_key

Verdict: TypeAlias = Literal["completed", "failed", "denied", "approved", "answered", "dismissed", "mailed"]
"""`mailed`: the question had ended, and the model gets the answer as mail."""

DENIED = "the user declined this call"
"""What the model reads of a denial for which no reason is given."""

_LONGEST_REASON = 16_384
"""Bytes of a reason that the model gets."""
_LONGEST_REPORT = 8_192
"""Bytes of one progress report or notify."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What came of an answer from outside."""

    call: str
    session: str
    tool: str
    outcome: Verdict


@dataclass(frozen=True, slots=True)
class Deferrals:
    """The deferred calls of a deployment. A `target` is a token or one of our call ids."""

    store: reads.Store
    settings: Settings

    async def complete(self, target: str, result: Result) -> Resolution:
        """End a call with its result."""
        return await self._ended(target, completed(result, self.settings.max_stored_bytes), "completed")

    async def fail(self, target: str, reason: str) -> Resolution:
        """End a call as failed."""
        outcome = Outcome(state=CallState.FAILED, error=_reason(reason), error_kind="outside")
        return await self._ended(target, outcome, "failed")

    async def deny(self, target: str, reason: str = "") -> Resolution:
        """Refuse a call; its model reads the reason."""
        return await self._ended(target, Outcome(state=CallState.DENIED, error=_reason(reason) or DENIED), "denied")

    async def approve(self, token: str, arguments: str | None = None) -> Resolution:
        """Have a call run with exactly the arguments that were shown, or with others (JSON text).

        It wants the token, which stands for what its holder was shown. Raises InvalidArguments, too.
        """
        read_token(secret_key(self.settings), token)
        meant = await self._no_question(token)
        new = None if arguments is None else await edited(self.store, self.settings, meant, arguments)
        return await self._told(meant, scripts.approve(meant.place, meant.nonce, meant.arguments, new), "approved")

    async def answer(self, target: str, said: str) -> Resolution:
        """Answer a question. Raises InvalidArguments for what is none of its choices, or empty."""
        meant, question = await self._question(target)
        answer = question.answer(said)
        outcome = questions.answered(answer)
        ending = scripts.complete(meant.place, meant.nonce, outcome, late=question.late(answer))
        resolution = await self._told(meant, ending, "answered")
        return resolution if await self._is_end(meant, outcome) else _with(resolution, "mailed")

    async def dismiss(self, target: str, reason: str = "") -> Resolution:
        """Put a question aside. A later answer still reaches the model, as mail."""
        meant, _ = await self._question(target)
        ending = scripts.complete(meant.place, meant.nonce, questions.dismissed(reason), dismissed=True)
        return await self._told(meant, ending, "dismissed")

    async def progress(self, target: str, payload: JsonValue) -> None:
        """Report how far a call is. Raises Conflict where it does not wait any more."""
        meant = await addressed(self.store, self.settings, target)
        await self._noted(meant, attempts.progress(_standing_in(meant), _report(payload)))

    async def notify(self, target: str, text: str) -> None:
        """Tell the model something meanwhile, at most 16 times a call. Raises Conflict as `progress` does."""
        meant = await addressed(self.store, self.settings, target)
        news = cap(clean(text).text, _LONGEST_REPORT)
        payload = orjson.dumps({"level": "notify", "message": news}).decode()
        await self._noted(meant, attempts.notify(_standing_in(meant), secrets.randbits(53), payload, news))

    # ---- within

    async def _ended(self, target: str, outcome: Outcome, verdict: Verdict) -> Resolution:
        meant = await self._no_question(target)
        return await self._told(meant, scripts.complete(meant.place, meant.nonce, outcome), verdict)

    async def _no_question(self, target: str) -> Addressed:
        meant = await addressed(self.store, self.settings, target)
        if meant.is_question:
            raise not_for_questions(meant)
        return meant

    async def _question(self, target: str) -> tuple[Addressed, Question]:
        meant = await addressed(self.store, self.settings, target)
        if not meant.is_question:
            raise no_question(meant)
        return meant, Question.of(meant.arguments)

    async def _told(self, meant: Addressed, answering: Invocation[OutsideAnswer], verdict: Verdict) -> Resolution:
        answer = await arun(self.store, answering)
        if answer.outcome not in ("ok", "again", "mailed"):
            raise await refusal(self.store, meant, answer)
        return Resolution(meant.place.cid, meant.place.sid, meant.place.tool, verdict)

    async def _is_end(self, meant: Addressed, outcome: Outcome) -> bool:
        """Whether this is how the question ended; an answer that was mailed is not, also when it is given again."""
        return await reads.field(self.store, keys.call(meant.place.cid), "result") == outcome.result

    async def _noted(self, meant: Addressed, noting: Invocation[Written]) -> None:
        if await arun(self.store, noting) == "lost":
            state = await reads.field(self.store, keys.call(meant.place.cid), "state")
            raise Conflict(f"call {meant.place.cid} ({meant.place.tool}) does not wait at this deferral: it is {state}")


def _reason(text: str) -> str:
    return head_and_tail(clean(text).text.strip(), _LONGEST_REASON)


def _report(payload: JsonValue) -> str:
    """Progress as JSON text; of what is too long the beginning, as a string. Errors as `outside_json`."""
    text = outside_json(payload)
    return text if fits(text, _LONGEST_REPORT) else orjson.dumps(cap(text, _LONGEST_REPORT)).decode()


def _with(resolution: Resolution, outcome: Verdict) -> Resolution:
    return Resolution(resolution.call, resolution.session, resolution.tool, outcome)


def _standing_in(meant: Addressed) -> Claimed:
    """A deferred call in the form in which attempts report: what they need of it are its ids and its token."""
    return Claimed(
        call=meant.place.cid, session=meant.place.sid, conversation="", agent="", tool=meant.place.tool,
        provider_id="", arguments="{}", policy=CallPolicy(timeout_seconds=1, queue_timeout_seconds=1), attempt=1,
        token=f"deferred:{meant.nonce}", deadline_ms=0,
    )  # fmt: skip
