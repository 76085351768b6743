"""Ways to break the Responses dialect."""

from __future__ import annotations

from tests.mutants.breakage import ORCHESTRATOR, Breakage

_DIALECTS = ("tests/integration/test_loop_dialects.py",)

OF_DIALECTS: tuple[Breakage, ...] = (
    Breakage(
        "answer a wait before the results that it waited for",
        f"{ORCHESTRATOR}/attach.py",
        "in_order.sort(key=lambda message: message.name == WAIT)",
        "in_order.sort(key=lambda message: message.name != WAIT)",
        _DIALECTS,
    ),
    Breakage(
        "give an asynchronous call a placeholder",
        f"{ORCHESTRATOR}/attach.py",
        "        elif call.is_async:\n            owed.append(call)\n            continue\n",
        "",
        _DIALECTS,
    ),
    Breakage(
        "tell a late output as a notice too",
        f"{ORCHESTRATOR}/late_outputs.py",
        "return replace(session, calls=calls), ",
        "return session, ",
        ("tests/unit/test_stepper_dialect.py",),
    ),
    Breakage(
        "take the id of an earlier call",
        f"{ORCHESTRATOR}/made_call.py",
        "seen, taken = set(used), {*plain, *used}",
        "seen, taken = set[str](), set(plain)",
        _DIALECTS,
    ),
    Breakage(
        "leave a call open that the model does not know as asynchronous",
        f"{ORCHESTRATOR}/made_call.py",
        "is_async = call.is_async and call.name in brief.async_names",
        "is_async = call.name in brief.async_names",
        ("tests/unit/test_stepper_dialect.py",),
    ),
    Breakage(
        "say of a wait what the session does not know yet",
        f"{ORCHESTRATOR}/capabilities/wait.py",
        "row.state.is_final and row.id not in running",
        "row.state.is_final",
        _DIALECTS,
    ),
    Breakage(
        "have the endpoint keep the conversation",
        f"{ORCHESTRATOR}/models/responses.py",
        """also=b',"store":false'""",
        """also=b''""",
        ("tests/integration/test_responses_model.py",),
    ),
    Breakage(
        "let the API demand every argument",
        f"{ORCHESTRATOR}/transcript_responses.py",
        '"strict": False,',
        '"strict": True,',
        ("tests/unit/test_transcript_responses.py",),
    ),
)
