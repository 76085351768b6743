"""What a run left: the records, the event streams, the model's journal and the file of effects, read into values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import redis
from tests.faults.kit.answers import Answer
from tests.faults.kit.conversation import Endpoint, Scenario
from tests.faults.kit.effects import Effects

from errands_config import keys
from errands_config.wire import CallPolicy, CallState, Retries

Message = Mapping[str, object]
Answers = Mapping[str, tuple[Answer, ...]]
"""By call."""
NO_ANSWERS: Answers = {}
_ERROR = re.compile(r'"level": ?"error"|^[ +|]*(Exception Group )?Traceback|^errands: internal error')


@dataclass(frozen=True, slots=True)
class CallEvidence:
    """One call: its record, what its tool said of its attempts, and its ends in the events."""

    id: str
    session: int
    tool: str
    provider_id: str
    key: str
    """The mark that its result carries."""
    state: str
    attempt: int
    times: int
    """How often it may be started again."""
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    end_events: tuple[str, ...] = ()
    late: int = 0
    """Finishes that were refused."""
    tries: int = 1
    """How often its tool may be started inside one attempt."""
    deferrals: int = 0
    """How often it was deferred."""
    answers: tuple[Answer, ...] = ()
    """What the clerk answered, and what came of it."""


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """One session, and the messages of the longest request that its model had of it."""

    number: int
    id: str
    status: str
    cause: str
    """Why it is paused."""
    planned: int
    """How many calls its model was to make."""
    messages: tuple[Message, ...]
    calls: tuple[CallEvidence, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the checker looks at."""

    sessions: tuple[SessionEvidence, ...]
    refusals: tuple[str, ...] = ()
    """Why the endpoint refused requests."""
    strays: tuple[str, ...] = ()
    """Processes that should be gone."""
    leaks: tuple[str, ...] = ()
    """Keys that nobody owns."""
    defects: tuple[str, ...] = ()
    """What the processes' logs tell of errors that nobody foresaw."""

    @property
    def calls(self) -> tuple[CallEvidence, ...]:
        """Every call."""
        return tuple(call for session in self.sessions for call in session.calls)


def gather(
    store: redis.Redis,
    numbers: Mapping[int, str],
    scenario: Scenario,
    endpoint: Endpoint,
    effects: Effects,
    answers: Answers = NO_ANSWERS,
) -> tuple[SessionEvidence, ...]:
    """Read what there is of these sessions (number -> id)."""
    effects.look()
    heard = endpoint.last_messages()
    found: list[SessionEvidence] = []
    for number, sid in sorted(numbers.items()):
        head: Any = store.hmget(keys.session(sid), ("status", "snapshot"))
        found.append(
            SessionEvidence(
                number=number, id=sid, status=head[0] or "", cause=_cause(head[1]),
                planned=sum(map(len, scenario.plan(number))), messages=tuple(heard.get(number, ())),
                calls=_calls(store, number, sid, effects, answers),
            )
        )  # fmt: skip
    return tuple(found)


def _cause(snapshot: str | None) -> str:
    return str(json.loads(snapshot).get("cause") or "") if snapshot else ""


def _calls(store: redis.Redis, number: int, sid: str, effects: Effects, answers: Answers) -> tuple[CallEvidence, ...]:
    ends = _end_events(store, sid)
    cids: Any = store.zrange(keys.calls(sid), 0, -1)
    return tuple(
        replace(_call(store, number, cid, ends.get(cid, []), effects), answers=answers.get(cid, ())) for cid in cids
    )


def _end_events(store: redis.Redis, sid: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    events: Any = store.xrange(keys.events(sid))
    for _, event in events:
        if (word := _final_word(event["kind"])) and "tool_call_id" in event:
            found.setdefault(event["tool_call_id"], []).append(word)
    return found


def _final_word(kind: str) -> str:
    word = kind.removeprefix("tool_call.")
    return word if word in {state.value for state in CallState if state.is_final} else ""


def _call(store: redis.Redis, number: int, cid: str, ends: list[str], effects: Effects) -> CallEvidence:
    fields: Any = store.hgetall(keys.call(cid))
    arguments = cast("dict[str, object]", json.loads(fields["arguments"]))
    policy = CallPolicy.model_validate_json(fields["policy"])
    return CallEvidence(
        id=cid, session=number, tool=fields["tool"], provider_id=fields["provider_id"], key=str(arguments["key"]),
        state=fields["state"], attempt=int(fields["attempt"]),
        times=policy.rerun_times, starts=tuple(effects.starts[cid]),
        ends=tuple(effects.ends[cid]), end_events=tuple(ends), late=int(fields.get("late") or 0),
        tries=math.prod(1 + layer.count for layer in policy.around if isinstance(layer, Retries)),
        deferrals=int(fields.get("nonce") or 0),
    )  # fmt: skip


def defects_in(logs: Iterable[Path]) -> Iterator[str]:
    """Tracebacks, last words and `error` lines in logs; but for Celery's own, which call a lost connection so."""
    for log in logs:
        lines = dict.fromkeys(log.read_text(errors="replace").splitlines())
        yield from (f"{log.stem}: {line[:300]}" for line in lines if _ERROR.search(line) and '"logger"' not in line)


def texts_of(messages: tuple[Message, ...], *roles: str) -> Iterator[str]:
    """What messages of these roles say."""
    return (str(message["content"] or "") for message in messages if message["role"] in roles)
