"""How late results are told, from the command line: what the model is sent, word for word."""

import json
import re
from typing import Any

from tests.acceptance.person import Here, agent_file
from tests.stub import Call, Received, Say, StubServer

AT_ONCE = {"toolCallPolicyConfig": {"default": {"tag": "runAsync", "attachSeconds": 0}}}
ALL_DONE = {**AT_ONCE, "asyncYieldStrategy": "yieldWhenAllDone"}


def fake(mode: str, provider_id: str, text: str = "") -> Call:
    return Call("bash_fake", json.dumps({"mode": mode, "text": text}), provider_id)


def news(received: Received) -> str:
    """The last message of a request, which is one of the user."""
    assert received.messages[-1]["role"] == "user"
    return str(received.messages[-1]["content"])


def ran(here: Here, stub: StubServer, *answers: Say, **agent: Any) -> list[Received]:
    """Run an agent of this kind to its end; the requests."""
    agent_file(here.folder / "agent.json", **agent)
    stub.program(list(answers))
    done = here.types("run", "agent.json", "go")
    assert (done.code, done.out) == (0, "done\n"), done.err
    return list(stub.journal)


def test_a_result_comes_as_an_event(here: Here, stub: StubServer) -> None:
    requests = ran(
        here, stub, Say("", (fake("pause", "call_abc"),)), Say("I wait."), Say("done"),
        **ALL_DONE, slug="events", delivery={"style": "event"},
    )  # fmt: skip

    assert news(requests[2]) == (
        "[event] job_completed job_id=call_abc tool=bash_fake status=done\n"
        "summary: rested\n"
        "details: get-tool-call-status(call_abc)"
    )


def test_each_request_tells_no_more_than_the_agent_says(here: Here, stub: StubServer) -> None:
    made = tuple(fake("pause", f"call_{number}") for number in range(3))
    requests = ran(
        here, stub, Say("", made), Say("I wait."), Say("one"), Say("two"), Say("done"),
        **ALL_DONE, slug="bounded", delivery={"maxItems": 1},
    )  # fmt: skip

    told = [re.findall(r"^tool_call_id (\w+)", news(request), re.MULTILINE) for request in requests[2:]]
    assert sorted(told) == [["call_0"], ["call_1"], ["call_2"]]


def test_a_result_has_the_heading_that_the_agent_gives_it(here: Here, stub: StubServer) -> None:
    requests = ran(
        here, stub, Say("", (fake("pause", "call_abc"),)), Say("I wait."), Say("done"),
        **ALL_DONE, slug="headed", delivery={"templates": {"newest": "{name} is back ({state}):"}},
    )  # fmt: skip

    assert news(requests[2]) == (
        "bash_fake is back (completed):\n\ntool_call_id call_abc (bash_fake) completed:\nrested"
    )


def test_a_digest_says_what_is_still_outstanding(here: Here, stub: StubServer) -> None:
    cancel = Call("cancel-tool-call", json.dumps({"tool_call_id": "call_sleep"}), "call_stop")
    requests = ran(
        here, stub, Say("", (fake("pause", "call_abc"), fake("sleep", "call_sleep"))), Say("I wait."),
        Say("", (cancel,)), Say("done"), **AT_ONCE, slug="digesting", registry={"digest": True},
    )  # fmt: skip

    told, _, digest = news(requests[2]).rpartition("\n\n")
    assert told.endswith("tool_call_id call_abc (bash_fake) completed:\nrested")
    assert re.fullmatch(
        r"Background tool calls still outstanding:\n"
        r"- call_sleep \(bash_fake\): running since \S+Z, last progress: sleeping",
        digest,
    )


def test_old_results_are_compacted_and_still_printed_and_exported_whole(here: Here) -> None:
    text = "a first line\n" + "and more\n" * 100
    turns = [Say("", (fake("say", f"call_{number}", text),)) for number in range(4)]
    with StubServer(stable_prefix=False) as endpoint:  # a compaction changes what was sent before
        here.having(OPENAI_BASE_URL=endpoint.url)
        requests = ran(
            here, endpoint, *turns, Say("done"), slug="compacting", delivery={"compactAfterTurns": 2},
            toolCallPolicyConfig={"default": {"tag": "runSync"}},
        )  # fmt: skip
        assert not endpoint.refusals

    results = [str(message["content"]) for message in requests[4].messages if message["role"] == "tool"]
    assert [result.partition(" [in short; get-tool-call-status(")[0] for result in results[:2]] == ["a first line"] * 2
    assert results[2:] == [text] * 2
    [row] = [row for row in here.types("session", "list", "--json").json if row["agent"] == "compacting"]
    printed = here.types("session", "print", row["session_id"], "--show-tool-call-results", "shown").out
    exported = here.types("session", "export", row["session_id"]).json
    assert printed.count("and more") == 4 * 100
    assert "Compaction\n\n_(From here on the model sees the results that it had before its answer 3" in printed
    assert [entry for entry in exported["entries"] if entry["kind"] == "compaction"] == [
        {"before": 3, "read_with": "get-tool-call-status", "kind": "compaction"}
    ]
    assert json.dumps(exported["entries"]).count("and more") == 2 * 4 * 100
