"""The reference pages are what the code says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from docs.generate.events import CALL_WORDS, RUN_WORDS, call_kinds, run_kinds
from docs.generate.log_lines import PACKAGES, WORDS, log_lines_of
from docs.generate.pages import FOLDER, PAGES
from tests.unit.stepper_driver import Driver, call, control, finished, said

from errands_orchestrator.arrivals import Acquired, AskFailed
from errands_orchestrator.decisions import Event


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_what_the_code_makes_now(name: str) -> None:
    made: Callable[[], str] = PAGES[name]

    assert (FOLDER / name).read_text() == made(), "run `make docs`"


def test_no_page_of_the_reference_is_written_by_hand() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_every_event_has_its_words() -> None:
    assert set(RUN_WORDS) == set(run_kinds())
    assert set(CALL_WORDS) == set(call_kinds())


@pytest.mark.parametrize("side", PACKAGES)
def test_every_log_line_has_its_words(side: str) -> None:
    without = [line.kind for line in log_lines_of(side) if not line.words]

    assert without == [], "say what they mean in WORDS of docs/generate/log_lines.py, then `make docs`"


def test_no_words_are_kept_for_a_line_that_is_not_written_any_more() -> None:
    assert set(WORDS) == {line.kind for side in PACKAGES for line in log_lines_of(side)}


def everything_that_happens_to_a_run() -> list[Event]:
    driver = Driver()
    told: list[Event] = []
    for arrivals in (
        (Acquired(), said("go")),
        (AskFailed("busy", retryable=True),),
        (control("pause"),),
        (control("resume"),),
        (driver.answer(call("work"), call("gate")),),
        (finished("c1"),),
        (finished("c2"),),
        (driver.answer(text="done"),),
    ):
        driver.take(*arrivals)
        told += driver.last.events
    return told


def test_the_events_of_a_run_have_the_facts_that_their_page_lists() -> None:
    told = {event.kind: tuple(name for name, _ in event.facts) for event in everything_that_happens_to_a_run()}

    assert told == {kind: tuple(facts) for kind, (_, facts) in RUN_WORDS.items()}
