"""The stub as a process: `python -m tests.stub --script FILE [--port N] [--journal FILE]` prints its URL and serves.

It ends on SIGTERM or SIGINT. The journal file gets one JSON line for each request when it is over.
"""

from __future__ import annotations

import argparse
import json
import signal
from collections.abc import Callable
from pathlib import Path

from tests.stub.journal import Received
from tests.stub.script import answers_from
from tests.stub.server import STUB_KEY, StubServer


def main() -> None:
    """Serve until a signal comes."""
    options = argparse.ArgumentParser(prog="python -m tests.stub", description="A strict local OpenAI-compatible stub.")
    options.add_argument("--script", type=Path, required=True, help="what to answer; see tests/stub/script.py")
    options.add_argument("--port", type=int, default=0, help="0: any free one")
    options.add_argument("--key", default=STUB_KEY, help="the API key that clients must show")
    options.add_argument("--journal", type=Path, help="file that gets a JSON line for each request")
    given = options.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    note = _note_in(given.journal) if given.journal else None
    with StubServer(answers_from(given.script), key=given.key, port=given.port, on_end=note) as stub:
        print(stub.url, flush=True)
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
