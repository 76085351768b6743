"""Names, references and equal calls at their edges: what a model may well write that nobody had in mind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis.asyncio
from tests.integration.errand import begin, call, calls, event_came, faults_of, orchestrating, run_ended, shown
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated, offer
from tests.integration.test_loop_dependencies import REFER, ran, result, work
from tests.integration.test_loop_registry import CANCEL, registry
from tests.integration.test_loop_waits import WAIT, messages_of, turns

from errands_config import keys
from errands_config.scripts.retention import forget_calls
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.wire import Claimed, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.models.model import ModelCall

ALL_DONE: dict[str, Any] = {"asyncYieldStrategy": "yieldWhenAllDone"}


async def echoing(worker: FakeWorker, call: Claimed) -> Outcome:
    return done(call.arguments)


async def test_a_handle_that_is_refused_names_the_call_that_it_is_bound_to(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(work("h", x=1), call("work", "call_2", task_handle="h", x=2), work("c", depends_on=["h"], x=3)))
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": 3}]


async def test_a_handle_of_an_earlier_turn_that_is_used_again_still_names_the_first_call(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(work("h", x=1)),
        calls(call("work", "call_2", task_handle="h", x=2), work("c", x=result("h"))),
    )
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": '{"x":1}'}]


@pytest.mark.parametrize("scope", ["name", "name_and_args"])
@pytest.mark.parametrize("policy", ["attach", "reject", "replace", "confirm"])
async def test_a_call_is_never_the_duplicate_of_one_that_waits_for_it(
    policy: str, scope: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(work("a", x=1, depends_on=["b"]), work("b", x=1)))
    more = registry(handles=True, onDuplicate=policy, duplicateScope=scope)
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, **ALL_DONE, **more)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": 1}]
    assert await faults_of(astore, sid) == []


async def test_a_circle_of_an_equal_call_and_a_dependency_is_no_circle(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(work("a", x=1, depends_on=["c"]), work("c", x=2, depends_on=["b"]), work("b", x=1)))
    more = registry(handles=True, onDuplicate="attach")
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, **ALL_DONE, **more)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": 2}, {"x": 1}]


async def test_what_is_left_of_an_alias_is_the_result_of_the_call_that_it_stands_for(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(work("a", x=1), work("b", x=1), work("c", x=result("b", "x")), work("d", x=result("b"))),
        calls(work("e", x=result("b", "x"))),
    )
    more = registry(handles=True, references=True, onDuplicate="attach")
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, **(ALL_DONE | more))
        await run_ended(astore, sid)
    # c and e are equal to a, but a has ended by then
    assert ran(worker) == [{"x": 1}, {"x": 1}, {"x": '{"x":1}'}, {"x": 1}]


async def test_what_depends_on_a_repeated_call_depends_on_the_first_one(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(work("a", x=1, idempotency_key="k")),
        calls(
            call("slow", "call_s", task_handle="s", x=9, idempotency_key="k2"),
            call("slow", "call_t", task_handle="t", x=9, idempotency_key="k2"),
            call("work", "call_r", task_handle="r", x=1, idempotency_key="k"),
            work("c", x=result("call_r", "x")),
            work("d", x=["d", result("call_t")]),
        ),
    )

    async def slow_waits(worker: FakeWorker, call: Claimed) -> Outcome:
        return await gated(worker, call) if call.tool == "slow" else done(call.arguments)

    async with orchestrating(settings, model), fake_worker(settings, tool=slow_waits) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await event_came(astore, sid, "tool_call.completed", 4)
        assert ran(worker)[0] == {"x": 1}
        worker.end('{"x":9}', done("nine"))
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": 9}, {"x": 1}, {"x": ["d", "nine"]}]


@pytest.mark.parametrize(
    "made",
    [
        call(WAIT, "call_w", timeout_seconds=result("a")),
        call(WAIT, "call_w", task_handles=result("a")),
        call(CANCEL, "call_w", tool_call_id=result("a")),
        call("ask-user", "call_w", task_handle="w", question=result("a")),
    ],
)
async def test_a_question_about_calls_takes_no_references(
    made: Any, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    boxes = [{"tag": "SystemToolbox", "contents": {"Capabilities": [WAIT, CANCEL, "ask-user"]}}]
    model = turns(calls(work("a", x=1), made))
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing):
        agent: dict[str, Any] = ALL_DONE | REFER | {"builtinToolboxes": boxes}
        sid = await begin(astore, **agent)
        await run_ended(astore, sid)
    assert (await messages_of(astore, sid))["call_w"].startswith("invalid arguments: ")


@pytest.mark.parametrize("depth", [300, 900, 985, 1000])
async def test_deep_arguments_and_results_break_nothing(
    depth: int, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    def deep(inner: str, levels: int) -> str:
        return f'{{"x":{"[" * levels}{inner}{"]" * levels}}}'

    async def digs(worker: FakeWorker, call: Claimed) -> Outcome:
        return done(deep("", depth) if call.arguments == '{"x":1}' else "ran")

    refers = deep('{"$result":"call_b","path":"x"}', 600)
    model = turns(calls(ModelCall("call_a", "work", deep("", depth)), call("work", "call_b", x=1),
                        ModelCall("call_c", "work", refers)))  # fmt: skip
    async with orchestrating(settings, model), fake_worker(settings, tool=digs):
        sid = await begin(astore, **ALL_DONE, **registry(references=True, onDuplicate="reject"))
        await run_ended(astore, sid)
    said = await messages_of(astore, sid)
    assert all(text == "ran" or "nested too deeply" in text or "leads nowhere" in text or name == "call_b"
               for name, text in said.items())  # fmt: skip
    assert await faults_of(astore, sid) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"x":"\\ud800"}', "x"),
        ('{"x":NaN}', "x"),
        ('{"x":Infinity}', "x"),
        ('{"x":1e999}', "x"),
        ('{"x":1}', "9" * 5000),
        ("[1]", "9" * 5000),
        ('{"x":' + "[" * 90000 + "]" * 90000 + "}", "x"),
        ('{"x":' + "9" * 5000 + "}", "x"),
        ("", "x"),
        ("no json", "x"),
    ],
    ids=range(10),
)
async def test_whatever_a_result_is_a_reference_into_it_is_data_or_skips_the_call(
    text: str, path: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    async def odd(worker: FakeWorker, call: Claimed) -> Outcome:
        return done(text if call.arguments == '{"x":0}' else call.arguments)

    model = turns(calls(work("a", x=0), work("b", x=result("a", path)), work("c", x=2, depends_on=["a"])))
    async with orchestrating(settings, model), fake_worker(settings, tool=odd) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await run_ended(astore, sid)
    assert {"x": 2} in ran(worker)
    assert "leads nowhere in the result of a" in (await messages_of(astore, sid))["call_b"]


async def test_a_result_that_retention_took_is_never_replaced_by_nothing(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    """A call waits for two, of which one has ended long ago."""
    policy = {"default": {"tag": "runAsync", "attachSeconds": 0}}
    model = turns(calls(work("a", x="a"), work("b", x="b"), work("c", x=[result("a"), result("b")])))

    async def b_waits(worker: FakeWorker, call: Claimed) -> Outcome:
        return await gated(worker, call) if call.arguments == '{"x":"b"}' else done(call.arguments)

    async with orchestrating(settings, model), fake_worker(settings, tool=b_waits) as worker:
        sid = await begin(astore, toolCallPolicyConfig=policy, **REFER)
        await event_came(astore, sid, "turn.completed", 3)
        cid = (await event_came(astore, sid, "tool_call.completed"))[0]["tool_call_id"]
        version = int(await astore.hget(keys.session(sid), "version") or 0)
        assert (await arun(astore, forget_calls(sid, version, [cid]))).outcome == "ok"
        worker.end('{"x":"b"}', done("b"))
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": "a"}, {"x": "b"}]
    assert "not run: " in await shown(astore, sid)


@pytest.mark.parametrize("kind", ["depends", "attach"])
async def test_a_stop_leaves_no_call_waiting_for_one_that_has_ended(
    kind: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    second = work("b", x=2, depends_on=["a"]) if kind == "depends" else work("b", x=1)
    model = turns(calls(work("a", x=1), second, work("c", x=3)))
    more = registry(handles=True, onDuplicate="attach")
    async with fake_worker(settings, tool=gated) as worker:
        async with orchestrating(settings, model):
            sid = await begin(astore, onRunFailure="keep", **ALL_DONE, **more)
            await event_came(astore, sid, "tool_call.started", 2)
        worker.end('{"x":1}', done("one"))
        await event_came(astore, sid, "tool_call.completed")
        await sessions.control(astore, sid, "stopRun")
        async with orchestrating(settings, model):
            await run_ended(astore, sid)
            worker.end('{"x":2}', done("two"))
            worker.end('{"x":3}', done("three"))
            await event_came(astore, sid, "tool_call.completed", 3)
    assert await faults_of(astore, sid) == []


ON: dict[str, Callable[[int], list[str]]] = {
    "all on one": lambda number: ["n0"],
    "in a chain": lambda number: [f"n{number - 1}"],
    "each on all before it": lambda number: [f"n{it}" for it in range(max(0, number - 100), number)],
}


@pytest.mark.parametrize(("how", "count"), [("all on one", 150), ("in a chain", 120), ("each on all before it", 120)])
async def test_a_turn_of_many_calls_runs_in_its_order_through_one_slot(
    how: str, count: int, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    made = [work(f"n{it}", x=it, depends_on=ON[how](it) if it else []) for it in range(count)]
    async with orchestrating(settings, turns(calls(*made))), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, maxConcurrency=1, **ALL_DONE, **REFER)
        await run_ended(astore, sid, within=60)
    assert [one["x"] for one in ran(worker)] == list(range(count))
    assert await faults_of(astore, sid) == []


async def test_a_synchronous_agent_refers_too(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(call("work", "call_b", x=result("call_a", "x")), call("work", "call_a", x=1)))
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, executionMode="synchronous", registry={"references": True})
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": 1}]


async def test_a_call_that_the_step_waits_for_refers_to_one_in_the_background(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("wait", "call_w", x=["w", result("a", "x")]), call("wait", "call_v", x=5), work("a", x=1)))
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await run_ended(astore, sid)
    assert {one.arguments for one in worker.claimed} == {'{"x":5}', '{"x":1}', '{"x":["w",1]}'}


@pytest.mark.parametrize(
    ("path", "brings"),
    [
        ("a.b", None), (".", 2), ("0", 3), ("a..b", 4), ("x.-1", None), ("x.00", {"y": {"$result": "a"}}),
        ("x.0.y", {"$result": "a"}),
    ],
)  # fmt: skip
async def test_a_path_is_keys_and_places_joined_by_dots(
    path: str, brings: Any, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    odd = {"a.b": 1, "": {"": 2}, "0": 3, "a": {"": {"b": 4}}, "x": [{"y": {"$result": "a"}}]}

    async def answers(worker: FakeWorker, call: Claimed) -> Outcome:
        return done(json.dumps(odd) if call.arguments == '{"x":0}' else call.arguments)

    model = turns(calls(work("a", x=0), work("b", x=[{"k": [result("a", path)]}])))
    async with orchestrating(settings, model), fake_worker(settings, tool=answers) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await run_ended(astore, sid)
    assert ran(worker)[1:] == ([] if brings is None else [{"x": [{"k": [brings]}]}])


async def test_a_reference_in_place_of_all_arguments_brings_an_object_or_nothing_runs(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    anything = offer("any", parameters="{}")
    policy = {"default": {"tag": "runAsync"}}

    def any_of(path: str) -> ModelCall:
        return call("any", f"call_{path}", task_handle=f"any_{path}", **result("a", path))

    model = turns(calls(work("a", x={"y": "no object"}), any_of("x"), any_of("x.y")))
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, "go", "work", anything, toolCallPolicyConfig=policy, **(ALL_DONE | REFER))
        await run_ended(astore, sid)
    assert ran(worker)[1:] == [{"y": "no object"}]
    assert (await messages_of(astore, sid))["call_x.y"] == "invalid arguments: a JSON object is expected"


async def test_what_is_too_much_for_arguments_is_refused_and_holds_up_nobody(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    large = json.dumps({"x": list(range(500_000)), "y": 7})

    async def answers(worker: FakeWorker, call: Claimed) -> Outcome:
        return done(large if call.arguments == '{"x":0}' else call.arguments)

    parts = [result("a", f"x.{place}") for place in range(200)]
    model = turns(calls(work("a", x=0), work("all", x=result("a")), work("parts", x=parts),
                        work("twice", x=[result("a", "x"), result("a", "x")])))  # fmt: skip
    async with orchestrating(settings, model), fake_worker(settings, tool=answers) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await run_ended(astore, sid)
    assert ran(worker)[1:] == [{"x": list(range(200))}]
    said = await messages_of(astore, sid)
    too_large = "invalid arguments: with the results in them they are over 1048576 bytes; refer to less"
    assert (said["call_all"], said["call_twice"]) == (too_large, too_large)


async def test_an_id_that_the_provider_counts_anew_in_each_answer_means_the_earlier_call(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    first = call("work", "call_0", task_handle="a", x=1)
    second = call("work", "call_0", task_handle="b", x=result("call_0"))
    model = turns(calls(first), calls(second))
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, **ALL_DONE, **REFER)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": '{"x":1}'}]
