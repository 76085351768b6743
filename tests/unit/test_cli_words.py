"""Exit codes, complaints, tables: the small pure parts of the command line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from errands_config.agent import parse_agent
from errands_config.errors import ConfigError, Conflict, ErrandsError, NotFound, NotSupportedYet, StoreUnreachable
from errands_config.wire import ToolOffer
from errands_orchestrator.catalogue import LiveOffer
from errands_orchestrator.cli.complaint import complaint_of
from errands_orchestrator.cli.ending import how_to_go_on
from errands_orchestrator.cli.exit_codes import MEANINGS, Exit, UsageError, exit_of
from errands_orchestrator.cli.output import table
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.tools import offered
from errands_orchestrator.cli.watching import Ending

OFFER = ToolOffer(name="lint", description="", parameters="{}", digest="a" * 64, kind="bash", agents=("demo",))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ErrandsError("x"), 1),
        (UsageError("x"), 2),
        (ConfigError("x"), 3),
        (NotSupportedYet("x"), 3),
        (NotFound("x"), 4),
        (Conflict("x"), 5),
        (StoreUnreachable("x"), 7),
    ],
)
def test_every_error_has_its_exit_code(error: ErrandsError, code: int) -> None:
    assert exit_of(error) == code


def test_every_exit_code_has_its_meaning_in_the_table() -> None:
    assert list(MEANINGS) == list(Exit)


def test_of_the_errors_of_parallel_parts_ours_is_told() -> None:
    group = ExceptionGroup("several", [ValueError("noise"), ExceptionGroup("more", [NotFound("no call 'x'")])])

    assert complaint_of(group).text == "no call 'x'"
    assert complaint_of(group).code is Exit.NOT_FOUND


def test_a_fault_of_ours_is_named_with_its_place_and_without_a_traceback() -> None:
    try:
        raise ValueError("broken")
    except ValueError as fault:
        complaint = complaint_of(fault)

    assert complaint.code is Exit.RUN_FAILED
    assert complaint.text.startswith("internal error: ValueError: broken (test_cli_words.py:")
    assert "\n" not in complaint.text


def test_a_table_is_aligned_and_has_no_blanks_at_its_ends() -> None:
    assert table([["a", "long one"], ["longer", "b"]], ("x", "y")) == "X       Y\na       long one\nlonger  b\n"


def test_a_paused_session_is_resumed_with_the_file_it_was_begun_with() -> None:
    told = how_to_go_on("s1", Ending("paused", "endpoint failed"), Path("agent.json"))

    assert told.endswith("errands session resume s1 --agent-file agent.json")


def test_tools_under_one_name_with_two_digests_are_a_conflict() -> None:
    other = replace(LiveOffer("w2", OFFER.model_copy(update={"digest": "b" * 64})))

    rows = offered([LiveOffer("w1", OFFER), LiveOffer("w3", OFFER), other])

    assert [(row["digest"], row["workers"], row["conflict"]) for row in rows] == [
        ("a" * 64, 2, True),
        ("b" * 64, 1, True),
    ]


@pytest.mark.parametrize(("concurrency", "slots"), [(1, "4"), (9, "9")])
def test_a_worker_of_our_own_has_at_least_four_slots_or_as_many_as_the_agent_may_use(
    concurrency: int, slots: str
) -> None:
    agent = parse_agent(json.dumps({"slug": "a", "maxConcurrency": concurrency}), origin="test")

    command = OwnWorker(agent, Path("/x/agent.json")).command

    assert command[-3:] == ["/x/agent.json", "--slots", slots]
