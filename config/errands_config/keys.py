"""Every key in the store, and how long it lives.

    errands:store              hash    generation (random, of the first process that met the store) and born

    errands:s:{sid}            hash    the session: status, version, commit (id of the last one), token (its owner's
                                       right to write), channel (where the owner listens, or did), offer (the token
                                       under which it is given back there when it is woken), lease, cursor (last mail
                                       taken in), accepted and heard (letters that came and that were done with,
                                       of those that the bound counts), snapshot, agent and tools (digests),
                                       slug, tenant, parent, root, conversation, mail_scope, interrupt_scope,
                                       parameters (values of those that are not secret), created, updated
    errands:s:{sid}:log        list    entries as the model saw them, append-only
    errands:s:{sid}:mail       stream  the mailbox, trimmed to the cursor by the commit
    errands:s:{sid}:mail:{sha1} string  receipt of one mail id; lives 24 h
    errands:s:{sid}:events     stream  what watchers see; its ids are the replay cursor; the newest 1,000
    errands:s:{sid}:calls      zset    call ids by time of recording
    errands:s:{sid}:names      hash    provider call id -> newest call with it
    errands:s:{sid}:handles    hash    task handle -> its call, for ever
    errands:s:{sid}:idempotency hash   digest of an idempotency key -> its call and that one's likeness
    errands:sessions           zset    every session by time of creation

    errands:c:{cid}            hash    the call: see `scripts/commit.lua` (what is written first) and `wire.Claimed`;
                                       of one that was deferred `scripts/deferring.lua`, and answer (fingerprint of
                                       what came from outside), approved (`wire.Approval`, as JSON)
    errands:c:{cid}:progress   stream  the 50 newest
    errands:c:{cid}:output     string  what it has printed in this attempt, in whole lines; gone once it has completed

    errands:due                zset    sessions by the moment somebody must look: now (unread mail), end of the
                                       owner's lease, next timer, but never more than 10 minutes ahead
    errands:bell               list    ids of sessions that fell due: a hint that idle orchestrators block on; capped
    errands:queued:{queue}     zset    queued calls by publication time, 0 = not published yet
    errands:queue:{queue}      hash    claimed_upto (newest publication claimed), empty_since
    errands:queues             set     every queue ever published to
    errands:watch              zset    every queued, running or deferred call, by the moment the sweeper must look, but
                                       never more than 10 minutes ahead
    errands:workers            zset    incarnations by their last beat
    errands:settled            zset    incarnations given up, by that moment; kept a day
    errands:w:{inc}            hash    host, launcher pid, queues, slots, started; lives a day after its last beat
    errands:w:{inc}:calls      hash    call -> process id of the pool process that runs it
    errands:w:{inc}:wishes     hash    call -> why it should end
    errands:limit:{name}       zset    calls that hold a slot of a shared limit, by the moment they took it
    errands:limit:{name}:waiting zset  calls that wait for one, in line
    errands:limit:{name}:starts zset   its starts of the last 60 s
    errands:sweep              list    strokes for sweepers: something is to be looked at now; capped
    errands:agent:{digest}     string  an agent file as sessions keep it; lives 90 days after its last use
    errands:toolset:{digest}   string  the tools of sessions as they were listed; lives 90 days after its last use
    errands:agents             hash    slug -> newest digest
    errands:catalogue:{inc}    hash    tool -> offer of a live worker; lives 15 s after its last beat
    errands:events             stream  every session's events, for logs; the newest 10,000

The broker's own keys stand beside them: one list per queue, named like the queue. A queue's name has no colon, so
the two never meet.
"""

from __future__ import annotations

import hashlib
from typing import Final

PREFIX: Final = "errands:"

STORE: Final = PREFIX + "store"
SESSIONS: Final = PREFIX + "sessions"
DUE: Final = PREFIX + "due"
BELL: Final = PREFIX + "bell"
QUEUES: Final = PREFIX + "queues"
WATCH: Final = PREFIX + "watch"
WORKERS: Final = PREFIX + "workers"
SETTLED: Final = PREFIX + "settled"
AGENTS: Final = PREFIX + "agents"
EVENTS: Final = PREFIX + "events"
SWEEP: Final = PREFIX + "sweep"

MAIL_RECEIPT_MS: Final = 24 * 3600 * 1000
SETTLED_MS: Final = 24 * 3600 * 1000
DEFINITION_SECONDS: Final = 90 * 24 * 3600
CATALOGUE_SECONDS: Final = 15
EVENTS_KEPT: Final = 1_000
ALL_EVENTS_KEPT: Final = 10_000
PROGRESS_KEPT: Final = 50
MAIL_BOUND: Final = 256
NOTIFY_BOUND: Final = 16


def session(sid: str) -> str:
    """Key of a session's head."""
    return f"{PREFIX}s:{sid}"


def log(sid: str) -> str:
    """Key of a session's log."""
    return f"{PREFIX}s:{sid}:log"


def mail(sid: str) -> str:
    """Key of a session's mailbox."""
    return f"{PREFIX}s:{sid}:mail"


def receipt(sid: str, mail_id: str) -> str:
    """Key of the receipt of one mail; the id is foreign text, so only its digest stands in the key."""
    return f"{PREFIX}s:{sid}:mail:{hashlib.sha1(mail_id.encode(), usedforsecurity=False).hexdigest()}"


def events(sid: str) -> str:
    """Key of a session's event stream."""
    return f"{PREFIX}s:{sid}:events"


def calls(sid: str) -> str:
    """Key of the index of a session's calls."""
    return f"{PREFIX}s:{sid}:calls"


def names(sid: str) -> str:
    """Key of a session's index of provider call ids."""
    return f"{PREFIX}s:{sid}:names"


def handles(sid: str) -> str:
    """Key of a session's index of task handles."""
    return f"{PREFIX}s:{sid}:handles"


def idempotency(sid: str) -> str:
    """Key of a session's index of idempotency keys."""
    return f"{PREFIX}s:{sid}:idempotency"


def call(cid: str) -> str:
    """Key of a call's record."""
    return f"{PREFIX}c:{cid}"


def progress(cid: str) -> str:
    """Key of a call's progress."""
    return f"{PREFIX}c:{cid}:progress"


def output(cid: str) -> str:
    """Key of what a call has printed so far."""
    return f"{PREFIX}c:{cid}:output"


def queued(queue: str) -> str:
    """Key of the index of a queue's unclaimed calls."""
    return f"{PREFIX}queued:{queue}"


def queue_marks(queue: str) -> str:
    """Key of what the sweeper remembers of a queue."""
    return f"{PREFIX}queue:{queue}"


def worker(incarnation: str) -> str:
    """Key of a worker incarnation's description."""
    return f"{PREFIX}w:{incarnation}"


def worker_calls(incarnation: str) -> str:
    """Key of what an incarnation runs."""
    return f"{PREFIX}w:{incarnation}:calls"


def wishes(incarnation: str) -> str:
    """Key of the stops that an incarnation is asked for."""
    return f"{PREFIX}w:{incarnation}:wishes"


def catalogue(incarnation: str) -> str:
    """Key of what an incarnation offers."""
    return f"{PREFIX}catalogue:{incarnation}"


def limit(name: str) -> tuple[str, str, str]:
    """Keys of a shared limit: its holders, who waits, its newest starts. Names come from the settings."""
    held = f"{PREFIX}limit:{name}"
    return held, f"{held}:waiting", f"{held}:starts"


def agent(digest: str) -> str:
    """Key of an agent file."""
    return f"{PREFIX}agent:{digest}"


def toolset(digest: str) -> str:
    """Key of a listed set of tools."""
    return f"{PREFIX}toolset:{digest}"


def channel(owner: str) -> str:
    """Pub/sub channel on which a live owner hears of mail."""
    return f"{PREFIX}owner:{owner}"
