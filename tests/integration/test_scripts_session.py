"""Who may step a session, what a commit writes, and how a session is let go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
import redis
from redis.client import PubSub
from tests.integration.script_scenes import (
    LEASE_MS,
    DeclaredOnly,
    Scene,
    everything,
    new_record,
    publication,
)
from tests.waiting import eventually

from errands_config import keys
from errands_config.scripts import calls, sessions
from errands_config.scripts.sessions import Acquired, Answered, Receipt
from errands_config.settings import Settings
from errands_config.store import plain


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    return Scene(store)


def due(scene: Scene) -> float | None:
    return scene.store.zscore(keys.DUE, scene.sid)


def now(scene: Scene) -> int:
    seconds, micros = scene.store.time()
    return seconds * 1000 + micros // 1000


def lease_runs_out(scene: Scene) -> None:
    scene.store.zadd(keys.DUE, {scene.sid: now(scene) - 1})


def send(scene: Scene, mail_id: str = "m1", **more: Any) -> Receipt:
    return scene.run(sessions.send_mail(scene.sid, mail_id, more.pop("kind", "userMessage"), "hi", **more))


def parked(scene: Scene, until: int | None = None, token: str = "t1") -> Answered:
    return scene.run(sessions.park(scene.sid, token, sessions.Rest("waiting_calls", until), LEASE_MS))


# ---- acquire


def test_a_new_session_is_due_and_its_first_mail_goes_to_its_first_owner(scene: Scene) -> None:
    scene.run(scene.create("hello"))
    assert scene.run(sessions.peek(10)).members == ("s1",)

    got = scene.owned()

    assert [(letter.kind, letter.text) for letter in got.mail] == [("userMessage", "hello")]
    assert scene.run(sessions.peek(10)).members == ()
    assert 0 < (due(scene) or 0) - now(scene) <= LEASE_MS


def test_a_session_with_a_live_owner_is_not_taken_even_when_it_is_named(scene: Scene) -> None:
    scene.owned()

    assert scene.run(scene.acquire("t2")) == "owned"
    assert scene.run(scene.acquire("t2", named=True)) == "owned"


def test_a_session_whose_owner_let_its_lease_run_out_is_taken_and_the_old_token_is_void(scene: Scene) -> None:
    scene.owned()
    lease_runs_out(scene)

    assert isinstance(scene.run(scene.acquire("t2")), Acquired)
    assert scene.run(scene.commit()).outcome == "stale"
    assert parked(scene).outcome == "stale"


def test_a_patient_process_leaves_a_late_owner_alone_but_takes_what_has_none(scene: Scene) -> None:
    scene.run(scene.create())
    other = Scene(scene.store, sid="s2")
    other.run(other.create())
    scene.run(scene.acquire())
    lease_runs_out(scene)

    assert scene.run(scene.acquire("t2", patient=True)) == "owned"
    assert isinstance(other.run(other.acquire("t2", patient=True)), Acquired)


def test_a_session_that_is_not_due_is_taken_only_by_name(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)
    parked(scene)

    assert scene.run(scene.acquire("t2")) == "early"
    assert isinstance(scene.run(scene.acquire("t2", named=True)), Acquired)


def test_a_session_that_is_gone_leaves_the_index(scene: Scene) -> None:
    scene.store.zadd(keys.DUE, {"s1": 1})

    assert scene.run(scene.acquire()) == "gone"
    assert due(scene) is None


def test_the_same_token_again_acquires_the_same_session_again(scene: Scene) -> None:
    first = scene.owned()

    again = scene.run(scene.acquire())

    assert isinstance(again, Acquired)
    assert (again.head, again.mail) == (first.head, first.mail)


# ---- renew


def test_renewing_keeps_what_still_has_our_token_however_late_and_tells_of_mail_and_loss(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)
    other = Scene(scene.store, sid="s2")
    other.owned()
    lease_runs_out(scene)

    assert scene.run(sessions.renew([("s1", "t1"), ("s2", "t1"), ("s2", "x")], LEASE_MS)) == ("ok", "mail", "lost")
    assert scene.run(scene.acquire("t2")) == "owned"


# ---- commit


def test_a_stale_owner_writes_nothing(scene: Scene) -> None:
    scene.owned()
    lease_runs_out(scene)
    scene.run(scene.acquire("t2"))
    before = everything(scene.store)

    late = scene.commit(
        token="t1",
        log=("{}",),
        records=(new_record("c1"),),
        publish=(publication("c1"),),
        events=(("run.ended", ("status", "completed")),),
    )

    assert scene.run(late).outcome == "stale"
    assert parked(scene).outcome == "stale"
    assert scene.run(sessions.renew([("s1", "t1")], LEASE_MS)) == ("lost",)
    assert everything(scene.store) == before


def test_a_commit_on_another_version_than_it_knew_writes_nothing_even_under_the_right_token(scene: Scene) -> None:
    scene.owned()
    scene.committed(log=("one",))
    scene.version -= 1
    before = everything(scene.store)

    assert scene.run(scene.commit(log=("other",))).outcome == "stale"
    assert everything(scene.store) == before


def test_the_same_commit_again_is_answered_as_before_and_written_once(scene: Scene) -> None:
    scene.owned()
    step = scene.commit(log=("one",), records=(new_record("c1"),), publish=(publication("c1"),))

    assert [scene.run(step).outcome, scene.run(step).outcome] == ["ok", "ok"]
    assert scene.store.lrange(keys.log("s1"), 0, -1) == ["one"]
    assert scene.store.llen("default") == 1


def test_a_commit_of_a_hundred_calls_writes_each_record_index_and_message(scene: Scene) -> None:
    scene.owned()
    cids = [f"c{number}" for number in range(100)]

    scene.committed(
        records=tuple(new_record(cid, f"p{cid}") for cid in cids), publish=tuple(publication(cid) for cid in cids)
    )

    assert {scene.state(cid) for cid in cids} == {"queued"}
    assert scene.store.lrange("default", 0, -1) == [f"message of {cid}" for cid in reversed(cids)]
    assert [scene.store.zcard(key) for key in (keys.queued("default"), keys.WATCH, keys.calls("s1"))] == [100] * 3
    assert scene.store.hlen(keys.names("s1")) == 100


def test_a_commit_trims_the_mail_up_to_its_cursor_and_keeps_what_came_later(scene: Scene) -> None:
    got = scene.owned()
    send(scene)

    scene.committed(cursor=got.mail[-1].seq)

    assert [letter["id"] for letter in scene.letters()] == ["m1"]


def test_a_call_that_was_cancelled_before_its_publication_is_not_published(scene: Scene) -> None:
    scene.owned()
    scene.waiting()
    scene.store.hset(keys.call("c1"), "state", "cancelled")

    scene.committed(publish=(publication("c1"),))

    assert scene.store.llen("default") == 0
    assert scene.traces() == []


def test_a_newer_call_with_the_same_provider_id_is_the_one_that_the_name_means(scene: Scene) -> None:
    scene.owned()
    scene.waiting("c1", provider_id="same")
    scene.waiting("c2", provider_id="same")

    assert scene.store.hget(keys.names("s1"), "same") == "c2"


# ---- park and mail


def test_a_session_is_not_parked_over_unread_mail(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)
    send(scene)

    refused = parked(scene)

    assert (refused.outcome, [letter.id for letter in refused.mail]) == ("mail", ["m1"])
    scene.committed(cursor=refused.mail[-1].seq)
    assert parked(scene).outcome == "parked"


def test_a_parked_session_that_needs_nothing_is_in_no_index(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)

    parked(scene)

    assert due(scene) is None
    assert scene.store.hget(keys.session("s1"), "status") == "waiting_calls"


def test_a_session_is_not_parked_with_a_timer_that_is_up_and_is_due_when_a_later_one_is(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)
    soon = now(scene) + 5_000

    assert parked(scene, until=now(scene)).outcome == "due"
    assert parked(scene, until=soon).outcome == "parked"

    assert due(scene) == soon
    ripe = scene.run(sessions.peek(10))
    assert ripe.members == ()
    assert 0 < (ripe.next_in_ms or 0) <= 5_000


def test_mail_for_a_parked_session_makes_it_due_at_once_and_strokes_the_bell(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)
    parked(scene, until=now(scene) + 5_000)
    scene.store.delete(keys.BELL)

    send(scene)

    assert scene.run(sessions.peek(10)).members == ("s1",)
    assert scene.store.lrange(keys.BELL, 0, -1) == ["s1"]


def test_mail_for_a_session_in_hand_is_told_to_its_owner_and_rings_no_bell(scene: Scene, settings: Settings) -> None:
    scene.owned()
    scene.store.delete(keys.BELL)
    before = due(scene)
    with plain(settings) as client, client.pubsub(ignore_subscribe_messages=True) as ear:
        ear.subscribe("errands:owner:o1")
        eventually(lambda: scene.store.pubsub_numsub("errands:owner:o1")[0][1] == 1)

        send(scene)

        assert eventually(lambda: heard_by(ear)) == "s1"
    assert scene.store.llen(keys.BELL) == 0
    assert due(scene) == before


def heard_by(ear: PubSub) -> str:
    message = cast("dict[str, str] | None", ear.get_message())
    return message["data"] if message else ""


def test_mail_for_a_session_whose_owner_is_late_makes_it_due(scene: Scene) -> None:
    scene.owned()
    lease_runs_out(scene)
    scene.store.delete(keys.BELL)

    send(scene)

    assert scene.store.llen(keys.BELL) == 1
    assert scene.run(sessions.peek(10)).members == ("s1",)


def test_waking_a_session_that_is_due_already_does_not_send_it_to_the_end_of_the_line(scene: Scene) -> None:
    scene.run(scene.create())
    scene.store.zadd(keys.DUE, {"s1": 5})

    send(scene)

    assert due(scene) == 5


def test_the_bell_keeps_the_newest_strokes_only(scene: Scene) -> None:
    scene.run(scene.create(""))

    for number in range(100):
        send(scene, f"m{number}")

    assert scene.store.llen(keys.BELL) == 64


def test_a_letter_is_accepted_once_an_id(scene: Scene) -> None:
    scene.owned()

    first, second = send(scene), send(scene)

    assert (first.outcome, second.outcome) == ("sent", "duplicate")
    assert first.seq == second.seq
    assert len(scene.letters()) == 2
    assert 0 < scene.store.pttl(keys.receipt("s1", "m1")) <= keys.MAIL_RECEIPT_MS


def test_a_full_mailbox_takes_control_mail_and_ends_of_calls_only(scene: Scene) -> None:
    scene.owned()
    scene.queued()
    for number in range(keys.MAIL_BOUND - 1):
        send(scene, f"m{number}")

    assert send(scene, "one more").outcome == "full"
    assert send(scene, "stop", kind="control").outcome == "sent"
    scene.long_ago()
    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "ended"
    assert len(scene.completion_letters()) == 1


def test_mail_for_no_session_is_refused_and_leaves_nothing(scene: Scene) -> None:
    assert send(scene).outcome == "unknown"
    assert everything(scene.store) == {}


@pytest.fixture
def declared(settings: Settings, store: redis.Redis) -> Iterator[DeclaredOnly]:
    client = DeclaredOnly(settings)
    yield client
    client.close()


def test_a_commit_of_a_hundred_calls_declares_every_key(scene: Scene, declared: DeclaredOnly) -> None:
    scene.owned()
    cids = [f"c{number}" for number in range(100)]
    step = scene.commit(
        records=tuple(new_record(cid) for cid in cids),
        publish=tuple(publication(cid, queue=f"q{number % 3}") for number, cid in enumerate(cids)),
    )

    assert declared.run(step).outcome == "ok"
