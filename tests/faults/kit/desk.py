"""The clerk's process, as the storm sees it."""

from __future__ import annotations

import subprocess
import sys

from tests.faults.kit.answers import Answer, answers_in
from tests.faults.kit.deployment import Deployment

_STOP_SECONDS = 30.0


class Desk:
    """Has a clerk at work."""

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self._file = deployment.folder / "answers"
        self.log = deployment.folder / "clerk.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.kit.clerk", str(seed), str(self._file)], cwd=deployment.folder,
                env={**deployment.variables, "ERRANDS_REDIS_URL": deployment.database.url}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
            )  # fmt: skip

    def close(self) -> list[str]:
        """Have the clerk end what it has begun; what is wrong with how it ended."""
        self._process.terminate()
        try:
            code = self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return ["the clerk waits for an answer"]
        return [f"the clerk ended with {code}: see {self.log.name}"] if code else []

    def answers(self) -> dict[str, tuple[Answer, ...]]:
        """What it was told, by call."""
        return answers_in(self._file)
