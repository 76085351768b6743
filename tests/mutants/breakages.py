"""The breakages: what is changed where, and the tests of which one must fail."""

from __future__ import annotations

from dataclasses import dataclass

SCRIPTS = "config/errands_config/scripts"
ORCHESTRATOR = "orchestrator/errands_orchestrator"
WORKERS = "workers/errands_workers"


@dataclass(frozen=True, slots=True)
class Breakage:
    """One change of one line. `old` stands exactly once in `file`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


BREAKAGES: tuple[Breakage, ...] = (
    Breakage(
        "drop the token check of a finish",
        f"{SCRIPTS}/finish.lua",
        "if c.state ~= 'running' or c.token ~= A.token then",
        "if c.state ~= 'running' then",
        ("tests/integration/test_scripts_reruns.py",),
    ),
    Breakage(
        "change a call that has ended",
        f"{SCRIPTS}/finish.lua",
        "if FINAL[c.state] then",
        "if false then",
        ("tests/integration/test_scripts_call_states.py",),
    ),
    Breakage(
        "claim a running call",
        f"{SCRIPTS}/claim.lua",
        "if not again and (c.state ~= 'queued' or c.attempt ~= A.attempt) then",
        "if not again and c.attempt ~= A.attempt then",
        ("tests/integration/test_scripts_call_states.py",),
    ),
    Breakage(
        "let a worker that was given up claim",
        f"{SCRIPTS}/claim.lua",
        "if not redis.call('ZSCORE', K.workers, A.worker) then",
        "if false then",
        ("tests/integration/test_scripts_call_states.py",),
    ),
    Breakage(
        "park without the mail check",
        f"{SCRIPTS}/parking.lua",
        "if #mail > 0 then",
        "if false then",
        ("tests/integration/test_scripts_session.py",),
    ),
    Breakage(
        "commit on another version",
        f"{SCRIPTS}/commit.lua",
        "if head[2] ~= A.version then\n",
        "if false then\n",
        ("tests/integration/test_scripts_session.py",),
    ),
    Breakage(
        "commit without the owner's token",
        f"{SCRIPTS}/commit.lua",
        "if head[1] ~= A.token then return",
        "if false then return",
        ("tests/integration/test_scripts_session.py",),
    ),
    Breakage(
        "forget the queued index",
        f"{SCRIPTS}/commit.lua",
        "  redis.call('ZADD', p.queued, p.message ~= '' and now or 0, p.id)\n",
        "",
        ("tests/integration/test_scripts_session.py",),
    ),
    Breakage(
        "take a session out of due when waking it",
        f"{SCRIPTS}/wake.lua",
        "if is_ahead then redis.call('ZADD', K.due, now, A.sid) end",
        "redis.call('ZREM', K.due, A.sid)",
        ("tests/integration/test_scripts_session.py",),
    ),
    Breakage(
        "publish again by age alone",
        f"{SCRIPTS}/repeat.lua",
        "local dropped = A.elsewhere ~= '1' and empty_since and",
        "local dropped =",
        ("tests/integration/test_sweeper_messages.py",),
    ),
    Breakage(
        "settle a worker whose beat has moved",
        f"{SCRIPTS}/settle.lua",
        "if A.beat ~= '' and tonumber(beat) ~= tonumber(A.beat) then",
        "if false then",
        ("tests/integration/test_scripts_call_states.py",),
    ),
    Breakage(
        "send a notify twice",
        f"{SCRIPTS}/notify.lua",
        "if c.notify_mark == mark then",
        "if false then",
        ("tests/integration/test_scripts_repeat.py",),
    ),
    Breakage(
        "believe a beat at first sight",
        f"{ORCHESTRATOR}/sweeper.py",
        "if now - seen.since >= self._patience]",
        "]",
        ("tests/unit/test_lost_workers.py",),
    ),
    Breakage(
        "swallow the checker's error",
        f"{ORCHESTRATOR}/transcript.py",
        "            if not answered or answered != self._open:",
        "            if not answered:",
        ("tests/unit/test_transcript.py",),
    ),
    Breakage(
        "send a request while a call is open",
        f"{ORCHESTRATOR}/transcript.py",
        '        if self._open:\n            raise self._broken(f"no tool',
        '        if False:\n            raise self._broken(f"no tool',
        ("tests/unit/test_transcript.py",),
    ),
    Breakage(
        "tell a late result twice",
        f"{ORCHESTRATOR}/notices.py",
        "calls = tuple(call for call in session.calls if not call.is_final)",
        "calls = session.calls",
        ("tests/unit/test_notices.py",),
    ),
    Breakage(
        "apply a finish twice",
        f"{ORCHESTRATOR}/stepper.py",
        "if mail.outcome is None or (call and call.is_final):",
        "if mail.outcome is None:",
        ("tests/unit/test_stepper_phases.py",),
    ),
    Breakage(
        "publish more than maxConcurrency",
        f"{ORCHESTRATOR}/turn.py",
        "background[: max(0, max_concurrency - held)]",
        "background",
        ("tests/unit/test_stepper_attach.py",),
    ),
    Breakage(
        "publish all runSync calls at once",
        f"{ORCHESTRATOR}/turn.py",
        "first.setdefault(call.turn, call)",
        "first[len(first)] = call",
        ("tests/integration/test_loop.py",),
    ),
    Breakage(
        "let go of a runSync call for a message",
        f"{ORCHESTRATOR}/attach.py",
        'return call if call.attach == "forever" else _released(call, session.attached_at, person, now)',
        "return _released(call, session.attached_at, person, now)",
        ("tests/unit/test_stepper_attach.py",),
    ),
    Breakage(
        "leave equal ids as they are",
        f"{ORCHESTRATOR}/turn.py",
        "if not own or own in seen:",
        "if not own:",
        ("tests/unit/test_stepper_turn.py",),
    ),
    Breakage(
        "leave what a function began alone",
        f"{WORKERS}/runner.py",
        "        attempt.offspring.kill()\n",
        "",
        ("tests/acceptance/test_cancel_functions.py::test_what_a_function_begins_ends_with_it",),
    ),
    Breakage(
        "end what may be another call's",
        f"{WORKERS}/kinship.py",
        "if not owners & others]",
        "]",
        ("tests/unit/test_kinship.py",),
    ),
    Breakage(
        "take a nudge for a wish",
        f"{WORKERS}/supervisor.py",
        '    return Stop("timed_out") if told == "deadline" else None',
        '    return Stop("cancelled")',
        ("tests/acceptance/test_cancel_scripts.py::test_a_nudge_without_a_wish_means_nothing",),
    ),
    Breakage(
        "show what looks like a notice as it is",
        f"{ORCHESTRATOR}/texts.py",
        "return framed(cap(clean(_end_text(outcome)).text, max_bytes))",
        "return cap(clean(_end_text(outcome)).text, max_bytes)",
        ("tests/unit/test_stepper_texts.py",),
    ),
    Breakage(
        "leave the request out while a session is paused",
        f"{ORCHESTRATOR}/stepper.py",
        'is_paused:\n        return (Park("paused"),)\n    if draft.session.phase is Phase.ATTACHED',
        "is_paused and False:\n        pass\n    if draft.session.phase is Phase.ATTACHED",
        ("tests/unit/test_stepper_control.py",),
    ),
    Breakage(
        "break a request off for a cancel of calls",
        f"{ORCHESTRATOR}/loop.py",
        "if step.log or AskModel() not in step.decisions:",
        "if True:",
        ("tests/integration/test_loop_mailbox.py",),
    ),
    Breakage(
        "count what a paused session has taken in as heard",
        f"{SCRIPTS}/mailbox.lua",
        "return tonumber(counts[1] or '0') - tonumber(counts[2] or '0')",
        "return redis.call('XLEN', K.mail)",
        ("tests/integration/test_loop_mailbox.py",),
    ),
    Breakage(
        "detach nothing for interrupt mail",
        f"{ORCHESTRATOR}/attach.py",
        "interrupt = brief.is_asynchronous and any(item.interrupt for item in session.inbox)",
        "interrupt = False",
        ("tests/unit/test_stepper_control.py",),
    ),
    Breakage(
        "forget the number that a session was resumed for",
        f"{ORCHESTRATOR}/stepper.py",
        "if session.pause_after and session.turn >= session.pause_after:",
        "if False:",
        ("tests/unit/test_stepper_control.py",),
    ),
    Breakage(
        "give a lost call back for the same attempt",
        f"{SCRIPTS}/requeue.lua",
        "tonumber(c.attempt) + 1",
        "tonumber(c.attempt) + 0",
        ("tests/integration/test_scripts_reruns.py",),
    ),
    Breakage(
        "start a call again without counting",
        f"{SCRIPTS}/settle_call.lua",
        "if tonumber(c.starts or '1') <= (policy.rerun_times or 0) then",
        "if (policy.rerun_times or 0) > 0 then",
        ("tests/integration/test_scripts_reruns.py",),
    ),
    Breakage(
        "start again what was to be cancelled",
        f"{SCRIPTS}/settle_call.lua",
        "if c.wish == 'cancel' then",
        "if false then",
        ("tests/integration/test_scripts_reruns.py",),
    ),
    Breakage(
        "never give up a call that kills its workers",
        f"{SCRIPTS}/settle_call.lua",
        "if lost >= tonumber(A.most_lost) then",
        "if false then",
        ("tests/integration/test_scripts_reruns.py",),
    ),
    Breakage(
        "keep the slot of a call that has ended",
        f"{SCRIPTS}/ending.lua",
        "\n  let_go()\n",
        "\n",
        ("tests/integration/test_scripts_limits.py",),
    ),
    Breakage(
        "keep the slot of a call that is started again",
        f"{SCRIPTS}/requeue.lua",
        "\n  let_go()\n",
        "\n",
        ("tests/integration/test_scripts_limits.py",),
    ),
    Breakage(
        "overtake those who wait for a limit",
        f"{SCRIPTS}/limits.lua",
        "if ahead and ahead ~= A.cid then return limit end",
        "",
        ("tests/integration/test_scripts_limits.py",),
    ),
    Breakage(
        "forget a call whose end was not told",
        f"{ORCHESTRATOR}/retention.py",
        "if cid not in tracked]",
        "if cid]",
        ("tests/integration/test_retention.py",),
    ),
    Breakage(
        "forget a session that has unread mail",
        f"{SCRIPTS}/forget.lua",
        "or #redis.call('XRANGE', K.mail, '(' .. head[4], '+', 'COUNT', 1) > 0",
        "",
        ("tests/integration/test_retention.py",),
    ),
    Breakage(
        "send nothing again to a store that has died",
        f"{WORKERS}/recent_finishes.py",
        'again = kept if self._run_id not in ("", run_id) else []',
        "again = kept[:0]",
        ("tests/acceptance/test_drain.py",),
    ),
    Breakage(
        "serve another store as if it were the same",
        f"{WORKERS}/incarnation.py",
        "if self._met and answer.generation != self._met:",
        "if False:",
        ("tests/acceptance/test_drain.py",),
    ),
    Breakage(
        "tell no tool that its worker leaves",
        f"{WORKERS}/incarnation.py",
        "        self._board.leave()\n",
        "",
        ("tests/acceptance/test_drain.py",),
    ),
)
