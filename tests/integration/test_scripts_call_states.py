"""The state machine of a call: what every question meets in every state, and the state that it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis
from tests.integration.script_scenes import (
    DONE,
    HOLDER,
    QUEUE,
    DeclaredOnly,
    Kind,
    Scene,
    cancelling,
    deferring,
    policy,
    publication,
)

from errands_config import keys
from errands_config.scripts import attempts, calls, deferred, workers
from errands_config.scripts.attempts import ClaimRefused, Holder
from errands_config.settings import Settings
from errands_config.wire import CallState, Claimed, Outcome

OTHER = Holder("w2", 22)
FINAL = [str(state) for state in CallState if state.is_final]
WAITS: dict[str, Kind] = {
    "deferred by its policy": "policy", "deferred by a hook": "hook", "deferred by its tool": "tool",
    "question": "question",
}  # fmt: skip
"""The states of a call that waits for somebody outside, and who deferred it."""
STATES = ["missing", "waiting", "queued", "running", "wished", *WAITS, "approved", *FINAL]
DENIED = Outcome(state=CallState.DENIED, error="no")
EDITED = deferred.Edited('{"x":1}', policy(label="edited"), "slow")


@dataclass
class Case:
    """A call in some state, and a client that may touch only what a script declares."""

    scene: Scene
    declared: DeclaredOnly

    def reach(self, state: str) -> None:
        self.scene.owned()
        for worker in ("w1", "w2"):
            self.scene.run(workers.beat(worker, {}))
        match state:
            case "missing":
                pass
            case "waiting":
                self.scene.waiting()
            case "queued":
                self.scene.queued()
            case "running":
                self.scene.running()
            case "wished":
                self.scene.running()
                self.scene.run(cancelling(self.scene.place(), asker="before"))
            case "deferred by its policy" | "question":
                self.scene.born_deferred(kind=WAITS[state])
            case "deferred by a hook" | "deferred by its tool":
                self.scene.deferred(WAITS[state])
            case "approved":
                self.scene.deferred("hook")
                assert self.approve() == "ok"
            case _:
                self.scene.ended(Outcome(state=CallState(state)))

    def claimed(self, token: str) -> Claimed:
        return Claimed(
            call="c1", session="s1", conversation="s1", agent="a", tool="work", provider_id="p1", arguments="{}",
            policy=policy(), attempt=1, token=token, deadline_ms=1000,
        )  # fmt: skip

    # ---- the questions, each answered in one word

    def claim(self, attempt: int = 1, token: str = "new", holder: Holder = HOLDER) -> str:
        got = self.declared.run(attempts.claim(self.scene.message(attempt=attempt), token, holder))
        return got.why if isinstance(got, ClaimRefused) else "claimed"

    def finish(self, token: str = "a1") -> str:
        return self.declared.run(attempts.finish(self.claimed(token), HOLDER, QUEUE, DONE)).outcome

    def cancel(self) -> str:
        return self.declared.run(cancelling(self.scene.place(), asker="now")).outcome

    def settle(self, worker: str = "w1", pid: str = "") -> str:
        return self.declared.run(calls.settle_call(self.scene.place(), worker, pid=pid))

    def overdue(self, *, passed: bool, offered: bool = True) -> str:
        if passed:
            self.scene.long_ago()
        return self.declared.run(calls.overdue(self.scene.place(), offered=offered)).outcome

    def progress(self, token: str = "a1") -> str:
        return self.declared.run(attempts.progress(self.claimed(token), "{}"))

    def notify(self, token: str = "a1") -> str:
        return self.declared.run(attempts.notify(self.claimed(token), 1, "{}", "look"))

    def defer(self, token: str = "a1") -> str:
        return self.declared.run(deferring(self.claimed(token))).outcome

    def complete(self, outcome: Outcome = DONE, nonce: int = 1, **more: Any) -> str:
        return self.declared.run(deferred.complete(self.scene.place(), nonce, outcome, **more)).outcome

    def approve(self, nonce: int = 1, edited: deferred.Edited | None = None) -> str:
        return self.declared.run(deferred.approve(self.scene.place(), nonce, "{}", edited)).outcome

    def publish(self) -> str:
        answer = self.declared.run(self.scene.commit(publish=(publication("c1"),)))
        return answer.outcome

    def repeat(self) -> str:
        again = self.declared.run(calls.repeat("c1", QUEUE))
        return "publish" if again else "no"


QUESTIONS: dict[str, Callable[[Case], str]] = {
    "claim": lambda case: case.claim(),
    "claim again": lambda case: case.claim(token="a1"),
    "claim of another attempt": lambda case: case.claim(attempt=2),
    "claim by another worker": lambda case: case.claim(holder=OTHER),
    "claim by a lost worker": lambda case: case.claim(holder=Holder("w3", 33)),
    "finish": lambda case: case.finish(),
    "finish by another": lambda case: case.finish("x9"),
    "cancel": lambda case: case.cancel(),
    "settle": lambda case: case.settle(),
    "settle of its process": lambda case: case.settle(pid="11"),
    "settle of another process": lambda case: case.settle(pid="99"),
    "settle of another worker": lambda case: case.settle("w2"),
    "overdue": lambda case: case.overdue(passed=True),
    "overdue and offered by nobody": lambda case: case.overdue(passed=True, offered=False),
    "overdue too early": lambda case: case.overdue(passed=False),
    "progress": lambda case: case.progress(),
    "progress by another": lambda case: case.progress("x9"),
    "notify": lambda case: case.notify(),
    "notify by another": lambda case: case.notify("x9"),
    "publish": lambda case: case.publish(),
    "repeat": lambda case: case.repeat(),
    "defer": lambda case: case.defer(),
    "defer by another": lambda case: case.defer("x9"),
    "complete": lambda case: case.complete(),
    "complete of another deferral": lambda case: case.complete(nonce=2),
    "deny": lambda case: case.complete(DENIED),
    "dismiss": lambda case: case.complete(dismissed=True),
    "answer": lambda case: case.complete(late="yes"),
    "approve": lambda case: case.approve(),
    "approve of another deferral": lambda case: case.approve(2),
    "approve with other arguments": lambda case: case.approve(edited=EDITED),
    "progress from outside": lambda case: case.progress("deferred:1"),
    "progress of another deferral": lambda case: case.progress("deferred:2"),
    "notify from outside": lambda case: case.notify("deferred:1"),
    "notify of another deferral": lambda case: case.notify("deferred:2"),
}
ANSWERS = (
    "complete", "complete of another deferral", "deny", "dismiss", "answer", "approve", "approve of another deferral",
    "approve with other arguments",
)  # fmt: skip
"""The questions that come from outside."""
WAITING_OUTSIDE: dict[str, tuple[str, str]] = {
    "cancel": ("cancelled", "cancelled"),
    "overdue": ("ended", "expired"),
    "overdue and offered by nobody": ("ended", "expired"),
    **dict.fromkeys(("complete", "dismiss", "answer"), ("ok", "completed")),
    "deny": ("ok", "denied"),
    **dict.fromkeys(("complete of another deferral", "approve of another deferral"), ("stale", "")),
    **dict.fromkeys(("approve", "approve with other arguments"), ("unfit", "")),
    **dict.fromkeys(("progress from outside", "notify from outside"), ("ok", "")),
}
LEAVE: dict[str, tuple[str, str]] = dict.fromkeys(("approve", "approve with other arguments"), ("ok", "queued"))
MEETS: dict[str, dict[str, tuple[str, str]]] = {
    "missing": {
        **dict.fromkeys(
            ("claim", "claim again", "claim of another attempt", "claim by another worker"), ("unknown", "")
        ),
        "claim by a lost worker": ("lapsed", ""),
        **dict.fromkeys(("finish", "finish by another", "cancel", "defer", "defer by another"), ("unknown", "")),
        **dict.fromkeys(ANSWERS, ("unknown", "")),
    },
    "waiting": {"cancel": ("cancelled", "cancelled"), "publish": ("ok", "queued")},
    "queued": {
        "claim": ("claimed", "running"),
        "claim again": ("claimed", "running"),
        "claim by another worker": ("claimed", "running"),
        "cancel": ("cancelled", "cancelled"),
        "overdue": ("ended", "timed_out"),
        "overdue and offered by nobody": ("ended", "failed"),
    },
    "running": {
        "claim again": ("claimed", ""),
        "finish": ("ok", "completed"),
        "cancel": ("asked", ""),
        "settle": ("orphaned", "orphaned"),
        "settle of its process": ("orphaned", "orphaned"),
        "overdue": ("asked", ""),
        "overdue and offered by nobody": ("asked", ""),
        "progress": ("ok", ""),
        "notify": ("ok", ""),
        "defer": ("ok", "deferred"),
    },
    "wished": {
        "claim again": ("claimed", ""),
        "finish": ("ok", "completed"),
        "cancel": ("asked", ""),
        "settle": ("cancelled", "cancelled"),
        "settle of its process": ("cancelled", "cancelled"),
        "overdue": ("asked", ""),
        "overdue and offered by nobody": ("asked", ""),
        "progress": ("ok", ""),
        "notify": ("ok", ""),
        "defer": ("late", "cancelled"),
    },
    "deferred by its policy": WAITING_OUTSIDE | LEAVE,
    "deferred by a hook": WAITING_OUTSIDE | LEAVE | {"defer": ("ok", "")},
    "deferred by its tool": WAITING_OUTSIDE | {"defer": ("ok", "")},
    "question": WAITING_OUTSIDE | dict.fromkeys(("overdue", "overdue and offered by nobody"), ("ended", "completed")),
    "approved": {
        "claim of another attempt": ("claimed", "running"),
        "cancel": ("cancelled", "cancelled"),
        "overdue": ("ended", "timed_out"),
        "overdue and offered by nobody": ("ended", "failed"),
        "repeat": ("publish", ""),
        "defer": ("ok", ""),
        **dict.fromkeys(ANSWERS, ("conflict", "")),
        **dict.fromkeys(("complete of another deferral", "approve of another deferral"), ("stale", "")),
        "approve": ("again", ""),
    },
    **{
        state: {
            "finish": ("ok", ""),
            "cancel": ("final", ""),
            **dict.fromkeys(("finish by another", "defer", "defer by another"), ("late", "")),
        }
        for state in FINAL
    },
}
"""State -> question -> answer and the state after it; an empty text: the state stays."""
REFUSED = {
    "claim": "refused", "claim again": "refused", "claim of another attempt": "refused",
    "claim by another worker": "refused", "claim by a lost worker": "lapsed", "finish": "lost",
    "finish by another": "lost", "settle": "", "settle of its process": "", "settle of another process": "",
    "settle of another worker": "", "overdue": "early", "overdue and offered by nobody": "early",
    "overdue too early": "early", "progress": "lost", "progress by another": "lost", "notify": "lost",
    "notify by another": "lost", "publish": "ok", "repeat": "no", "defer": "lost", "defer by another": "lost",
    **dict.fromkeys(ANSWERS, "unfit"), "progress from outside": "lost", "progress of another deferral": "lost",
    "notify from outside": "lost", "notify of another deferral": "lost",
}  # fmt: skip
"""What a question meets in every state that the table above does not name: nothing is changed."""


@pytest.fixture
def case(settings: Settings, store: redis.Redis) -> Iterator[Case]:
    declared = DeclaredOnly(settings)
    yield Case(Scene(store), declared)
    declared.close()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_meets_every_state_as_the_table_says(state: str, question: str, case: Case) -> None:
    case.reach(state)
    stood = case.scene.state()
    answer, after = MEETS[state].get(question, (REFUSED.get(question), ""))

    assert QUESTIONS[question](case) == answer

    now = case.scene.state()
    assert now == (after or stood)
    is_final = now in FINAL
    assert case.scene.ends() == ([now] if is_final else [])
    assert len(case.scene.completion_letters()) == is_final
    assert not (is_final and case.scene.traces())
    assert case.scene.fields().get("end_seq", "") != "" or not is_final


@pytest.mark.parametrize("state", FINAL)
def test_a_final_call_never_changes_again_but_for_the_count_of_what_came_late(state: str, case: Case) -> None:
    case.reach(state)
    case.scene.long_ago()
    before = case.scene.fields()

    for ask in QUESTIONS.values():
        ask(case)

    assert case.scene.fields() | {"late": ""} == before | {"late": ""}


def test_a_call_that_is_claimed_while_it_is_cancelled_is_asked_and_not_ended(case: Case) -> None:
    case.reach("queued")
    seen = case.scene.place()
    case.claim()

    answer = case.declared.run(cancelling(seen))

    assert answer.outcome == "moved"
    assert case.scene.state() == "running"
    assert case.declared.run(cancelling(case.scene.place())).worker == "w1"


def test_a_call_that_is_claimed_while_its_queue_time_is_judged_is_judged_again_where_it_stands(case: Case) -> None:
    case.reach("queued")
    seen = case.scene.place()
    case.claim()
    case.scene.long_ago()

    assert case.declared.run(calls.overdue(seen, offered=True)).outcome == "moved"
    assert case.declared.run(calls.overdue(case.scene.place(), offered=True)).outcome == "asked"
    assert case.scene.traces() == ["watch", "worker_calls", "wishes"]


def test_the_first_wish_keeps_its_reason_and_ends_the_call_under_it(case: Case) -> None:
    case.reach("running")
    case.declared.run(cancelling(case.scene.place(), by="user", reason="first", asker="one"))
    case.declared.run(cancelling(case.scene.place(), by="model", reason="second", asker="two"))

    case.declared.run(
        attempts.finish(case.claimed("a1"), HOLDER, QUEUE, Outcome(state=CallState.CANCELLED, by="x", reason="y"))
    )

    ended = case.scene.fields()
    assert (ended["by"], ended["reason"], ended["state"]) == ("user", "first", "cancelled")


def test_the_same_asker_hears_of_its_cancel_again_and_another_hears_that_it_was_over(case: Case) -> None:
    case.reach("queued")
    mine = cancelling(case.scene.place(), asker="one")

    answers = [case.declared.run(mine), case.declared.run(mine)]
    other = case.declared.run(cancelling(case.scene.place(), asker="two"))

    assert [(a.outcome, a.previous, a.state) for a in answers] == [("cancelled", "queued", "cancelled")] * 2
    assert (other.outcome, other.previous) == ("final", "cancelled")


def test_a_wish_that_met_a_call_which_ended_by_itself_says_what_the_call_was_when_it_was_asked(case: Case) -> None:
    case.reach("running")
    case.declared.run(cancelling(case.scene.place(), asker="one"))
    case.finish()

    answer = case.declared.run(cancelling(case.scene.place(), asker="one"))

    assert (answer.outcome, answer.previous, answer.state) == ("final", "running", "completed")


def test_settling_one_process_leaves_the_wish_for_a_call_of_another(case: Case) -> None:
    case.reach("wished")

    case.settle(pid="99")

    assert case.scene.traces() == ["watch", "worker_calls", "wishes"]


def test_a_worker_that_was_given_up_is_told_and_gets_no_call(case: Case) -> None:
    case.reach("queued")
    case.declared.run(workers.settle("w1"))

    assert case.declared.run(workers.beat("w1", {})).state == "settled"
    assert case.claim() == "lapsed"
    assert case.scene.state() == "queued"


def test_a_worker_whose_beat_has_moved_is_not_given_up(case: Case) -> None:
    case.reach("queued")
    watched = f"{case.scene.store.zscore(keys.WORKERS, 'w1'):.0f}"
    case.scene.store.zadd(keys.WORKERS, {"w1": float(watched) + 1})

    assert case.declared.run(workers.settle("w1", watched)) == "moved"
    assert case.declared.run(workers.settle("w9", watched)) == "unknown"
    assert case.claim() == "claimed"


@pytest.mark.parametrize("said", [{}, {"by": "operator"}, {"reason": "enough"}])
def test_the_event_of_a_cancelled_call_says_what_is_known_of_who_and_why(said: dict[str, str], case: Case) -> None:
    case.reach("running")
    outcome = Outcome(state=CallState.CANCELLED).model_copy(update=said)

    case.declared.run(attempts.finish(case.claimed("a1"), HOLDER, QUEUE, outcome))

    [ended] = [fields for _, fields in entries(case, keys.EVENTS) if fields["kind"] == "tool_call.cancelled"]
    assert {name: ended[name] for name in ("by", "reason") if name in ended} == said
    assert ended["end_seq"] == case.scene.fields()["end_seq"] == ended["seq"]


def test_a_result_too_large_for_mail_stands_in_the_record_alone(case: Case) -> None:
    case.reach("running")
    large = Outcome(state=CallState.COMPLETED, result="é" * attempts.MAIL_INLINE_BYTES)

    case.declared.run(attempts.finish(case.claimed("a1"), HOLDER, QUEUE, large))

    [letter] = case.scene.completion_letters()
    assert letter["truncated"] == "1"
    assert "result" not in letter
    assert case.scene.fields()["result"] == large.result


def test_a_call_mails_sixteen_notifies_and_keeps_the_others_as_progress(case: Case) -> None:
    case.reach("running")

    answers = [
        case.declared.run(attempts.notify(case.claimed("a1"), number, "{}", f"news {number}"))
        for number in range(1, 21)
    ]

    assert answers == ["ok"] * keys.NOTIFY_BOUND + ["kept"] * 4
    assert [one["text"] for one in case.scene.letters()[1:]] == [f"news {n}" for n in range(1, keys.NOTIFY_BOUND + 1)]
    assert case.scene.store.xlen(keys.progress("c1")) == 1 + 20  # the first one says that it started


def entries(case: Case, key: str) -> list[tuple[str, dict[str, str]]]:
    found: Any = case.scene.store.xrange(key)
    return found


def test_a_flood_of_news_is_kept_but_told_to_watchers_five_times_a_second_at_most(store: redis.Redis) -> None:
    scene = Scene(store)
    scene.owned()
    claimed = scene.running()
    began = time.monotonic()
    for number in range(1, 101):
        scene.run(attempts.notify(claimed, number, "{}", "news"))
        scene.run(attempts.progress(claimed, "{}"))

    events: Any = scene.store.xrange(keys.events(scene.sid))
    told = [fields["kind"] for _, fields in events].count("tool_call.progressed")
    assert 1 <= told <= 2 + (time.monotonic() - began) / 0.2
    assert scene.store.xlen(keys.progress("c1")) == 50
