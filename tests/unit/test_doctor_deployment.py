"""What the doctor says about this machine, the workers, the queues, and who steps sessions."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from errands_config.wire import ToolOffer
from errands_orchestrator.catalogue import LiveOffer
from errands_orchestrator.cli.checks.finding import Finding
from errands_orchestrator.cli.checks.home import PathFacts, home_findings, secret_finding
from errands_orchestrator.cli.checks.installation import KNOWN_BAD, installation_findings
from errands_orchestrator.cli.checks.model import ModelFacts, model_findings
from errands_orchestrator.cli.checks.stepping import SteppingFacts, stepping_findings
from errands_orchestrator.cli.checks.workers import (
    LiveWorker,
    QueueFacts,
    catalogue_findings,
    queue_findings,
    worker_findings,
)

OFFER = ToolOffer(name="lint", description="", parameters="{}", digest="a" * 64, kind="bash")
WORKER = LiveWorker("w1", "host", ("default",), "4", 100, frozenset({"lint", "test"}))


def troubles(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Level and text of what is not well; each says what to do about it."""
    assert all(bool(one.advice) is (one.level != "ok") for one in findings)
    return [(one.level, one.text) for one in findings if one.level != "ok"]


# ---- home and secret


@pytest.mark.parametrize(
    ("home", "ignored", "advice"),
    [
        (PathFacts("/h"), False, []),
        (PathFacts("/h", 0o40700), True, []),
        (PathFacts("/h", 0o40700), False, ["echo '*' > /h/.gitignore"]),
        (PathFacts("/h", 0o40755), True, ["chmod 700 /h"]),
        (PathFacts("/h", 0o40710), False, ["chmod 700 /h", "echo '*' > /h/.gitignore"]),
        (PathFacts("/h", 0o40700, ours=False), False, ["name a folder of your own in ERRANDS_HOME"]),
        (PathFacts("/h", 0o100600), True, ["name a folder of your own in ERRANDS_HOME"]),
    ],
)
def test_the_home_folder_is_for_its_owner_alone_and_for_no_repository(
    home: PathFacts, *, ignored: bool, advice: list[str]
) -> None:
    findings = list(home_findings(home, ignored=ignored))

    assert [one.advice for one in findings if one.level == "wrong"] == advice
    assert len(troubles(findings)) == len(advice)


KEY = PathFacts("/h/secret-key", 0o100600, size=32)


@pytest.mark.parametrize(
    ("file", "in_environment", "level", "word"),
    [
        (KEY, False, "ok", "for its owner alone"),
        (PathFacts("/h/secret-key"), False, "ok", "is made when a key is first needed"),
        (replace(KEY, mode=0o100644), True, "ok", "ERRANDS_SECRET_KEY"),
        (replace(KEY, mode=0o100644), False, "wrong", "mode 644"),
        (replace(KEY, mode=0o100620), False, "wrong", "others can make tokens"),
        (replace(KEY, ours=False), False, "wrong", "another user"),
        (replace(KEY, size=0), False, "wrong", "no file with a key"),
        (replace(KEY, mode=0o40700), False, "wrong", "no file with a key"),
        (replace(KEY, mode=0o120777), False, "wrong", "no file with a key"),
    ],
)
def test_a_secret_key_that_others_can_read_is_wrong(
    file: PathFacts, *, in_environment: bool, level: str, word: str
) -> None:
    finding = secret_finding(file, in_environment=in_environment)

    assert (finding.level, bool(finding.advice)) == (level, level != "ok")
    assert word in finding.text


# ---- installation and model

WANTED = [
    "celery[redis]<5.8,>=5.7",
    "redis<9,>=8.1",
    "openai<4,>=3.5; extra == 'orchestrator'",
    "flower>=2; extra == 'flower'",
]
ALL = {"celery": "5.7.1", "redis": "8.1.0", "openai": "3.50.0", "flower": "2.2"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"celery": ""}, [("wrong", "the package celery is missing")]),
        ({"redis": "7.0.0"}, [("wrong", f"redis 7.0.0 is installed, <9,>=8.1 is wanted: {KNOWN_BAD['redis'][1]}")]),
        ({"redis": "9.0"}, [("wrong", "redis 9.0 is installed, <9,>=8.1 is wanted")]),
        ({"openai": "2.9"}, [("wrong", "openai 2.9 is installed, <4,>=3.5 is wanted")]),
        ({"openai": ""}, [("note", "an orchestrator cannot run here: there is no package openai")]),
        ({"flower": ""}, [("note", "Flower cannot run here: there is no package flower")]),
    ],
)
def test_packages_that_are_missing_or_of_another_version_are_named(
    changed: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    installed = {name: version for name, version in {**ALL, **changed}.items() if version}

    assert troubles(list(installation_findings(WANTED, installed))) == expected


def test_what_can_run_here_is_said() -> None:
    [finding] = installation_findings(WANTED, ALL)

    assert finding.text == "can run here: a worker, an orchestrator, Flower"


def test_versions_that_are_known_to_break_are_not_those_that_the_project_wants() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    wanted: list[str] = project["project"]["dependencies"]

    for package, (bad, _) in KNOWN_BAD.items():
        assert any(text.startswith(package) and f">={bad.removeprefix('<')}" in text for text in wanted), package


GOOD_MODEL = ModelFacts("m", "https://api.example.com/v1", "OPENAI_BASE_URL", has_key=True)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"url": None}, []),
        ({"name": None}, ["note"]),
        ({"forbidden": True}, ["note"]),
        ({"has_key": False, "named_keys": ("a",)}, ["note"]),
        ({"url": "http://127.0.0.1:8000/v1", "reach": "here"}, []),
        ({"url": "http://model:8000/v1", "reach": "private"}, ["note"]),
        ({"url": "http://api.example.com/v1"}, ["wrong"]),
        ({"url": "api.example.com/v1"}, ["wrong"]),
        ({"url": "https://"}, ["wrong"]),
        ({"url": "https://host:port/v1"}, ["wrong"]),
        ({"url": "http://[::1"}, ["wrong"]),
    ],
)
def test_settings_of_the_model_endpoint_are_judged_without_a_request(
    changed: dict[str, object], expected: list[str]
) -> None:
    facts = replace(GOOD_MODEL, **changed)

    assert [level for level, _ in troubles(list(model_findings(facts)))] == expected


def test_no_finding_about_the_model_tells_a_login_that_stands_in_its_address() -> None:
    facts = replace(GOOD_MODEL, url="http://me:secret@api.example.com/v1")

    assert not any("secret" in one.text + one.advice for one in model_findings(facts))


# ---- workers, queues, catalogue


def test_a_worker_that_fell_silent_is_wrong() -> None:
    silent = replace(WORKER, silent_ms=60_000)

    assert troubles(list(worker_findings([WORKER, silent], 5_000))) == [
        ("wrong", "w1 on host: 4 slots on default; silent for 60 s")
    ]
    assert [level for level, _ in troubles(list(worker_findings([], 5_000)))] == ["note"]


SLOW = QueueFacts("slow", 3, oldest_ms=1_000, tools={"lint": 2, "test": 1})
SERVING = replace(WORKER, id="w2", queues=("default", "slow"))


@pytest.mark.parametrize(
    ("queue", "workers", "expected"),
    [
        (SLOW, [SERVING], []),
        (replace(SLOW, waiting=0), [], []),
        (SLOW, [WORKER], [("wrong", "calls waiting on queue slow: 3, and no worker serves it")]),
        (
            replace(SLOW, oldest_ms=120_000),
            [SERVING],
            [("note", "calls waiting on queue slow: 3, the first of them for 2 min")],
        ),
        (
            replace(SLOW, unpublished_ms=11_000),
            [SERVING],
            [("wrong", "calls waiting on queue slow: 3, one of them for 11 s without having been sent to the broker")],
        ),
        (replace(SLOW, unpublished_ms=9_000), [SERVING], []),
        (
            replace(SLOW, tools={"paint": 3}),
            [SERVING],
            [("wrong", "calls of paint waiting on queue slow: 3, and its workers do not offer it")],
        ),
        (
            SLOW,
            [SERVING, replace(SERVING, id="w3", tools=frozenset({"lint"}))],
            [
                ("note", "w3 on host serves queue slow without test, which others on it offer"),
            ],
        ),
        # one that has not said yet what it offers is not blamed for it
        (SLOW, [SERVING, replace(SERVING, id="w3", tools=frozenset())], []),
    ],
)
def test_calls_that_wait_for_nobody_or_long_are_found(
    queue: QueueFacts, workers: list[LiveWorker], expected: list[tuple[str, str]]
) -> None:
    assert troubles(list(queue_findings([queue], workers))) == expected


def test_tools_under_one_name_with_two_digests_are_told_with_their_workers() -> None:
    other = LiveOffer("w2", OFFER.model_copy(update={"digest": "b" * 64}))
    offers = [LiveOffer("w1", OFFER), LiveOffer("w3", OFFER), other]
    hosts = {"w1": "here", "w2": "there", "w3": "here"}

    assert troubles(list(catalogue_findings(offers, hosts))) == [
        ("wrong", "lint is offered in 2 versions: aaaaaaaa by w1 on here, w3 on here; bbbbbbbb by w2 on there")
    ]
    assert list(catalogue_findings(offers[:2], hosts)) == []


# ---- who steps


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (SteppingFacts(1), []),
        (SteppingFacts(1, overdue=2, session_late_ms=2_000, unswept=1, call_late_ms=2_000), []),
        (SteppingFacts(0), [("note", "no orchestrator is running")]),
        (
            SteppingFacts(1, overdue=2, session_late_ms=9_000),
            [("wrong", "sessions waiting to be stepped: 2, the first of them for 9 s")],
        ),
        (
            SteppingFacts(1, unswept=2, call_late_ms=9_000),
            [("wrong", "calls past their deadline or queue timeout: 2, by up to 9 s")],
        ),
    ],
)
def test_sessions_and_calls_that_nobody_looks_after_are_found(
    facts: SteppingFacts, expected: list[tuple[str, str]]
) -> None:
    assert troubles(list(stepping_findings(facts))) == expected


def test_what_is_late_although_somebody_steps_has_another_cure() -> None:
    late = SteppingFacts(1, overdue=1, session_late_ms=9_000)

    assert "look at their logs" in list(stepping_findings(late))[-1].advice
    assert "errands orchestrator" in list(stepping_findings(replace(late, orchestrators=0)))[-1].advice
