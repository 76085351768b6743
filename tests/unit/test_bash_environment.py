"""What a script sees of the worker."""

from errands_config.wire import CallPolicy, Claimed
from errands_workers.kinds.environment import call_environment, clean_environment

CLAIMED = Claimed(
    call="c", session="s", conversation="k", agent="", tool="t", provider_id="p", arguments="{}",
    policy=CallPolicy(timeout_seconds=1, queue_timeout_seconds=1), attempt=2, token="secret", deadline_ms=1000,
)  # fmt: skip


def test_only_what_any_program_needs_is_passed_on():
    own = {
        "PATH": "/bin",
        "HOME": "/home/a",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "k",
        "ERRANDS_REDIS_URL": "r",
        "FOO": "1",
    }
    assert clean_environment(own) == {"PATH": "/bin", "HOME": "/home/a", "LC_ALL": "C"}
    assert clean_environment({})["PATH"]


def test_a_call_is_named_without_its_token_and_what_is_unknown_is_left_out():
    assert call_environment(CLAIMED, "w") == {
        "ERRANDS_SESSION_ID": "s", "ERRANDS_TOOL_CALL_ID": "c", "ERRANDS_ATTEMPT": "2", "ERRANDS_WORKER": "w",
        "AGENT_SESSION_ID": "s", "AGENT_CONVERSATION_ID": "k",
    }  # fmt: skip
