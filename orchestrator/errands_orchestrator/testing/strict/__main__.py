"""The endpoint as a process: `python -m errands_orchestrator.testing.strict --script FILE` prints its URL and serves.

It ends on SIGTERM or SIGINT. The journal file gets one JSON line for each request when it is over.
"""

from __future__ import annotations

import argparse
import json
import signal
from collections.abc import Callable
from pathlib import Path

from errands_orchestrator.testing.strict.journal import Received
from errands_orchestrator.testing.strict.script import answers_from
from errands_orchestrator.testing.strict.server import STRICT_KEY, StrictEndpoint


def main() -> None:
    """Serve until a signal comes."""
    options = argparse.ArgumentParser(
        prog="python -m errands_orchestrator.testing.strict",
        description="A local OpenAI-compatible endpoint for tests, as strict as the real one.",
    )
    options.add_argument(
        "--script", type=Path, required=True, help="what to answer: turns of a scripted model, with faults"
    )
    options.add_argument("--port", type=int, default=0, help="0: any free one")
    options.add_argument("--key", default=STRICT_KEY, help="the API key that clients must show")
    options.add_argument("--journal", type=Path, help="file that gets a JSON line for each request")
    given = options.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    note = _note_in(given.journal) if given.journal else None
    with StrictEndpoint(answers_from(given.script), key=given.key, port=given.port, on_end=note) as endpoint:
        print(endpoint.url, flush=True)  # noqa: T201 - whoever started it reads its address
        signal.sigwait({signal.SIGTERM, signal.SIGINT})


def _note_in(journal: Path) -> Callable[[Received], None]:
    def note(entry: Received) -> None:
        line = {
            "number": entry.number,
            "outcome": entry.outcome,
            "refusal": entry.refusal,
            "seconds": round((entry.ended or entry.began) - entry.began, 6),
            "request": entry.request,
            "body": entry.body.decode(errors="replace"),
        }
        with journal.open("a") as file:
            file.write(json.dumps(line) + "\n")

    return note


main()
