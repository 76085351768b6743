"""`errands agent explain`: which rule and wrappers a call meets, and why it does not meet the others."""

from __future__ import annotations

import json

import pytest
from tests.acceptance.person import Done, Here, agent_file
from tests.unit.agent_file_texts import SEED_WRAPPERS

LABELLED = {"tag": "decorate", "decorators": [{"tag": "label", "label": "gate"}]}
DEFER = {"tag": "defer", "reason": "a person decides", "expiresSeconds": 60}
POLICY = {**SEED_WRAPPERS, "rules": [{"tool": "bash_deploy", "disposition": {**LABELLED, "inner": DEFER}}]}


@pytest.fixture
def guarded(here: Here) -> Here:
    """Somebody with an agent file whose policy is that of the first seed, and a rule."""
    agent_file(here.folder / "guarded.json", executionMode="asynchronous", toolCallPolicyConfig=POLICY)
    return here


def explained(person: Here, tool: str, **arguments: object) -> Done:
    return person.types("agent", "explain", "guarded.json", "--tool", tool, "--args", json.dumps(arguments))


def test_the_way_to_the_tool_is_told_from_the_outside_in_with_what_is_not_on_it(guarded: Here) -> None:
    done = explained(guarded, "bash_deploy", env="production", command="ls")

    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "bash_deploy, from the outside to the tool:",
        "  wrappers[2]  before hook hooks/approve",
        '  rules[0]     label label="gate"',
        '               defer reason="a person decides" expiresSeconds=60',
        "does not apply:",
        '  wrappers[0].match.tool  "bash_deploy" is not like "http_*"',
        '  wrappers[1].match.args  command is "ls", which is not like "rm *"',
        "the call's policy:",
        "  disposition            defer",
        "  timeout_seconds        86400",
        "  queue_timeout_seconds  3600",
        '  defer                  {"reason":"a person decides","expires_seconds":60.0}',
        "  label                  gate",
        "  may_defer              true",
    ]


def test_a_tool_that_no_rule_names_is_told_to_have_the_default(guarded: Here) -> None:
    lines = explained(guarded, "http_get", dry_run=True).out.splitlines()

    assert lines[1:4] == [
        "  wrappers[0]  retries count=2",
        "               timeout seconds=30",
        "  default      runSync (no rule names this tool)",
    ]
    assert [line.split()[0] for line in lines[5:8]] == [
        "wrappers[1].match.tool", "wrappers[2].match.args.all[0]", "wrappers[2].match.args.all[1].not",
    ]  # fmt: skip


def test_no_terminal_obeys_what_stands_in_the_arguments(guarded: Here) -> None:
    done = explained(guarded, "deploy", env="\x1b[31mred")

    assert "\x1b" not in done.out
    assert 'not "production"' in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--tool", "bash_*"), "--tool takes the exact name of one tool"),
        (("--tool", "ask-user"), "ask-user is a capability"),
        (("--tool", "t", "--args", "{"), "--args: not valid JSON at line 1, column 2"),
        (("--tool", "t", "--args", "[]"), "--args: a JSON object is expected"),
        (("--tool", "t", "--args", " "), "--args: a JSON object is expected"),
        (("--tool", "t", "--args", "null"), "--args: a JSON object is expected"),
        (("--tool", "t", "--args", "[" * 100_000), "--args: not valid JSON"),
        (("--tool", "t", "--args", '{"a": NaN}'), "--args: not valid JSON at line 1, column 7"),
        (("--tool", "t", "--args", '{"a": "\\ud800"}', "--json"), "--args: not valid JSON"),
        (("--tool", "t", "--args", '{"a": 1, "a": 2}'), "--args: a key stands there twice"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_plain_words(guarded: Here, words: tuple[str, ...], says: str) -> None:
    done = guarded.types("agent", "explain", "guarded.json", *words)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"errands: {says}")


def test_a_mistake_in_the_file_is_named_as_everywhere(guarded: Here) -> None:
    agent_file(guarded.folder / "guarded.json", toolCallPolicyConfig={"wrapers": []})

    done = explained(guarded, "t")

    assert (done.code, done.out) == (3, "")
    assert 'toolCallPolicyConfig.wrapers: unknown key (did you mean "wrappers"?)' in done.err


def test_agent_check_notes_a_defer_that_does_not_act(guarded: Here) -> None:
    agent_file(guarded.folder / "guarded.json", executionMode="synchronous", toolCallPolicyConfig={"default": DEFER})

    done = guarded.types("agent", "check", "guarded.json")

    assert done.code == 0
    assert done.err.splitlines()[0] == "guarded.json: ok, agent tester"
    assert 'guarded.json: note: toolCallPolicyConfig.default: a "defer" does not act' in done.err
    [row] = guarded.types("agent", "check", "guarded.json", "--json").json
    assert (row["ok"], len(row["notes"])) == (True, 1)
