"""What a person sees on a real terminal at which nobody types."""

import contextlib
import json
import os
import pty
import subprocess
import threading
from collections.abc import Generator

from tests.acceptance.person import COMMAND, Person
from tests.stub import Call, Say, StubServer
from tests.waiting import eventually

SLEEP = Call("bash_fake", json.dumps({"mode": "sleep"}), "call_sleep")


class Terminal:
    """The other end of a terminal."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._seen: list[bytes] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        # the kernel answers EIO once nobody holds the other end
        with contextlib.suppress(OSError):
            while chunk := os.read(self._master, 65_536):
                self._seen.append(chunk)

    @property
    def text(self) -> str:
        """Everything that was written so far."""
        return b"".join(self._seen).decode(errors="replace")

    def close(self) -> None:
        """Wait until nobody writes any more."""
        self._reading.join(10)
        os.close(self._master)


@contextlib.contextmanager
def on_a_terminal(person: Person, *words: str) -> Generator[tuple[subprocess.Popen[bytes], Terminal]]:
    """A command whose stdout and stderr are a terminal."""
    master, slave = pty.openpty()
    environment = {**person.environment, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=person.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    terminal = Terminal(master)
    try:
        yield process, terminal
    finally:
        process.kill()
        process.wait()
        terminal.close()


def test_running_calls_stand_in_a_block_that_changes_in_its_place(user: Person, stub: StubServer) -> None:
    stub.program([Say("I \x1b]0;evil\x07sleep.", (SLEEP,))])

    with on_a_terminal(user.having(NO_COLOR="1"), "run", "agent.json", "please sleep") as (process, terminal):
        eventually(lambda: "call_sleep): running: sleeping" in terminal.text, within=30)
        process.send_signal(2)
        assert process.wait(30) == 130
        text = terminal.text

    assert "[Partial] > please sleep" in text
    assert "  ⏳ bash_fake (call_sleep): running: sleeping" in text
    assert "I sleep." in text
    assert "evil" not in text
    assert text.count("✗ bash_fake (call_sleep): cancelled") == 1
    assert "\x1b[3" not in text
