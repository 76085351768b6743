"""What an orchestrator keeps between steps: transcripts up to a bound, and one model for all sessions of an agent."""

from __future__ import annotations

import asyncio

import pytest
import redis.asyncio
from tests.integration.errand import make_agent
from tests.integration.fake_worker import offer

from errands_config import keys
from errands_config.agent import Agent
from errands_config.errors import ConfigError, ModelError, NotFound
from errands_config.wire import CallState
from errands_orchestrator.brief import Toolset
from errands_orchestrator.definitions import Library, StoredAgent, definitions, unusable
from errands_orchestrator.models.function import FunctionModel
from errands_orchestrator.models.model import Model, ModelRequest, Reply
from errands_orchestrator.session import AssistantEntry, Entry, ToolMessage, ToolsEntry, UserEntry
from errands_orchestrator.snapshot import dump_entry
from errands_orchestrator.transcript import Transcript
from errands_orchestrator.transcripts import Transcripts


async def logged(store: redis.asyncio.Redis, sid: str, *entries: Entry) -> None:
    await store.rpush(keys.log(sid), *map(dump_entry, entries))


def talk(text: str) -> tuple[UserEntry, AssistantEntry]:
    return UserEntry(f"question {text}"), AssistantEntry(f"answer {text}")


def bytes_of(*entries: Entry, prompt: str = "p") -> bytes:
    return Transcript.of(prompt, entries).messages()


async def test_a_transcript_is_read_once_and_then_goes_on_with_what_was_committed(astore: redis.asyncio.Redis) -> None:
    first, second = talk("one"), talk("two")
    await logged(astore, "s1", *first)
    kept = Transcripts(astore)
    assert (await kept.upto("s1", 2, "p")).messages() == bytes_of(*first)

    kept.committed("s1", 2, second)
    await astore.delete(keys.log("s1"))

    assert (await kept.upto("s1", 4, "p")).messages() == bytes_of(*first, *second)


async def test_a_transcript_that_fell_behind_is_read_on_from_the_log(astore: redis.asyncio.Redis) -> None:
    entries = (*talk("one"), *talk("two"), *talk("three"))
    await logged(astore, "s1", *entries[:2])
    kept = Transcripts(astore)
    await kept.upto("s1", 2, "p")
    await logged(astore, "s1", *entries[2:])  # by another process

    kept.committed("s1", 4, entries[4:])

    assert (await kept.upto("s1", 6, "p")).messages() == bytes_of(*entries)


async def test_a_transcript_that_ran_ahead_or_began_otherwise_is_made_anew(astore: redis.asyncio.Redis) -> None:
    entries = (*talk("one"), *talk("two"))
    await logged(astore, "s1", *entries)
    kept = Transcripts(astore)
    await kept.upto("s1", 4, "p")

    assert (await kept.upto("s1", 2, "p")).messages() == bytes_of(*entries[:2])
    assert (await kept.upto("s1", 4, "other")).messages() == bytes_of(*entries, prompt="other")


async def test_the_memory_is_bounded_and_right_while_many_read_at_once(astore: redis.asyncio.Redis) -> None:
    sids = [f"s{number}" for number in range(30)]
    for sid in sids:
        await logged(astore, sid, *talk(sid * 100))
    limit = 5 * len(bytes_of(*talk("s10" * 100)))
    kept = Transcripts(astore, limit)

    for _ in range(3):
        read = await asyncio.gather(*(kept.upto(sid, 2, "p") for sid in sids))
        assert [one.messages() for one in read] == [bytes_of(*talk(sid * 100)) for sid in sids]

    for sid in sids:
        kept.forget(sid)
    assert kept._size == 0  # pyright: ignore[reportPrivateUsage]


async def test_the_newest_transcript_stays_even_when_it_alone_is_too_large(astore: redis.asyncio.Redis) -> None:
    await logged(astore, "s1", *talk("x"))
    kept = Transcripts(astore, 1)
    await kept.upto("s1", 2, "p")
    await astore.delete(keys.log("s1"))

    assert (await kept.upto("s1", 2, "p")).messages() == bytes_of(*talk("x"))


async def test_what_was_committed_between_two_requests_counts_in_the_bound(astore: redis.asyncio.Redis) -> None:
    for sid in ("s1", "s2"):
        await logged(astore, sid, *talk("x"))
    kept = Transcripts(astore, 10_000)
    await kept.upto("s1", 2, "p")
    await kept.upto("s2", 2, "p")

    kept.committed("s1", 2, talk("y" * 20_000))
    await astore.delete(keys.log("s2"), keys.log("s1"))

    assert (await kept.upto("s1", 4, "p")).count == 5
    assert (await kept.upto("s2", 2, "p")).count == 1  # it was dropped, and its log is gone


async def test_a_broken_log_is_never_kept(astore: redis.asyncio.Redis) -> None:
    broken = ToolsEntry((ToolMessage("a", "c1", "work", CallState.COMPLETED, "fine"),))
    await logged(astore, "s1", broken)
    kept = Transcripts(astore)

    for _ in range(2):
        with pytest.raises(Exception, match="tool messages for"):
            await kept.upto("s1", 1, "p")


# ---- agents


async def kept_agent(store: redis.asyncio.Redis, **more: object) -> tuple[str, str]:
    made = definitions(StoredAgent(file=make_agent(**more).canonical), Toolset((offer("work"),)))
    await store.set(keys.agent(made.agent_digest), made.agent)
    await store.set(keys.toolset(made.toolset_digest), made.toolset)
    return made.agent_digest, made.toolset_digest


async def test_sessions_of_one_agent_that_wake_together_share_one_model(astore: redis.asyncio.Redis) -> None:
    pair = await kept_agent(astore)
    made: list[str] = []

    def make(agent: Agent, script: str) -> tuple[Model, str]:
        made.append(agent.slug)
        return FunctionModel(lambda messages: Reply("hi")), "m"

    library = Library(astore, make)
    known = await asyncio.gather(*(library.known(*pair) for _ in range(20)))

    assert made == ["runner"]
    assert all(one is known[0] for one in known)
    assert [tool.name for tool in known[0].brief.tools.offers] == ["work"]
    assert 0 < await astore.ttl(keys.agent(pair[0])) <= keys.DEFINITION_SECONDS
    await library.close()


async def test_an_agent_that_could_not_be_used_is_tried_again_the_next_time(astore: redis.asyncio.Redis) -> None:
    pair = await kept_agent(astore)
    errors: list[Exception] = [ConfigError("no key")]

    def make(agent: Agent, script: str) -> tuple[Model, str]:
        if errors:
            raise errors.pop()
        return FunctionModel(lambda messages: Reply("hi")), "m"

    library = Library(astore, make)
    with pytest.raises(ConfigError, match="no key"):
        await library.known(*pair)

    assert (await library.known(*pair)).model_name == "m"
    with pytest.raises(NotFound, match="not in the store any more"):
        await library.known("gone", pair[1])


async def test_what_stands_for_an_agent_that_cannot_be_used_fails_for_good_with_the_cause() -> None:
    stand_in = unusable("runner", "no key 'x' in ERRANDS_API_KEYS")

    with pytest.raises(ModelError) as failed:
        await stand_in.model.reply(ModelRequest("", b"[]"))

    assert (failed.value.cause, failed.value.retryable) == ("no key 'x' in ERRANDS_API_KEYS", False)
    assert (stand_in.brief.agent.slug, stand_in.brief.is_asynchronous) == ("runner", True)
