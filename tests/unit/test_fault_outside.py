"""The checker of the fault kit, where calls were deferred: each thing that must hold is seen when it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.kit.answers import Answer, Verb, answers_in, append
from tests.faults.kit.evidence import CallEvidence
from tests.faults.kit.outside import of_deferred, of_reading


def taken(verb: Verb, text: str = "") -> Answer:
    return Answer(call="c1", verb=verb, text=text, is_taken=True)


def refused(verb: Verb, text: str = "") -> Answer:
    return Answer(call="c1", verb=verb, text=text, is_taken=False, why="it had another answer")


DONE = taken("complete", "effect k1. first")
ENDED = CallEvidence(
    "c1",
    1,
    "bash_asked_once",
    "p1",
    "k1.",
    "completed",
    1,
    0,
    deferrals=1,
    answers=(DONE, refused("deny", "denied k1.")),
)
RUN = replace(ENDED, starts=(2,), ends=(2,), answers=(taken("approve"), taken("approve"), refused("cancel")))


def found(call: CallEvidence) -> str:
    return "\n".join(of_deferred(call))


@pytest.mark.parametrize(
    "call",
    [
        ENDED,
        RUN,
        replace(ENDED, answers=(DONE, DONE)),
        replace(RUN, state="orphaned"),
        replace(RUN, state="cancelled", answers=(taken("approve"), taken("cancel"))),
        replace(ENDED, state="cancelled", answers=(refused("complete", "effect k1. first"), taken("cancel"))),
        replace(ENDED, state="cancelled", answers=(refused("complete", "effect k1. first"), refused("cancel"))),
    ],
)
def test_a_call_that_ended_as_its_receipts_say_has_no_findings(call: CallEvidence) -> None:
    assert found(call) == ""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (replace(ENDED, deferrals=2), "was deferred 2 times"),
        (replace(ENDED, answers=()), "was deferred, and nobody was asked"),
        (replace(ENDED, answers=(DONE, taken("deny", "no"))), "took answers that differ: complete, deny"),
        (replace(ENDED, answers=(DONE, taken("complete", "else"))), "took answers that differ: complete, complete"),
        (replace(ENDED, answers=(DONE, refused("complete", DONE.text))), "took an answer and refused it as well"),
        (replace(ENDED, answers=(refused("fail", "no"),)), "took no answer and is completed"),
        (replace(ENDED, state="failed"), "is failed, though a receipt says complete"),
        (replace(ENDED, answers=(DONE, taken("cancel"))), "is completed, though a receipt says cancel"),
        (replace(RUN, state="cancelled", answers=(taken("approve"),)), "was cancelled, though nobody asked for it"),
        (replace(ENDED, starts=(1,)), "was started, though nobody gave leave"),
    ],
)
def test_a_call_that_did_not_is_found(call: CallEvidence, said: str) -> None:
    assert said in found(call)


def test_an_answer_that_was_taken_is_read_once_and_one_that_was_refused_never() -> None:
    assert list(of_reading(ENDED, ["effect k1. first"])) == []
    assert list(of_reading(ENDED, [])) == ["an answer that was taken stands 0 times: effect k1. first"]
    assert list(of_reading(ENDED, ["effect k1. first", "denied k1."])) == [
        "an answer that was refused stands 1 times: denied k1."
    ]


def test_what_the_clerk_was_told_is_read_back_by_call(tmp_path: Path) -> None:
    other = Answer(call="c2", verb="cancel", is_taken=False, why="it had ended")
    for answer in (DONE, other, DONE):
        append(tmp_path / "answers", answer)

    assert answers_in(tmp_path / "answers") == {"c1": (DONE, DONE), "c2": (other,)}
    assert answers_in(tmp_path / "none") == {}
