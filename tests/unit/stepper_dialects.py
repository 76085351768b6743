"""What a request of each dialect must look like: held against rules that share no code with what is tested."""

from __future__ import annotations

import json

from errands_orchestrator.brief import Brief
from errands_orchestrator.testing.strict.response_request import check_response_request
from errands_orchestrator.transcript import tools_body


def check_acceptable(brief: Brief, messages: bytes) -> None:
    """Raise what says why the API would refuse these messages."""
    if brief.dialect == "chat":
        check_chat(messages)
    else:
        check_response_request(b'{"model":"m","tools":%b,"input":%b}' % (tools_body(brief), messages))


def check_chat(messages: bytes) -> None:
    """Each call has its message right behind it."""
    due: list[str] = []
    for message in json.loads(messages):
        if due:
            assert (message["role"], message["tool_call_id"]) == ("tool", due.pop(0))
            continue
        assert message["role"] in ("system", "user", "assistant")
        due = [call["id"] for call in message.get("tool_calls", ())]
        assert len(set(due)) == len(due)
    assert not due
