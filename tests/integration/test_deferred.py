"""Answers from outside to deferred calls, on records of a real store: what is taken, repeated and refused."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
import redis.asyncio
from tests.integration.script_scenes import HOLDER, QUEUE, Scene, cancelling

from errands_config import keys
from errands_config.errors import AnswerRefused, Conflict, InvalidArguments, NotFound
from errands_config.scripts import attempts, calls
from errands_config.scripts.deferred import defer
from errands_config.settings import Settings
from errands_config.wire import Deferral
from errands_orchestrator.deferred import Deferrals, Resolution
from errands_orchestrator.outside_result import Result
from errands_orchestrator.pending import PendingCall, pending
from errands_orchestrator.sessions import new_id
from errands_orchestrator.tokens import secret_key, token_of

Answer = Callable[[Deferrals, str], Awaitable[Resolution]]

ANSWERS: dict[str, Answer] = {
    "completed": lambda it, target: it.complete(target, Result("done")),
    "failed": lambda it, target: it.fail(target, "no such host"),
    "denied": lambda it, target: it.deny(target, "not today"),
    "approved": lambda it, target: it.approve(target),
}
ENDING = [name for name in ANSWERS if name != "approved"]


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    scene = Scene(store)
    scene.owned()
    return scene


@pytest.fixture
def outside(astore: redis.asyncio.Redis, settings: Settings) -> Deferrals:
    return Deferrals(astore, settings)


def deferred(scene: Scene, kind: str = "policy", **more: str) -> str:
    """A call that was born deferred; its id."""
    cid = new_id()
    fields = {"state": "deferred", "defer_kind": kind, "defer_reason": "wants a yes", "expires_ms": "600000"}
    scene.waiting(cid, **fields | more)
    return cid


def question(scene: Scene, *choices: str) -> str:
    asked = {"question": "Which colour?", **({"choices": choices} if choices else {})}
    return deferred(scene, "question", tool="ask-user", arguments=json.dumps(asked))


def deferred_by_tool(scene: Scene, kind: str = "tool") -> str:
    """A call that ran and then deferred itself; its id."""
    cid = new_id()
    claimed = scene.running(cid)
    put_off(scene, claimed, kind)
    return cid


def put_off(scene: Scene, claimed: Any, kind: str = "tool") -> None:
    why = Deferral.model_validate({"kind": kind, "hook": "command approve" if kind == "hook" else ""})
    assert scene.run(defer(claimed, HOLDER, QUEUE, why, 600)).outcome == "ok"


def token(outside: Deferrals, cid: str, nonce: int = 1) -> str:
    return token_of(secret_key(outside.settings), cid, nonce)


async def waiting(outside: Deferrals, session: str | None = None) -> tuple[PendingCall, ...]:
    return await pending(outside.store, outside.settings, session)


# ---- what waits


async def test_what_waits_is_listed_with_its_reason_its_arguments_and_until_when(
    scene: Scene, outside: Deferrals
) -> None:
    cid = deferred(scene, arguments='{"env":"prod","n":[1]}')
    scene.queued(new_id())

    [one] = await waiting(outside, scene.sid)

    assert (one.call.id, one.call.tool, one.kind, one.reason) == (cid, "work", "policy", "wants a yes")
    assert one.arguments == {"env": "prod", "n": [1]}
    assert one.expires_at - one.deferred_at == 600_000
    assert one.token == token(outside, cid)
    assert one.token not in repr(one)


async def test_the_calls_of_all_sessions_are_listed_in_the_order_in_which_they_were_made(
    store: redis.Redis, scene: Scene, outside: Deferrals
) -> None:
    other = Scene(store, sid="s2")
    other.owned()
    made = [deferred(scene), deferred(other), deferred(scene)]

    assert [one.call.id for one in await waiting(outside)] == made
    assert [one.call.id for one in await waiting(outside, "s2")] == [made[1]]
    with pytest.raises(NotFound, match="s3"):
        await waiting(outside, "s3")


async def test_arguments_as_a_hook_saw_them_are_those_that_are_shown(scene: Scene, outside: Deferrals) -> None:
    deferred(scene, "hook", arguments='{"env":"prod"}', defer_arguments='{"env":"prod","checked":true}')

    [one] = await waiting(outside)

    assert one.arguments == {"env": "prod", "checked": True}


async def test_without_its_list_of_tools_nothing_of_the_arguments_is_shown(
    store: redis.Redis, scene: Scene, outside: Deferrals
) -> None:
    deferred(scene, arguments='{"password":"hunter2"}')
    question(scene)
    store.delete(keys.toolset("toolset-digest"))

    hidden, asked = await waiting(outside)

    assert str(hidden.arguments["password"]).startswith("[redacted ")
    assert asked.question
    assert asked.question.text == "Which colour?"


# ---- what is taken


@pytest.mark.parametrize(("verdict", "state"), [("completed", "completed"), ("failed", "failed"), ("denied", "denied")])
@pytest.mark.parametrize("kind", ["policy", "hook", "tool"])
async def test_an_answer_ends_its_call_and_is_mailed_once(
    scene: Scene, outside: Deferrals, verdict: str, state: str, kind: str
) -> None:
    cid = deferred(scene) if kind == "policy" else deferred_by_tool(scene, kind)

    first = await ANSWERS[verdict](outside, token(outside, cid))
    again = await ANSWERS[verdict](outside, token(outside, cid))

    assert first == again == Resolution(cid, scene.sid, "work", first.outcome)
    assert (first.outcome, scene.state(cid)) == (verdict, state)
    assert (len(scene.completion_letters(cid)), scene.ends(cid), scene.traces(cid)) == (1, [state], [])


async def test_an_answer_may_name_the_call_instead_of_a_token_but_leave_to_run_may_not(
    scene: Scene, outside: Deferrals
) -> None:
    cid = deferred(scene)

    with pytest.raises(NotFound, match="no such token"):
        await outside.approve(cid)
    await outside.complete(cid, Result("done"))

    assert scene.state(cid) == "completed"


async def test_what_the_model_will_read_stands_in_the_record(scene: Scene, outside: Deferrals) -> None:
    good, bad, no, silent = (deferred(scene) for _ in range(4))
    await outside.complete(good, Result('{"url":"x"}', "json"))
    await outside.fail(bad, "no such\x1b[31m host ")
    await outside.deny(no, "not today")
    await outside.deny(silent)

    records = [scene.fields(cid) for cid in (good, bad, no, silent)]
    assert (records[0]["result"], records[0]["result_type"]) == ('{"url":"x"}', "json")
    assert [record["error"] for record in records[1:]] == ["no such host", "not today", "the user declined this call"]


async def test_a_result_that_is_too_large_is_kept_as_its_two_ends(
    scene: Scene, astore: redis.asyncio.Redis, settings: Settings
) -> None:
    small = Deferrals(astore, settings.model_copy(update={"max_stored_bytes": 100}))
    cid = deferred(scene)

    await small.complete(cid, Result(json.dumps("x" * 1000), "json"))

    record = scene.fields(cid)
    assert ("its middle is left out" in record["result"], record["result_type"]) == (True, "text")


@pytest.mark.parametrize("kind", ["policy", "hook"])
async def test_leave_gives_the_call_back_to_its_queue_once(scene: Scene, outside: Deferrals, kind: str) -> None:
    cid = deferred(scene) if kind == "policy" else deferred_by_tool(scene, kind)

    first = await outside.approve(token(outside, cid))
    again = await outside.approve(token(outside, cid))

    assert first == again
    assert (first.outcome, scene.state(cid), scene.fields(cid)["attempt"]) == ("approved", "queued", "2")
    [approval] = json.loads(scene.fields(cid)["approved"])
    assert approval["hook"] == ("" if kind == "policy" else "command approve")
    assert [letter["kind"] for letter in scene.letters() if letter.get("call") == cid][-1] == "toolCallApproved"


async def test_leave_that_is_given_again_is_known_also_where_a_hook_had_changed_the_arguments(
    scene: Scene, outside: Deferrals
) -> None:
    cid = deferred(scene, "hook", arguments='{"n":1}', defer_arguments='{"n":1,"checked":true}')

    first = await outside.approve(token(outside, cid))

    assert await outside.approve(token(outside, cid)) == first
    assert scene.fields(cid)["arguments"] == '{"n":1}'


# ---- what is refused


@pytest.mark.parametrize("first", ANSWERS)
@pytest.mark.parametrize("second", ANSWERS)
async def test_another_answer_is_a_conflict_that_shows_the_recorded_one(
    scene: Scene, outside: Deferrals, first: str, second: str
) -> None:
    if first == second:
        return
    cid = deferred(scene)
    await ANSWERS[first](outside, token(outside, cid))
    before = scene.fields(cid)

    with pytest.raises(Conflict) as refused:
        await ANSWERS[second](outside, token(outside, cid))

    said = {"completed": "completed: done", "failed": "no such host", "denied": "denied: not today"}
    assert said.get(first, "was approved before: it is queued now") in str(refused.value)
    assert scene.fields(cid) == before


async def test_the_same_kind_of_answer_with_another_content_is_another_answer(scene: Scene, outside: Deferrals) -> None:
    cid = deferred(scene)
    await outside.complete(cid, Result("one"))

    with pytest.raises(Conflict, match="completed: one"):
        await outside.complete(cid, Result("two"))
    with pytest.raises(Conflict, match="completed: one"):
        await outside.complete(cid, Result("one", "json"))


@pytest.mark.parametrize("verdict", ANSWERS)
async def test_after_a_cancel_an_answer_is_too_late_and_counted(scene: Scene, outside: Deferrals, verdict: str) -> None:
    cid = deferred(scene)
    scene.run(cancelling(scene.place(cid)))

    with pytest.raises(Conflict, match="was cancelled; the answer came too late"):
        await ANSWERS[verdict](outside, token(outside, cid))

    assert (scene.state(cid), scene.fields(cid)["late"]) == ("cancelled", "1")


@pytest.mark.parametrize("is_swept", [True, False])
@pytest.mark.parametrize("verdict", ANSWERS)
async def test_after_its_time_an_answer_is_too_late_whether_or_not_a_sweeper_has_come(
    scene: Scene, outside: Deferrals, verdict: str, is_swept: bool
) -> None:
    cid = deferred(scene)
    pass_time(scene, cid)
    if is_swept:
        expire(scene, cid)

    with pytest.raises(Conflict, match="expired: nobody answered in time"):
        await ANSWERS[verdict](outside, token(outside, cid))

    if not is_swept:
        expire(scene, cid)
    assert (scene.state(cid), scene.fields(cid)["late"]) == ("expired", "1")


def pass_time(scene: Scene, cid: str) -> None:
    scene.store.hset(keys.call(cid), "deferred_at", "1")


def expire(scene: Scene, cid: str) -> None:
    pass_time(scene, cid)
    scene.store.zadd(keys.WATCH, {cid: 1}, xx=True)
    assert scene.run(calls.overdue(scene.place(cid), offered=True)).outcome == "ended"


@pytest.mark.parametrize("verdict", ANSWERS)
async def test_a_token_of_an_earlier_deferral_is_void(scene: Scene, outside: Deferrals, verdict: str) -> None:
    cid = deferred_by_tool(scene, "hook")
    await outside.approve(token(outside, cid))
    claimed = scene.run(attempts.claim(scene.message(cid, attempt=2), "a2", HOLDER))
    put_off(scene, claimed)

    with pytest.raises(Conflict, match="earlier deferral"):
        await ANSWERS[verdict](outside, token(outside, cid, 1))

    assert scene.state(cid) == "deferred"
    [one] = await waiting(outside)
    assert one.token == token(outside, cid, 2)


async def test_a_tool_that_waits_for_a_result_needs_no_leave(scene: Scene, outside: Deferrals) -> None:
    cid = deferred_by_tool(scene)

    with pytest.raises(Conflict, match="waits for a result and not for leave"):
        await outside.approve(token(outside, cid))


async def test_what_was_never_deferred_is_nobodys_business(scene: Scene, outside: Deferrals) -> None:
    cid = new_id()
    scene.running(cid)

    for target in (cid, token(outside, cid)):
        with pytest.raises(AnswerRefused, match="is not deferred: it is running") as refused:
            await outside.complete(target, Result("x"))
        assert refused.value.state == "running"
    assert scene.state(cid) == "running"


@pytest.mark.parametrize("target", ["", "nonsense", "ect_nonsense", "c1", "0199C2A4-7D1E-7000-8000-0123456789AB"])
async def test_a_target_that_is_none_is_not_found_and_not_repeated(
    scene: Scene, outside: Deferrals, target: str
) -> None:
    with pytest.raises(NotFound) as refused:
        await outside.complete(target, Result("x"))

    assert not target or target not in str(refused.value)


async def test_a_call_that_is_gone_is_not_found(scene: Scene, outside: Deferrals) -> None:
    with pytest.raises(NotFound, match="session pending"):
        await outside.complete(token(outside, new_id()), Result("x"))


# ---- questions


def result(scene: Scene, cid: str) -> Any:
    return json.loads(scene.fields(cid)["result"])


async def test_a_question_is_answered_once(scene: Scene, outside: Deferrals) -> None:
    cid = question(scene, "red", "blue")

    first = await outside.answer(token(outside, cid), "2")
    again = await outside.answer(cid, "blue")

    assert first == again == Resolution(cid, scene.sid, "ask-user", "answered")
    assert (result(scene, cid), scene.state(cid)) == ({"answered": True, "answer": "blue"}, "completed")
    with pytest.raises(Conflict, match="blue"):
        await outside.answer(cid, "red")
    with pytest.raises(InvalidArguments, match="1 red; 2 blue"):
        await outside.answer(cid, "green")


async def test_several_open_questions_get_their_own_answers(scene: Scene, outside: Deferrals) -> None:
    one, two = question(scene), question(scene)

    await outside.answer(two, "second")
    await outside.answer(one, "first")

    assert [result(scene, cid)["answer"] for cid in (one, two)] == ["first", "second"]


async def test_a_dismissed_question_is_unanswered_and_a_later_answer_is_mail(scene: Scene, outside: Deferrals) -> None:
    cid = question(scene)
    await outside.dismiss(cid, "not now")
    dismissed = result(scene, cid)

    first = await outside.answer(cid, "red")
    again = await outside.answer(cid, "red")

    assert dismissed == result(scene, cid) == {"answered": False, "reason": "not now"}
    assert first == again == Resolution(cid, scene.sid, "ask-user", "mailed")
    assert late_letters(scene) == ['Late answer to your question "Which colour?": red']
    with pytest.raises(Conflict):
        await outside.answer(cid, "blue")


def late_letters(scene: Scene) -> list[str]:
    return [letter["text"] for letter in scene.letters() if letter["kind"] == "continuationResult"]


async def test_an_answer_to_a_question_whose_time_is_over_is_mail(scene: Scene, outside: Deferrals) -> None:
    cid = question(scene)
    expire(scene, cid)

    with pytest.raises(Conflict, match="had ended"):
        await outside.dismiss(cid)
    late = await outside.answer(cid, "red")

    assert (late.outcome, len(late_letters(scene))) == ("mailed", 1)
    assert result(scene, cid)["answered"] is False


async def test_a_cancelled_question_takes_no_answer(scene: Scene, outside: Deferrals) -> None:
    cid = question(scene)
    scene.run(cancelling(scene.place(cid)))

    with pytest.raises(Conflict, match="was cancelled"):
        await outside.answer(cid, "red")
    assert late_letters(scene) == []


async def test_questions_are_answered_and_all_else_is_not(scene: Scene, outside: Deferrals) -> None:
    asked, other = question(scene), deferred(scene)

    for answer in ANSWERS.values():
        with pytest.raises(Conflict, match="is a question"):
            await answer(outside, token(outside, asked))
    with pytest.raises(Conflict, match="is no question"):
        await outside.answer(other, "red")
    with pytest.raises(Conflict, match="is no question"):
        await outside.dismiss(other)
    assert (scene.state(asked), scene.state(other)) == ("deferred", "deferred")


# ---- news from outside


async def test_progress_and_news_from_outside_are_kept_and_news_is_mail_too(scene: Scene, outside: Deferrals) -> None:
    cid = deferred_by_tool(scene)

    await outside.progress(token(outside, cid), {"done": 3, "total": 40})
    await outside.notify(cid, "half\x00 way")
    await outside.notify(cid, "half\x00 way")

    entries: Any = scene.store.xrange(keys.progress(cid))
    reports = [json.loads(entry["payload"]) for _, entry in entries][1:]
    notify = {"level": "notify", "message": "half\u2400 way"}
    assert reports == [{"done": 3, "total": 40}, notify, notify]
    notes = [letter["text"] for letter in scene.letters() if letter["kind"] == "toolCallNotify"]
    assert notes == ["half\u2400 way"] * 2


async def test_progress_that_is_too_long_is_cut(scene: Scene, outside: Deferrals) -> None:
    cid = deferred(scene)

    await outside.progress(cid, "x" * 100_000)

    entries: Any = scene.store.xrange(keys.progress(cid))
    [(_, entry)] = entries
    assert len(entry["payload"]) < 9_000
    assert "truncated" in json.loads(entry["payload"])


async def test_there_is_no_news_of_a_call_that_does_not_wait_any_more(scene: Scene, outside: Deferrals) -> None:
    cid = deferred(scene)
    held = token(outside, cid)
    await outside.complete(cid, Result("done"))

    for late in (outside.progress(held, 1), outside.notify(held, "x")):
        with pytest.raises(Conflict, match="it is completed"):
            await late
