"""The job at somebody else's API, as its README says: also when a worker dies between its start and the deferral."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.acceptance.person import Person
from tests.acceptance.readme import reading

EXAMPLE = Path(__file__).parents[2] / "examples" / "remote-job"


def test_the_readme_of_the_remote_job_comes_true_and_no_job_is_started_twice(person: Person) -> None:
    service, receiver = free_addresses()
    with reading(person, EXAMPLE, RENDER_SERVICE=service, RENDER_RECEIVER=receiver) as reader:
        reader.plays()

        said = (person.folder / "service.log").read_text()
        started = [line for line in said.splitlines() if line.endswith(": started")]
        assert started == ["job R-1: started", "job R-2: started"]
        taken = (person.folder / "receiver.log").read_text().splitlines()
        assert sum(line.endswith(": completed") for line in taken) == 2


def free_addresses() -> tuple[str, str]:
    """Two addresses on this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [place.getsockname()[1] for place in (one, other)]
    return f"http://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
