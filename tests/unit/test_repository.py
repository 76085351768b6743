"""The files beside the code: the front door, the lock, the build."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_ci_calls_exactly_the_test_command_of_the_readme() -> None:
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make")]

    assert commands == ["make test"]
    assert "make test" in (ROOT / "README.md").read_text()


def test_the_lock_has_a_hash_for_everything_and_names_no_address() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    packages = re.findall(r"^[a-z0-9-]+==", lock, re.MULTILINE)

    assert len(packages) > 30
    assert lock.count("--hash=") >= len(packages)
    assert "://" not in lock
    assert "index-url" not in lock


def test_every_dependency_is_in_the_lock() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["orchestrator"],
        *project["project"]["optional-dependencies"]["flower"],
        *project["dependency-groups"]["dev"],
    ]
    names = {re.split(r"[\[<>=; ]", text)[0].lower() for text in wanted}
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))

    assert names - locked == set()


def test_decision_records_are_short_and_say_what_was_rejected() -> None:
    for record in sorted((ROOT / "docs/decisions").glob("[0-9]*.md")):
        text = record.read_text()
        assert text.count("\n") <= 60, record
        for part in ("## Context", "## Decision", "## Consequences", "## Rejected"):
            assert part in text, (record, part)
