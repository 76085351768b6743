"""`errands flower`: Flower on the store of the settings, behind a password, and for looking only."""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from errands_config.errors import ConfigError, Conflict, ErrandsError
from errands_config.settings import load_settings
from errands_config.store import store_url
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.exit_codes import Exit, UsageError
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_process import Process, environment_for_tools, start_process
from errands_orchestrator.cli.stop_requests import StopRequests, stop_requests

LOGIN = "FLOWER_BASIC_AUTH"
"""Flower's own variable: `user:password`, or several with commas between."""
USER = "errands"
MOST_TASKS = 20_000
"""Tasks that Flower remembers; its own 100,000 take a gigabyte."""
STOP_SECONDS = 10.0
_POLL_SECONDS = 0.1
_SECRETS = {"basic_auth": LOGIN, "cookie_secret": "FLOWER_COOKIE_SECRET", "oauth2_secret": "FLOWER_OAUTH2_SECRET"}
"""Options of Flower that a process list would show to everyone, and the variables that it reads instead."""


def flower(
    *options: Annotated[str, Parameter(help="Further options of Flower, after `--`.", allow_leading_hyphen=True)],
    port: Annotated[int, Parameter(help="Port to listen on.", validator=Number(gte=1, lte=65_535))] = 5555,
    address: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
) -> int:
    """Show workers and tasks on web pages, until Ctrl-C. Its help page stands in `root.py`."""
    if not _is_installed():
        raise ConfigError("Flower is not installed: pip install 'errands[flower]'")
    _check_options(options)
    _check_port(address, port)
    with stop_requests() as requests, reached(load_settings()) as there:
        login = login_of(os.environ, options)
        say(f"Flower: http://{address}:{port}{_told(login)}")
        # an embedded store is named, too: Flower is no user of it, we are
        environment = {**environment_for_tools(there), "ERRANDS_REDIS_URL": store_url(there.settings), **login}
        return _ended(start_process(_command(options, address, port), environment, None), requests)


def _is_installed() -> bool:
    found = importlib.util.find_spec("flower")
    return found is not None and found.origin is not None  # without one it is a folder of that name beside us


def _check_options(options: Sequence[str]) -> None:
    for option in options:
        name = option.removeprefix("--").partition("=")[0].replace("-", "_")
        if not option.startswith("--"):
            raise UsageError(f"{option!r} is no option of Flower: they look like --name=value")
        if name in _SECRETS:
            raise UsageError(f"--{name}: everyone on this machine can read command lines; set {_SECRETS[name]} instead")


def _check_port(address: str, port: int) -> None:
    try:
        family, kind, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as refused:
        raise Conflict(f"cannot listen on {address}:{port} ({refused.strerror}); name another --port") from None


def login_of(environment: Mapping[str, str], options: Sequence[str]) -> dict[str, str]:
    """What the environment of Flower needs so that nobody gets in without a login.

    Nothing where the user has set one, or has Flower ask somebody else (`--auth`); else one with a fresh password.
    Raises ConfigError for a login without a password.
    """
    given = environment.get(LOGIN, "")
    if any(not user or not password for user, _, password in (one.partition(":") for one in given.split(",") if given)):
        raise ConfigError("user:password is expected", path=LOGIN)
    asks_others = environment.get("FLOWER_AUTH") or any(option.startswith("--auth=") for option in options)
    return {} if given or asks_others else {LOGIN: f"{USER}:{secrets.token_urlsafe(16)}"}


def _told(login: Mapping[str, str]) -> str:
    if not login:
        return ""
    user, _, password = login[LOGIN].partition(":")
    return f", user {user}, password {password} (set {LOGIN}=user:password for one of your own)"


def _command(options: Sequence[str], address: str, port: int) -> list[str]:
    """Later options count. A flowerconfig.py that lies about is not run: it could open what is closed here."""
    ours = [f"--port={port}", f"--address={address}", "--read-only=True", f"--max-tasks={MOST_TASKS}"]
    celery = [sys.executable, "-m", "celery", "-A", "errands_workers"]
    return [*celery, "flower", f"--conf={os.devnull}", *ours, *options]


def _ended(process: Process, requests: StopRequests) -> Exit:
    """Wait for its end, or end it when asked to. Raises ErrandsError if it ends by itself."""
    while not requests.count:
        try:
            code = process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        raise ErrandsError(f"Flower ended with exit code {code}; what it said stands above")
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return Exit.OK
