"""Runs that wait for somebody outside, through the Python API: blocked, answered, and gone on with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import redis
import redis.asyncio
from tests.integration.errand import answering, call, calls, faults_of, leftovers, make_agent, orchestrating, run_ended
from tests.integration.fake_worker import FakeWorker, fake_worker, offer
from tests.waiting import aeventually

from errands_config import keys
from errands_config.errors import ConfigError, Conflict, InvalidArguments, NotFound
from errands_config.settings import Settings
from errands_orchestrator import BlockedOnDeferredCalls, Client, PendingCall, sessions
from errands_orchestrator.models.model import ModelCall, Reply
from errands_orchestrator.models.seen import SeenMessage

SCHEMA = json.dumps({
    "type": "object",
    "properties": {"env": {"type": "string"}, "times": {"type": "integer"}, "password": {"type": "string"}},
    "required": ["env"],
    "additionalProperties": False,
})  # fmt: skip
DEPLOY = offer("deploy", parameters=SCHEMA, redact=("password",), timeout_seconds=30.0)
DEFER = {"tag": "defer", "reason": "a person decides"}
BACKGROUND = {"tag": "runAsync", "attachSeconds": 0}


def agent_of(*rules: tuple[str, object], **more: Any) -> Any:
    policy = {
        "default": {"tag": "runSync"},
        "rules": [{"tool": tool, "disposition": disposition} for tool, disposition in (*rules, ("deploy", DEFER))],
        "wrappers": [
            {"match": {"args": {"path": "env", "equals": "prod"}}, "decorators": [{"tag": "label", "label": "prod"}]}
        ],
    }
    return make_agent(tools=["*"], toolCallPolicyConfig=policy, **more)


class Speaker:
    """A model that makes these calls first, and then repeats what it was told last."""

    def __init__(self) -> None:
        self.first: Sequence[ModelCall] = ()
        self.told: list[list[str]] = []

    def makes(self, *made: ModelCall) -> None:
        self.first = made

    def __call__(self, messages: Sequence[SeenMessage]) -> Reply:
        self.told.append([message.text for message in messages])
        made, self.first = self.first, ()
        if made:
            return calls(*made)
        tools = [message.text for message in messages if message.role == "tool"]
        return Reply(" | ".join([*tools, *([messages[-1].text] if messages[-1].role == "user" else [])]))


@pytest.fixture
def speaker() -> Speaker:
    return Speaker()


@pytest.fixture
async def worker(settings: Settings, store: redis.Redis) -> AsyncIterator[FakeWorker]:
    async with fake_worker(settings, DEPLOY, "work") as worker:
        yield worker


@pytest.fixture
async def client(settings: Settings, worker: FakeWorker, speaker: Speaker) -> AsyncIterator[Client]:
    async with asyncio.timeout(60), Client(settings, make_model=answering(speaker)) as client:
        yield client


async def blocked(client: Client, agent: Any = None) -> tuple[str, tuple[PendingCall, ...]]:
    run = await client.run_until_blocked(agent or agent_of(), "go")
    assert run.status == "blocked", run
    return run.session, run.pending


# ---- blocked and gone on with


async def test_a_run_that_waits_for_somebody_outside_raises_and_carries_what_it_waits_for(
    client: Client, speaker: Speaker
) -> None:
    speaker.makes(call("deploy", "call_9", env="prod"))

    with pytest.raises(BlockedOnDeferredCalls, match=r"deploy \(call_9\)") as raised:
        await client.run(agent_of(), "go")

    session, [waiting] = raised.value.session, raised.value.calls
    assert (waiting.kind, waiting.reason, waiting.arguments) == ("policy", "a person decides", {"env": "prod"})
    assert await client.pending(session) == (waiting,)
    with pytest.raises(BlockedOnDeferredCalls):
        await client.resume(session)

    await client.complete(waiting.token, {"url": "https://x"})
    assert await client.resume(session) == '{"url":"https://x"}'
    assert await client.pending(session) == ()


async def test_calls_of_one_turn_with_equal_arguments_get_their_own_answers_in_call_order(
    client: Client, speaker: Speaker, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(*(call("deploy", f"call_{n}", env="prod") for n in range(3)))
    session, waiting = await blocked(client)
    assert [one.call.provider_id for one in waiting] == ["call_0", "call_1", "call_2"]

    await client.deny(waiting[2].token, "third")
    await client.complete(waiting[0].token, "first")
    still = await client.run_until_blocked(agent_of(), "another session in between")
    assert still.status == "completed"
    with pytest.raises(BlockedOnDeferredCalls) as raised:
        await client.resume(session)
    assert [one.call.provider_id for one in raised.value.calls] == ["call_1"]
    await client.fail(waiting[1].token, "second")

    assert await client.resume(session) == "first | async tool call failed: second | third"
    assert await faults_of(astore, session) == []


async def test_an_answer_reaches_a_session_that_others_step_and_a_parked_one(
    client: Client, speaker: Speaker, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(call("deploy", env="prod"))
    session, [waiting] = await blocked(client)  # parked, and nobody steps it now
    await client.complete(waiting.token, "done")
    assert await sessions.status_of(astore, session) == "waiting_external"

    async with orchestrating(settings, speaker):
        await run_ended(astore, session)
        speaker.makes(call("deploy", env="prod"))
        await client.send(session, "again")
        [second] = await aeventually(lambda: client.pending(session))
        await client.complete(second.token, "done again")
        await run_ended(astore, session, times=2)

    assert speaker.told[-1][-1] == "done again"


async def test_an_answer_to_a_call_that_is_not_attached_is_told_late(
    client: Client, speaker: Speaker, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(call("deploy", "call_1", env="prod"))
    session, [waiting] = await blocked(client, agent_of(("deploy", DEFER | {"attached": False})))
    assert '"status":"deferred"' in speaker.told[-1][-1].replace(" ", "")  # the model went on meanwhile

    await client.complete(waiting.call.id, "late news")

    assert "tool_call_id call_1 (deploy) completed:\nlate news" in await client.resume(session)
    assert await faults_of(astore, session) == []


async def test_while_background_calls_run_a_run_is_not_blocked(client: Client, speaker: Speaker) -> None:
    speaker.makes(call("deploy", "call_1", env="prod"), call("work", "call_2", x=1))

    session, waiting = await blocked(client, agent_of(("work", BACKGROUND)))

    assert [one.call.provider_id for one in waiting] == ["call_1"]
    assert [row.state for row in await client.calls(session) if row.tool == "work"] == ["completed"]


async def test_a_blocked_run_whose_event_is_gone_is_found_in_the_record(
    client: Client, speaker: Speaker, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(call("deploy", env="prod"))
    session, _ = await blocked(client)

    # an event that is told while nobody listens is cut off before it is read
    resuming = asyncio.create_task(client.resume(session))
    while not resuming.done():
        await astore.xtrim(keys.events(session), maxlen=0, approximate=False)
        await asyncio.sleep(0)
    with pytest.raises(BlockedOnDeferredCalls):
        await resuming


# ---- leave to run


async def test_leave_runs_the_call_with_exactly_the_arguments_that_were_shown(
    client: Client, speaker: Speaker, worker: FakeWorker, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(call("deploy", env="prod", password="hunter2"))
    session, [waiting] = await blocked(client)
    assert str(waiting.arguments["password"]).startswith("[redacted ")

    assert (await client.approve(waiting.token)).outcome == "approved"
    answer = await client.resume(session)

    [claimed] = worker.claimed
    assert json.loads(claimed.arguments) == {"env": "prod", "password": "hunter2"}
    assert (claimed.attempt, claimed.policy.label, claimed.approved[0].hook) == (2, "prod", "")
    assert "hunter2" in answer
    assert (await client.approve(waiting.token)).outcome == "approved"
    assert await faults_of(astore, session) == []
    assert not (await leftovers(astore)).keys() & {"watch", "due"}


async def test_edited_arguments_are_matched_against_the_policy_anew_and_redacted_values_stay(
    client: Client, speaker: Speaker, worker: FakeWorker
) -> None:
    speaker.makes(call("deploy", env="prod", password="hunter2"))
    session, [waiting] = await blocked(client)

    await client.approve(waiting.token, {**waiting.arguments, "env": "test"})
    await client.resume(session)

    [claimed] = worker.claimed
    assert json.loads(claimed.arguments) == {"env": "test", "password": "hunter2"}
    assert (claimed.policy.label, claimed.policy.timeout_seconds, claimed.policy.disposition) == ("", 30.0, "defer")
    for other in (None, {"env": "prod"}):
        with pytest.raises(Conflict, match="had an answer before"):
            await client.approve(waiting.token, other)
    assert (await client.approve(waiting.token, {**waiting.arguments, "env": "test"})).outcome == "approved"


async def test_arguments_that_are_given_as_they_were_are_no_edit(client: Client, speaker: Speaker) -> None:
    speaker.makes(call("deploy", env="prod", password="hunter2"))
    _, [waiting] = await blocked(client)

    await client.approve(waiting.token, dict(reversed(list(waiting.arguments.items()))))

    assert (await client.approve(waiting.token)).outcome == "approved"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"env": 7}, {"env": "prod", "other": 1}, {"env": "prod", "times": "x"}],
)
async def test_edited_arguments_that_do_not_fit_are_refused_and_the_call_waits_on(
    client: Client, speaker: Speaker, arguments: Any
) -> None:
    speaker.makes(call("deploy", env="prod", password="hunter2"))
    session, [waiting] = await blocked(client)

    with pytest.raises(InvalidArguments, match="do not fit deploy: the schema is") as refused:
        await client.approve(waiting.token, {**arguments, "password": waiting.arguments["password"]})

    assert "hunter2" not in str(refused.value)
    assert await client.pending(session) == (waiting,)


async def test_no_leave_is_told_to_the_model_with_its_reason(client: Client, speaker: Speaker) -> None:
    speaker.makes(call("deploy", env="prod"))
    session, [waiting] = await blocked(client)

    await client.deny(waiting.token, "not on a Friday")

    assert await client.resume(session) == "not on a Friday"


# ---- ends that come first


async def test_after_a_cancelled_run_its_deferred_calls_stay_and_their_answers_are_told_later(
    client: Client, speaker: Speaker, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(call("deploy", "call_1", env="prod"))
    session, [waiting] = await blocked(client)
    async with orchestrating(settings, speaker):
        await client.cancel_run(session)
        await run_ended(astore, session)
        assert await client.pending(session) == (waiting,)

        await client.complete(waiting.token, "after all")
        await client.send(session, "and?")
        await run_ended(astore, session, times=2)

    assert "after all" in speaker.told[-1][-1]


async def test_a_cancelled_call_takes_no_answer_and_the_run_goes_on(client: Client, speaker: Speaker) -> None:
    speaker.makes(call("deploy", env="prod"))
    session, [waiting] = await blocked(client)

    await client.cancel(waiting.call.id)
    with pytest.raises(Conflict, match="was cancelled"):
        await client.complete(waiting.token, "too late")

    assert await client.resume(session) == "async tool call was cancelled"


async def test_a_call_that_expires_ends_by_itself(
    client: Client, speaker: Speaker, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(call("deploy", env="prod"))
    session, [waiting] = await blocked(client, agent_of(("deploy", DEFER | {"expiresSeconds": 1})))

    async with orchestrating(settings, speaker):
        await run_ended(astore, session)

    assert speaker.told[-1][-1] == "nobody completed this call in time"
    with pytest.raises(Conflict, match="expired"):
        await client.complete(waiting.token, "too late")


# ---- questions

ASKING = {"builtinToolboxes": [{"tag": "SystemToolbox", "contents": {"Name": "s", "Capabilities": ["ask-user"]}}]}


def ask(provider_id: str = "call_1", **more: Any) -> ModelCall:
    return call("ask-user", provider_id, question="Which colour?", **more)


async def test_a_question_lets_the_model_go_on_and_its_answer_comes_by_itself(
    client: Client, speaker: Speaker, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(ask(choices=["red", "blue"]), ask("call_2"))
    session, [first, second] = await blocked(client, agent_of(**ASKING))
    assert len(speaker.told) == 2
    assert first.question
    assert first.question.choices == ("red", "blue")

    await client.answer(second.token, "any")
    told = await client.run_until_blocked(agent_of(), "another session in between")
    assert told.status == "completed"
    with pytest.raises(BlockedOnDeferredCalls):
        await client.resume(session)
    assert '{"answered":true,"answer":"any"}' in speaker.told[-1][-1]
    await client.answer(first.token, "2")

    assert '{"answered":true,"answer":"blue"}' in await client.resume(session)
    assert await faults_of(astore, session) == []


async def test_a_question_that_nobody_answers_in_time_is_told_and_a_late_answer_begins_nothing_by_force(
    client: Client, speaker: Speaker, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    speaker.makes(ask(timeout_seconds=1))
    session, [waiting] = await blocked(client, agent_of(**ASKING))
    async with orchestrating(settings, speaker):
        await run_ended(astore, session)
    assert '"answered":false' in speaker.told[-1][-1]

    assert (await client.answer(waiting.token, "red")).outcome == "mailed"
    await client.send(session, "go on")

    assert 'Late answer to your question "Which colour?": red' in await client.resume(session)


# ---- parameters


async def test_values_of_parameters_stand_with_the_session_and_can_be_set_later_where_their_scope_says_so(
    client: Client, astore: redis.asyncio.Redis
) -> None:
    parameters = [{"name": "region"}, {"name": "tone", "scope": "message", "default": {"tag": "Given", "contents": 1}}]
    agent = agent_of(parameters=parameters)

    session = await client.start(agent, parameters={"region": "eu"})
    started = await astore.hget(keys.session(session), "parameters")
    await client.send(session, "hello", parameters={"tone": [2]})
    changed = await astore.hget(keys.session(session), "parameters")

    assert (json.loads(started or ""), json.loads(changed or "")) == (
        {"region": "eu", "tone": 1},
        {"region": "eu", "tone": [2]},
    )
    with pytest.raises(ConfigError, match="region"):
        await client.start(agent)
    with pytest.raises(ConfigError, match="region"):
        await client.send(session, "hello", parameters={"region": "us"})


async def test_an_unknown_session_has_nothing_that_waits(client: Client) -> None:
    with pytest.raises(NotFound):
        await client.pending("nonsense")
