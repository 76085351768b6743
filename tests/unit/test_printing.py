"""A session as Markdown."""

import re

from hypothesis import given
from hypothesis import strategies as st

from errands_config.wire import CallState
from errands_orchestrator.printing import ELIDED, OpenCall, Printed, markdown
from errands_orchestrator.session import AssistantEntry, Entry, ShownCall, ToolMessage, ToolsEntry, UserEntry

ASKED = UserEntry("run the tests and the linter", from_person=True)
CALLED = AssistantEntry("On it.", (ShownCall("call_1", "lint", '{"path":"."}'), ShownCall("call_2", "run_tests", "{}")))
LINTED = ToolMessage("call_1", "c1", "lint", CallState.COMPLETED, "All checks passed!")
TESTING = ToolMessage("call_2", "c2", "run_tests", CallState.RUNNING, '{"status":"running"}', placeholder=True)
HALF = ToolsEntry((LINTED, TESTING))

PARTIAL = """\
## ⏸️ Step 3: Partial Turn (in progress)
_(Some tool calls had not finished when this turn was sent)_

### ⏳ Tool Call Status

- `lint` (`call_1`): completed
- `run_tests` (`call_2`): running (placeholder sent)
"""


def test_a_partial_turn_looks_as_the_contract_shows_it() -> None:
    printed = markdown(Printed((ASKED, CALLED, HALF), states={"c1": CallState.COMPLETED, "c2": CallState.RUNNING}))

    assert printed.endswith(PARTIAL)


def test_a_partial_turn_whose_calls_have_ended_is_not_in_progress_and_says_how() -> None:
    printed = markdown(Printed((ASKED, CALLED, HALF), states={"c2": CallState.TIMED_OUT}))

    assert "## ⏸️ Step 3: Partial Turn\n" in printed
    assert "- `run_tests` (`call_2`): running (placeholder sent); timed_out later\n" in printed


def test_a_turn_that_is_still_waited_for_is_a_partial_turn_too() -> None:
    waiting = (OpenCall("call_1", "lint", CallState.COMPLETED), OpenCall("call_2", "run_tests", CallState.QUEUED))

    printed = markdown(Printed((ASKED, CALLED), open_turn=waiting))

    assert "## ⏸️ Step 3: Partial Turn (in progress)\n" in printed
    assert printed.endswith("- `lint` (`call_1`): completed\n- `run_tests` (`call_2`): pending\n")


def test_a_turn_with_all_its_results_is_no_partial_turn() -> None:
    printed = markdown(Printed((ASKED, CALLED, ToolsEntry((LINTED,)))))

    assert "## Step 3: Tool Results\n\n- `lint` (`call_1`): completed\n" in printed
    assert "Partial" not in printed


def test_people_news_and_the_model_are_told_apart() -> None:
    entries = (ASKED, CALLED, UserEntry("Background tool calls finished"), AssistantEntry("Done."), AssistantEntry(""))

    heads = [line for line in markdown(Printed(entries)).splitlines() if line.startswith("## ")]

    assert heads == [
        "## Step 1: User",
        "## Step 2: Model",
        "## Step 3: News of Tool Calls",
        "## Step 4: Model",
        "## Step 5: Model",
    ]


def test_arguments_and_results_are_hidden_unless_they_are_asked_for() -> None:
    entries = (ASKED, CALLED, ToolsEntry((LINTED,)))

    hidden = markdown(Printed(entries))
    shown = markdown(Printed(entries, arguments="shown", results="shown"))

    assert '{"path":"."}' not in hidden
    assert "All checks" not in hidden
    assert '\n```\n{"path":"."}\n```\n' in shown
    assert "\n```\nAll checks passed!\n```\n" in shown


def test_an_elided_result_shows_its_beginning_and_its_size() -> None:
    long = ToolsEntry((ToolMessage("call_1", "c1", "lint", CallState.COMPLETED, "x" * 1000),))

    printed = markdown(Printed((long,), results="elided"))

    assert f"{'x' * ELIDED}… (1000 characters)" in printed
    assert "x" * (ELIDED + 1) not in printed


@given(st.text(alphabet="`a\n#", max_size=60))
def test_no_result_can_close_its_fence_and_pass_for_a_heading(text: str) -> None:
    entry: Entry = ToolsEntry((ToolMessage("call_1", "c1", "lint", CallState.COMPLETED, text),))

    printed = markdown(Printed((entry,), results="shown"))

    fences = re.findall(r"^(`{3,})$", printed, re.MULTILINE)
    assert fences[0] == fences[-1]
    assert printed.split(f"\n{fences[0]}\n")[1:-1] == [text] or text in printed
    assert fences[0] not in text


def test_a_call_that_the_model_does_not_wait_for_is_marked() -> None:
    entries = (AssistantEntry("", (ShownCall("call_1", "lint", "{}", is_async=True),)), UserEntry("hm"))
    assert "- `lint` (`call_1`): called; the model goes on without its result\n" in markdown(Printed(entries))
