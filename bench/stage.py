"""What a figure is measured on: one store, and beside it the product's worker and the baseline's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from bench.baseline_celery import CeleryBaseline, celery_baseline
from errands_config import keys
from errands_config.embedded import embedded_store
from errands_config.settings import Durability, Settings
from errands_config.store import plain

ROOT = Path(__file__).parents[1]
Transport: TypeAlias = Literal["unix", "tcp"]
"""How all sides reach the store: over its socket in the file system, or over loopback."""
_FSYNC: dict[Durability, str] = {"fast": "everysec", "durable": "always"}


@dataclass(frozen=True, slots=True)
class Store:
    """A store of this run's own."""

    settings: Settings
    pid: int

    def be(self, durability: Durability) -> None:
        """Write to disk as that mode does, for whoever uses the store from now on."""
        with plain(self.settings) as client:
            client.config_set("appendfsync", _FSYNC[durability])


@dataclass(frozen=True, slots=True)
class Stage:
    """Both sides, ready."""

    store: Store
    baseline: CeleryBaseline
    worker: int
    """Process id of the product's worker: of its launcher."""
    transport: Transport


@contextmanager
def own_store(transport: Transport = "unix") -> Generator[Store]:
    """An embedded Valkey in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="errands-bench-") as folder, embedded_store(Path(folder) / "home") as url:
        settings = Settings(home=Path(folder) / "home", redis_url=url)
        with plain(settings) as client:
            pid = int(client.info("server")["process_id"])
        yield Store(settings if transport == "unix" else _on_loopback(settings), pid)


def _on_loopback(settings: Settings) -> Settings:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    with plain(settings) as client:
        client.config_set("bind", "127.0.0.1")
        client.config_set("port", str(port))
    return settings.at(f"redis://127.0.0.1:{port}/0")


@contextmanager
def stage(slots: int, transport: Transport) -> Generator[Stage]:
    """A store with one worker of each side, equally many slots each."""
    with (
        own_store(transport) as store,
        product_worker(store.settings, slots) as worker,
        celery_baseline(store.settings, slots) as baseline,
    ):
        yield Stage(store, baseline, worker, transport)


@contextmanager
def product_worker(settings: Settings, slots: int) -> Generator[int]:
    """`errands worker` with the tools of the benchmark; its process id, once it offers them."""
    command = [sys.executable, "-m", "errands_workers", "--module", "bench.tools"]
    command += ["--tools", str(ROOT / "bench/scripts"), "--slots", str(slots)]
    environment = os.environ | {"ERRANDS_REDIS_URL": settings.redis_url or "", "ERRANDS_HOME": str(settings.home)}
    log = settings.home / "worker.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        _wait_for_offers(settings, process, log)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def _wait_for_offers(settings: Settings, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + 60
    with plain(settings) as client:
        while not any(client.exists(keys.catalogue(str(worker))) for worker in client.zrange(keys.WORKERS, 0, -1)):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"the worker does not come up: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
