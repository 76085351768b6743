"""Facts about this machine, for `errands doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from packaging.requirements import Requirement

from errands_config.settings import Settings
from errands_orchestrator.cli.checks.finding import Finding
from errands_orchestrator.cli.checks.home import PathFacts, home_findings, secret_finding, secrets_file_finding
from errands_orchestrator.cli.checks.installation import installation_findings
from errands_orchestrator.cli.checks.model import ModelFacts, model_findings
from errands_orchestrator.cli.reaching import reach_of
from errands_orchestrator.tokens import KEY_FILE

DISTRIBUTION = "errands"


def found_here(settings: Settings) -> Iterator[Finding]:
    """What there is to say about this machine."""
    wanted = metadata.requires(DISTRIBUTION) or []
    installed = _versions(wanted)
    yield from installation_findings(wanted, installed)
    yield from home_findings(path_facts(settings.home), ignored=_is_ignored(settings.home))
    yield secret_finding(path_facts(settings.home / KEY_FILE), in_environment=settings.secret_key is not None)
    if settings.secrets_file:
        yield secrets_file_finding(path_facts(settings.secrets_file))
    if "openai" in installed:  # no model is asked where no orchestrator can run
        yield from model_findings(_model_facts(settings))


def path_facts(path: Path) -> PathFacts:
    """What a path is, itself and not what it may point to."""
    try:
        status = path.lstat() if path.name == KEY_FILE else path.stat()
    except OSError:
        return PathFacts(str(path))
    return PathFacts(str(path), status.st_mode, ours=status.st_uid == os.getuid(), size=status.st_size)


def _is_ignored(home: Path) -> bool:
    try:
        return "*" in (home / ".gitignore").read_text().split()
    except OSError:
        return False


def _versions(wanted: list[str]) -> dict[str, str]:
    found = {name: _version(name) for name in {Requirement(text).name for text in wanted}}
    return {name: version for name, version in found.items() if version}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _model_facts(settings: Settings) -> ModelFacts:
    variable = "ERRANDS_MODEL_URL" if settings.model_url else "OPENAI_BASE_URL"
    url = settings.model_url or os.environ.get(variable) or None
    return ModelFacts(
        name=settings.model,
        url=url,
        url_setting=variable,
        has_key=bool(os.environ.get("OPENAI_API_KEY")),
        named_keys=tuple(settings.api_keys),
        reach=reach_of(_host(url)),
        forbidden=settings.forbid_requests,
    )


def _host(url: str | None) -> str | None:
    try:
        return urlsplit(url or "").hostname
    except ValueError:
        return None
