"""What is installed here, against what this distribution wants. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from errands_orchestrator.cli.checks.finding import Finding

KNOWN_BAD: Mapping[str, tuple[str, str]] = {
    "celery": ("<5.7", "no worker_disable_prefetch: a worker that restarts loses or doubles calls"),
    "kombu": ("<5.7", "no batches, and another form of message than the commit script writes"),
    "redis": ("<8.1", "other defaults for timeouts and repeats than the connections here expect"),
}
"""Versions that are known to break something, and what they break."""


def installation_findings(wanted: Sequence[str], installed: Mapping[str, str]) -> Iterator[Finding]:
    """Packages that are missing or not of a version that is wanted, and what can run here.

    `wanted`: requirements as the distribution's metadata have them; `installed`: versions by package.
    """
    requirements = [Requirement(text) for text in wanted]
    everywhere = _applying(requirements, "")
    runs = ["a worker"]
    for extra, what in (("orchestrator", "an orchestrator"), ("flower", "Flower")):
        parts = [one for one in _applying(requirements, extra) if one not in everywhere]
        if missing := [one.name for one in parts if one.name not in installed]:
            text = f"{what} cannot run here: there is no package {', '.join(missing)}"
            yield Finding("installation", "note", text, f"pip install 'errands[{extra}]' where it is to run")
        else:
            runs.append(what)
        everywhere += [one for one in parts if one.name in installed]
    unfit = [finding for requirement in everywhere for finding in _unfit(requirement, installed)]
    yield from unfit or [Finding("installation", "ok", f"can run here: {', '.join(runs)}")]


def _applying(requirements: Sequence[Requirement], extra: str) -> list[Requirement]:
    return [one for one in requirements if one.marker is None or one.marker.evaluate({"extra": extra})]


def _unfit(requirement: Requirement, installed: Mapping[str, str]) -> Iterator[Finding]:
    version = installed.get(requirement.name)
    advice = f"pip install '{requirement.name}{requirement.specifier}'"
    if version is None:
        yield Finding("installation", "wrong", f"the package {requirement.name} is missing", advice)
    elif not requirement.specifier.contains(version, prereleases=True):
        text = f"{requirement.name} {version} is installed, {requirement.specifier} is wanted"
        yield Finding("installation", "wrong", f"{text}{_why(requirement.name, version)}", advice)


def _why(package: str, version: str) -> str:
    specifier, harm = KNOWN_BAD.get(package, ("", ""))
    return f": {harm}" if harm and SpecifierSet(specifier).contains(version, prereleases=True) else ""
