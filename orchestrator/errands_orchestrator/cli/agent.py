"""`errands agent`: check and explain agent files, print their schema, list the agents that sessions were made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cyclopts import App

from errands_config import keys
from errands_config.agent import Agent, load_agent, parse_agent
from errands_config.agent_notes import notes_on
from errands_config.agent_schema import agent_schema
from errands_config.errors import ConfigError
from errands_config.settings import Settings, load_settings
from errands_config.toolboxes import toolboxes_of
from errands_orchestrator import reads
from errands_orchestrator.cli.agent_explain import explain
from errands_orchestrator.cli.connecting import with_store
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.output import AsJson, Row, print_json, print_rows, print_text, say
from errands_orchestrator.definitions import StoredAgent

agent_commands = App(
    name="agent",
    help="Check and explain agent files, print their schema, list known agents.",
    version_flags=[],
)
agent_commands.command(explain)


def checked_agent(file: Path, settings: Settings) -> Agent:
    """The agent of a file whose keys and toolboxes are there. Raises ConfigError."""
    agent = load_agent(file, api_key_ids=settings.api_keys.keys(), limit_names=settings.limits.keys())
    toolboxes_of(agent, file.parent)
    return agent


@agent_commands.command
def check(file: Path, /, *more: Path, as_json: AsJson = False) -> int:
    """Check agent files as `errands run` reads them: keys, values, predicates, and whether their toolboxes exist.

    Exit code 3 if one of them cannot be used. A note names what is allowed and yet does not act.
    """
    settings = load_settings()
    verdicts = [_verdict(one, settings) for one in (file, *more)]
    if as_json:
        print_json([verdict.row for verdict in verdicts])
    else:
        for line in (line for verdict in verdicts for line in verdict.lines):
            say(line)
    return Exit.CONFIG_INVALID if any(verdict.error for verdict in verdicts) else Exit.OK


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What was found of one file: the agent in it, or what is wrong."""

    file: Path
    agent: Agent | None = None
    error: str | None = None

    @property
    def row(self) -> Row:
        slug, digest = (self.agent.slug, self.agent.digest) if self.agent else (None, None)
        ok = self.agent is not None
        facts = {"file": str(self.file), "ok": ok, "slug": slug, "digest": digest, "error": self.error}
        return {**facts, "notes": self._notes}

    @property
    def lines(self) -> list[str]:
        found = f"ok, agent {self.agent.slug}" if self.agent else self.error
        return [f"{self.file}: {found}", *(f"{self.file}: note: {note}" for note in self._notes)]

    @property
    def _notes(self) -> list[str]:
        return [f"{note.path}: {note.text}" for note in notes_on(self.agent)] if self.agent else []


def _verdict(file: Path, settings: Settings) -> _Verdict:
    try:
        return _Verdict(file, checked_agent(file, settings))
    except ConfigError as wrong:
        return _Verdict(file, error=str(wrong))


@agent_commands.command
def schema() -> None:
    """Print the JSON schema of the agent file."""
    print_text(agent_schema())


@agent_commands.command(name="list")
def list_agents(*, as_json: AsJson = False) -> None:
    """List the agents that sessions were made of, each as it was last used."""
    rows = with_store(lambda store, _: known_agents(store))
    print_rows(rows, ("slug", "digest", "announce"), as_json=as_json, nothing="no agent has run on this store yet")


async def known_agents(store: reads.Store) -> list[Row]:
    """A row for each agent, in order of slugs. Of one that the store has dropped only the name is left."""
    digests = await reads.whole(store, keys.AGENTS)
    slugs = sorted(digests)
    texts = await reads.texts(store, *(keys.agent(digests[slug]) for slug in slugs)) if slugs else []
    return [
        {"slug": slug, "digest": digests[slug], "announce": _announce(text)}
        for slug, text in zip(slugs, texts, strict=True)
    ]


def _announce(text: str | None) -> str | None:
    if text is None:
        return None
    file = StoredAgent.model_validate_json(text).file
    return parse_agent(file, origin="the store", api_key_ids=None).announce
