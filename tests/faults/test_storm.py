"""One run of the fault kit, short enough for every day: all kinds of faults over a whole deployment."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.kit.storm import Weather, run_storm
from tests.faults.kit.summary import report_text

SEED = 7
MINUTES = 0.6
SESSIONS = 16


@pytest.mark.timeout(300)
def test_nothing_is_lost_and_nothing_run_twice_while_every_part_may_die(tmp_path: Path) -> None:
    told: list[str] = []

    report = run_storm(Weather(SEED, MINUTES, SESSIONS, settle_seconds=120), tmp_path, told.append)

    assert report.held, "\n".join([*told, report_text(report)])
