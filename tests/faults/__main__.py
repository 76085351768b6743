"""`python -m tests.faults --seed 7 --minutes 3`: one run of the fault kit. Its last line is a summary.

Exit code 0: everything held. 1: it did not, and the folder with every log is kept and named.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.faults.kit.storm import Weather, run_storm
from tests.faults.kit.summary import report_text

SESSIONS_A_MINUTE = 100 / 3


def main() -> int:
    """Run, tell, and keep the logs if something did not hold."""
    asked = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    asked.add_argument("--seed", type=int, default=1, help="what decides about everything but the timing")
    asked.add_argument("--minutes", type=float, default=3.0, help="how long faults happen")
    asked.add_argument("--sessions", type=int, help="how many; left out: 100 in 3 minutes")
    asked.add_argument("--keep", action="store_true", help="keep the folder with the logs in any case")
    wanted = asked.parse_args()
    sessions = wanted.sessions or max(6, round(wanted.minutes * SESSIONS_A_MINUTE))
    folder = Path(tempfile.mkdtemp(prefix="errands-faults-"))
    report = run_storm(Weather(wanted.seed, wanted.minutes, sessions), folder)
    if report.held and not wanted.keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        sys.stdout.write(f"logs: {folder}\n")
    sys.stdout.write(report_text(report) + "\n")
    return 0 if report.held else 1


if __name__ == "__main__":
    sys.exit(main())
