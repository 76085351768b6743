"""The folder of local state, the deployment's secret key and the file of a worker's secrets. Pure."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass

from errands_orchestrator.cli.checks.finding import Finding


@dataclass(frozen=True, slots=True)
class PathFacts:
    """A folder or a file that may not exist: `mode` (as `stat` gives it) is None then."""

    path: str
    mode: int | None = None
    ours: bool = True
    size: int = 0

    @property
    def open_to_others(self) -> bool:
        """Whether somebody else on this machine may read, write or enter it."""
        return self.mode is not None and bool(stat.S_IMODE(self.mode) & 0o077)


def home_findings(home: PathFacts, *, ignored: bool) -> Iterator[Finding]:
    """The folder of local state. `ignored`: whether a `.gitignore` in it keeps all of it out of repositories."""
    yield home_finding(home)
    if home.mode is not None and home.ours and not ignored:
        text = f"{home.path} has no .gitignore that ignores all of it: conversations could be committed"
        yield Finding("home", "wrong", text, f"echo '*' > {home.path}/.gitignore")


def home_finding(home: PathFacts) -> Finding:
    """Whether it is for its owner alone."""
    if home.mode is None:
        return Finding("home", "ok", f"{home.path} will be made when it is needed")
    if not stat.S_ISDIR(home.mode):
        return Finding("home", "wrong", f"{home.path} is no folder", "name a folder of your own in ERRANDS_HOME")
    if not home.ours:
        text = f"{home.path} belongs to another user"
        return Finding("home", "wrong", text, "name a folder of your own in ERRANDS_HOME")
    if home.open_to_others:
        text = f"{home.path} has mode {_octal(home)}: others can read conversations"
        return Finding("home", "wrong", text, f"chmod 700 {home.path}")
    return Finding("home", "ok", f"{home.path} is for its owner alone")


def secret_finding(file: PathFacts, *, in_environment: bool) -> Finding:
    """The key that continuation tokens are made with: a variable, or a file for its owner alone."""
    if in_environment:
        return Finding("secret", "ok", "the key comes from ERRANDS_SECRET_KEY")
    if file.mode is None:
        return Finding("secret", "ok", f"no key yet: {file.path} is made when a key is first needed")
    return _private_finding(
        "secret", file, holds="a key", if_none="remove it: it is made when a key is first needed",
        instead="set ERRANDS_SECRET_KEY", harm="others can make tokens with it", renew="a new key",
    )  # fmt: skip


def secrets_file_finding(file: PathFacts) -> Finding:
    """The file of ERRANDS_SECRETS_FILE, without which, or with which open to others, no worker starts."""
    if file.mode is None:
        advice = "make it, for its owner alone, or unset ERRANDS_SECRETS_FILE"
        text = f"no file {file.path}: no worker starts with this setting"
        return Finding("secrets-file", "wrong", text, advice)
    return _private_finding(
        "secrets-file", file, holds="secrets", if_none='a JSON object of strings is expected: {"name": "value"}',
        instead="name another one in ERRANDS_SECRETS_FILE",
        harm="others can read the secrets, and no worker starts", renew="new secrets",
    )  # fmt: skip


def _private_finding(
    check: str, file: PathFacts, *, holds: str, if_none: str, instead: str, harm: str, renew: str
) -> Finding:
    """Whether a file that is there is a file, ours, and closed to others."""
    if not stat.S_ISREG(file.mode or 0) or not file.size:
        return Finding(check, "wrong", f"{file.path} is no file with {holds} in it", if_none)
    if not file.ours:
        return Finding(check, "wrong", f"{file.path} belongs to another user", f"make it your own, or {instead}")
    if file.open_to_others:
        text = f"{file.path} has mode {_octal(file)}: {harm}"
        return Finding(check, "wrong", text, f"chmod 600 {file.path}, and think about {renew}")
    return Finding(check, "ok", f"{file.path} is for its owner alone")


def _octal(of: PathFacts) -> str:
    return f"{stat.S_IMODE(of.mode or 0):03o}"
