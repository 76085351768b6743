"""What must have come of everything, when everything has ended: the account that the small world keeps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.unit.stepper_world import Record, World

from errands_orchestrator.digest import OUTSTANDING
from errands_orchestrator.session import AssistantEntry, Session, ToolsEntry, UserEntry
from errands_orchestrator.snapshot import load_session
from errands_orchestrator.texts import ALREADY_KNOWN, notice_word

HEAD = re.compile(r"^tool_call_id (.*) \((.*)\) ([a-z ]+):( .*)?$", re.MULTILINE)
EVENT = re.compile(
    r"^\[event\] job_(completed|failed|timed_out|cancelled) job_id=(.*) tool=(\S+) status=.*\nsummary:(.*)$",
    re.MULTILINE,
)


def check_account(world: World) -> None:
    """Everything has ended and was told: every call has one tool message, every piece of news stands there once."""
    session = load_session(world.snapshot)
    left = replace(session, digest_mark="", digest_turn=0, compacted=0)
    assert left == Session("s1", turn=session.turn, attached_at=session.attached_at, heard=world.accepted)
    assert not any(text.startswith(OUTSTANDING) for text in user_texts(world)), "a digest never comes alone"
    messages = [message for entry in world.log if isinstance(entry, ToolsEntry) for message in entry.messages]
    made = sum(len(entry.calls) for entry in world.log if isinstance(entry, AssistantEntry))
    assert made == len(messages)
    told = Counter(message.call for message in messages if message.call)
    assert set(told.values()) <= {1}
    assert set(world.records) <= set(told)
    late = {message.call for message in messages if message.placeholder}
    check_notices(world, [world.records[call_id] for call_id in late])
    read = {message.call: message.text for message in messages if message.text in ALREADY_KNOWN.values()}
    assert all(text == ALREADY_KNOWN[world.known[call]] for call, text in read.items())
    for record in world.records.values():
        expect_result(world, record, told_late=record.new.id in late or record.new.id in read)
    texts = "\n".join([*(message.text for message in messages), *user_texts(world)])
    assert {token: texts.count(token) for token in world.tokens} == world.tokens


def expect_result(world: World, record: Record, *, told_late: bool) -> None:
    """Its result stands in its tool message or in a notice, unless the model had read it before it was told late."""
    assert record.outcome
    if told_late and record.new.id in world.known:
        for token in re.findall(r"<\d+>", record.outcome.result + record.outcome.error):
            world.tokens[token] = 0


def check_notices(world: World, late: list[Record]) -> None:
    known = {
        "": None,
        "read": " result already read with get-tool-call-status",
        "waited": " result already given by wait-for-tool-calls",
        "stopped": " already reported by cancel-tool-call",
    }
    wanted = Counter(
        (record.new.provider_id, record.new.tool, notice_word(record.state), known[world.known.get(record.new.id, "")])
        for record in late
    )
    if world.brief.agent.delivery.style == "event":
        wanted = Counter((name, tool, as_event(word), how) for name, tool, word, how in wanted.elements())
    assert Counter(told_ends(world, [how for how in known.values() if how])) == wanted


def as_event(word: str) -> str:
    return word if word in ("completed", "timed out", "cancelled") else "failed"


def told_ends(world: World, known: Sequence[str]) -> Iterator[tuple[str, str, str, str | None]]:
    for text in user_texts(world):
        for found in HEAD.finditer(text):
            yield found[1], found[2], found[3], found[4]
        for found in EVENT.finditer(text):
            yield found[2], found[3], found[1].replace("_", " "), found[4] if found[4] in known else None


def user_texts(world: World) -> list[str]:
    return [entry.text for entry in world.log if isinstance(entry, UserEntry)]
