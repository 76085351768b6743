"""The machine of a call that may wait for somebody outside: born so, by a hook, or by the tool itself."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
import redis
from hypothesis.stateful import initialize, invariant, rule
from tests.integration.call_machine import BACK, HOLDERS, RERUNS, TWICE, WORKERS, CallMachine, token_of
from tests.integration.script_scenes import QUEUE, DeclaredOnly, Kind, deferring, policy

from errands_config import keys
from errands_config.arguments_digest import arguments_digest
from errands_config.scripts import attempts, deferred
from errands_config.scripts.deferred import Edited, OutsideAnswer
from errands_config.scripts.script import Invocation
from errands_config.wire import Approval, CallState, Outcome, SharedLimit

LIMITS = ("gpu", "api")
ENDINGS: dict[str, Outcome] = {
    "one": Outcome(state=CallState.COMPLETED, result="one"),
    "two": Outcome(state=CallState.COMPLETED, result="two"),
    "failed": Outcome(state=CallState.FAILED, error="no such host"),
    "denied": Outcome(state=CallState.DENIED, error="not today"),
    "dismissed": Outcome(state=CallState.COMPLETED, result="dismissed"),
}
BIRTHS: st.SearchStrategy[Kind | None] = st.sampled_from([None, "policy", "question"])
FROM_WITHIN: st.SearchStrategy[Kind] = st.sampled_from(["hook", "tool"])
EDITS = st.sampled_from([None, None, '{"x":1}', '{"x":2}'])


@dataclass
class Wait:
    """One deferral."""

    kind: Kind
    answer: str = ""
    """What came first from outside; of a question the answer that counts."""

    @property
    def hook(self) -> str:
        return "command ask" if self.kind == "hook" else ""

    @property
    def takes_leave(self) -> bool:
        return self.kind in ("policy", "hook")


def limited(name: str, reruns: int) -> dict[str, object]:
    return {"rerun_times": reruns, "limits": (SharedLimit(name=name, concurrency=1),), "label": name}


class DeferredCallMachine(CallMachine):
    """Adds the questions from outside. Its call takes a slot of a limit, and an edit may name another limit."""

    def __init__(self, store: redis.Redis, declared: DeclaredOnly) -> None:
        super().__init__(store, declared)
        self.waits: list[Wait] = []
        self.deferred_with = ""
        self.mailed = 0
        self.outcome: Outcome | None = None

    @initialize(born=BIRTHS, reruns=RERUNS)
    def begin(self, born: Kind | None, reruns: int) -> None:
        self.prepare(policy(**limited("gpu", reruns)))
        if born is None:
            self.scene.queued(call_policy=self.policy)
            return
        self.scene.born_deferred(kind=born, call_policy=self.policy)
        self.waits_by(born)

    def waits_by(self, kind: Kind) -> None:
        self.waits.append(Wait(kind))
        self.it_goes_on("deferred")
        self.call.after_expiry = "completed" if kind == "question" else "expired"

    def it_goes_on(self, state: str) -> None:
        call = self.call
        call.state, call.worker, call.late, call.deadline_asked, call.deadline_passed = state, "", False, False, False

    @rule(worker=WORKERS, kind=FROM_WITHIN, back=BACK, twice=TWICE)
    def defer(self, worker: str, kind: Kind, back: int, twice: bool) -> None:
        token = token_of(worker, self.call.attempt - back)
        answer = self.ask(deferring(self.held(token), kind, holder=HOLDERS[worker]), twice).outcome
        if self.deferred_with == token:
            assert answer == "ok"
        elif self.call.final:
            assert answer == "late"
        elif not self.call.held_by(worker, self.call.attempt - back):
            assert answer == "lost"
        elif self.call.asker:
            assert answer == "late"
            self.call.state, self.call.ended_with = "cancelled", token
        else:
            assert answer == "ok"
            self.deferred_with = token
            self.call.starts -= kind == "hook"
            self.waits_by(kind)

    @rule(ending=st.sampled_from(sorted(ENDINGS)), back=BACK, late=st.booleans(), twice=TWICE)
    def complete(self, ending: str, back: int, late: bool, twice: bool) -> None:
        is_dismissal = ending == "dismissed"
        text = "" if is_dismissal or not late else f"late: {ending}"
        met = self.it_meets(ending, back)
        if text and back == 0 and self.is_unanswered_question:
            met = "mailed" if met in ("gone", "conflict") else met
        number = len(self.waits) - back
        self.tell(
            deferred.complete(self.scene.place(), number, ENDINGS[ending], late=text, dismissed=is_dismissal),
            met,
            twice,
        )
        if met == "ok":
            self.outcome = ENDINGS[ending]
            self.call.state = str(self.outcome.state)
        if met in ("ok", "mailed"):
            self.waits[-1].answer = ending
            self.mailed += met == "mailed"

    @rule(arguments=EDITS, back=BACK, twice=TWICE)
    def approve(self, arguments: str | None, back: int, twice: bool) -> None:
        answer = f"leave for {arguments or '{}'}"
        met = self.it_meets(answer, back)
        if met == "ok" and not self.waits[-1].takes_leave:
            met = "unfit"
        new = policy(**limited("api", self.call.reruns)) if arguments else self.policy
        edited = Edited(arguments, new, QUEUE) if arguments else None
        self.tell(deferred.approve(self.scene.place(), len(self.waits) - back, "{}", edited), met, twice)
        if met == "ok":
            given = Approval(hook=self.waits[-1].hook, digest=arguments_digest(arguments or "{}"))
            self.waits[-1].answer, self.policy = answer, new
            self.call.approved = (*self.call.approved, given)
            self.call.attempt += 1
            self.it_goes_on("queued")

    def it_meets(self, answer: str, back: int) -> str:
        """What an answer meets that names the newest deferral, or the one before."""
        if not self.waits:
            return "unfit"
        if back:
            return "stale"
        first = self.waits[-1].answer
        if first:
            return "again" if first == answer else "conflict"
        is_over = self.call.late and self.waits[-1].kind != "question"
        return "ok" if self.call.state == "deferred" and not is_over else "gone"

    @property
    def is_unanswered_question(self) -> bool:
        is_question = bool(self.waits) and self.waits[-1].kind == "question"
        return is_question and self.call.state == "completed" and self.waits[-1].answer in ("", "dismissed")

    def tell(self, invocation: Invocation[OutsideAnswer], met: str, twice: bool) -> None:
        """Give an answer, and once more if so: the same again is answered the same. What comes too late is counted."""
        before, ended = self.late_answers, self.call.final and bool(self.waits) and not self.waits[-1].answer
        answers = [self.declared.run(invocation).outcome for _ in range(1 + twice)]
        assert answers == [met, "again" if met in ("ok", "mailed") else met][: 1 + twice]
        too_late = answers.count("gone") + (ended and answers.count("mailed"))
        assert self.late_answers - before == too_late

    @property
    def late_answers(self) -> int:
        return int(self.scene.fields().get("late", 0))

    @rule(back=BACK, twice=TWICE)
    def report_from_outside(self, back: int, twice: bool) -> None:
        number = len(self.waits) - back
        outside = self.held(f"deferred:{number}")
        is_meant = self.call.state == "deferred" and back == 0
        assert self.ask(attempts.progress(outside, "{}"), twice) == ("ok" if is_meant else "lost")
        heard = self.ask(attempts.notify(outside, 1, "{}", "look"), twice)
        assert heard in (("ok", "kept") if is_meant else ("lost",))

    @invariant()
    def a_slot_is_held_while_it_runs_and_not_while_it_waits(self) -> None:
        for name in LIMITS:
            running = self.call.state == "running" and name == self.policy.limits[0].name
            assert self.scene.store.zrange(keys.limit(name)[0], 0, -1) == (["c1"] if running else [])
            assert self.scene.store.zcard(keys.limit(name)[1]) == 0

    @invariant()
    def every_wait_and_every_leave_is_told_once(self) -> None:
        kinds = [letter["kind"] for letter in self.scene.letters()]
        from_within = [wait for wait in self.waits if wait.kind in ("hook", "tool")]
        assert self.scene.told("tool_call.deferred") == len(self.waits)
        assert kinds.count("toolCallDeferred") == len(from_within)
        assert kinds.count("toolCallApproved") == len(self.call.approved)
        assert kinds.count("continuationResult") == self.mailed

    @invariant()
    def the_record_says_what_came_first_and_how_often_it_began(self) -> None:
        record = self.scene.fields()
        assert int(record.get("nonce", 0)) == len(self.waits)
        assert (record["attempt"], int(record.get("starts", 0))) == (str(self.call.attempt), self.call.starts)
        if self.outcome:
            assert (record["result"], record["error"]) == (self.outcome.result, self.outcome.error)

    def is_as_the_model_says(self) -> None:
        super().is_as_the_model_says()
        self.a_slot_is_held_while_it_runs_and_not_while_it_waits()
        self.every_wait_and_every_leave_is_told_once()
        self.the_record_says_what_came_first_and_how_often_it_began()

    # ---- the same questions, without those that change nothing

    def move(self, name: str, twice: bool) -> None:
        """Put one question as who has the right to; what it does depends on where the call stands."""
        worker = self.call.worker or "w1"
        match name.split():
            case ["run"]:
                self.claim(worker, 0, twice)
            case ["defer", ("hook" | "tool") as kind]:
                self.defer(worker, kind, 0, twice)
            case ["complete", ending]:
                self.complete(ending, 0, ending == "two", twice)
            case ["approve", *edit]:
                self.approve(edit[0] if edit else None, 0, twice)
            case ["cancel"]:
                self.cancel("one", twice)
            case ["expire"]:
                self.its_time_passes()
                self.overdue(True, twice)
            case ["report"]:
                self.report_from_outside(0, twice)
            case ["stale"]:
                self.complete("one", 1, True, twice)
                self.approve(None, 1, twice)
                self.report_from_outside(1, twice)
            case ["restart"]:
                self.settle_call(worker, "", False, twice)
            case _:
                self.finish(worker, CallState.COMPLETED, 0, twice)


MOVES = (
    "run", "defer hook", "defer tool", "approve", 'approve {"x":1}', "complete one", "complete two", "complete failed",
    "complete denied", "complete dismissed", "report", "stale", "cancel", "expire", "restart", "finish",
)  # fmt: skip
LEAVES = ("approve", 'approve {"x":1}')
