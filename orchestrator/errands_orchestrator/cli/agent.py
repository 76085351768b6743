"""`errands agent`: check agent files, print their schema, list the agents that sessions were made of."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from errands_config import keys
from errands_config.agent import Agent, load_agent, parse_agent
from errands_config.agent_schema import agent_schema
from errands_config.errors import ConfigError
from errands_config.settings import Settings, load_settings
from errands_config.toolboxes import toolboxes_of
from errands_orchestrator import reads
from errands_orchestrator.cli.connecting import with_store
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.output import AsJson, Row, print_json, print_rows, print_text, say
from errands_orchestrator.definitions import StoredAgent

agent_commands = App(name="agent", help="Check agent files, print their schema, list known agents.", version_flags=[])


def checked_agent(file: Path, settings: Settings) -> Agent:
    """The agent of a file whose keys and toolboxes are there. Raises ConfigError."""
    agent = load_agent(file, api_key_ids=settings.api_keys.keys(), limit_names=settings.limits.keys())
    toolboxes_of(agent, file.parent)
    return agent


@agent_commands.command
def check(file: Path, /, *more: Path, as_json: AsJson = False) -> int:
    """Check agent files as `errands run` reads them: keys, values, predicates, and whether their toolboxes exist.

    Exit code 3 if one of them cannot be used.
    """
    settings = load_settings()
    rows = [_verdict(one, settings) for one in (file, *more)]
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            say(f"{row['file']}: {'ok, agent ' + str(row['slug']) if row['ok'] else row['error']}")
    return Exit.OK if all(row["ok"] for row in rows) else Exit.CONFIG_INVALID


def _verdict(file: Path, settings: Settings) -> Row:
    try:
        agent = checked_agent(file, settings)
    except ConfigError as wrong:
        return {"file": str(file), "ok": False, "slug": None, "digest": None, "error": str(wrong)}
    return {"file": str(file), "ok": True, "slug": agent.slug, "digest": agent.digest, "error": None}


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
