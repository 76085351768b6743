"""`errands doctor`: look at everything that can be wrong, and say what to do."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from errands_config.errors import ConfigError, StoreUnreachable
from errands_config.settings import Settings, load_settings
from errands_orchestrator.cli.checks.broker import broker_finding
from errands_orchestrator.cli.checks.finding import Finding
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.look_at_broker import broker_facts
from errands_orchestrator.cli.look_here import found_here
from errands_orchestrator.cli.look_there import found_there
from errands_orchestrator.cli.output import AsJson, print_json, print_text

_MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


def doctor(*, as_json: AsJson = False) -> int:
    """Look at this installation, the store, the workers and what they offer. Exit code 1 if something is wrong."""
    settings = load_settings()
    findings = [*found_here(settings), *_there(settings), broker_finding(broker_facts(settings))]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_text("\n".join(_line(finding) for finding in findings))
    return Exit.RUN_FAILED if any(finding.level == "wrong" for finding in findings) else Exit.OK


def _line(finding: Finding) -> str:
    advice = f"\n         -> {finding.advice}" if finding.advice else ""
    return f"{_MARKS[finding.level]}  {finding.check}: {finding.text}{advice}"


def _there(settings: Settings) -> list[Finding]:
    """The store and what stands in it."""
    try:
        with reached(settings) as there:
            reachable = Finding("store", "ok", f"{settings.shown_url} answers")
            return [reachable, *asyncio.run(found_there(there.settings))]
    except (StoreUnreachable, ConfigError) as trouble:
        return [Finding("store", "wrong", str(trouble), "set ERRANDS_REDIS_URL, or unset it for an embedded store")]
