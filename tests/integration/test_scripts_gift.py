"""A parked session that is woken goes back to who parked it, if that still listens; else it falls due for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from tests.integration.script_scenes import LEASE_MS, Scene
from tests.waiting import eventually

from errands_config import keys
from errands_config.scripts import commits, sessions
from errands_config.scripts.gifts import Gift, read_gift, refuse
from errands_config.scripts.sessions import Acquired, Rest

CHANNEL = "errands:owner:o1"
"""On which the owners of a Scene listen."""


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    return Scene(store)


@pytest.fixture
def heard(store: redis.Redis) -> Iterator[Callable[[], str]]:
    """What comes on the owner's channel next, which is listened to."""
    with store.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(CHANNEL)
        eventually(lambda: store.pubsub_numsub(CHANNEL)[0][1], saying="somebody listens")

        def message() -> str:
            found: Any = listening.get_message(timeout=0.1)
            return found["data"] if found else ""

        def next_one() -> str:
            return eventually(message, saying="a message")

        yield next_one


def rest(scene: Scene, offer: str = "t2") -> None:
    """Take in the first mail and park."""
    got = scene.owned()
    step = scene.step(cursor=got.mail[-1].seq, log=("one",), snapshot='{"a":1}')
    answer = scene.run(commits.commit(scene.sid, scene.token, step, LEASE_MS, Rest("idle", offer=offer)))
    assert answer.outcome == "parked"


def send(scene: Scene, mail_id: str = "m1") -> None:
    assert scene.run(sessions.send_mail(scene.sid, mail_id, "userMessage", f"text of {mail_id}")).outcome == "sent"


def given(message: str) -> Gift:
    gift = read_gift(message)
    assert gift
    return gift


def due_in(scene: Scene) -> float:
    """Milliseconds until it is due."""
    seconds, micros = scene.store.time()
    score = scene.store.zscore(keys.DUE, scene.sid)
    assert score is not None
    return score - seconds * 1000 - micros / 1000


def test_a_letter_gives_the_session_back_with_its_head_and_mail_and_a_lease(
    scene: Scene, heard: Callable[[], str]
) -> None:
    rest(scene)
    send(scene)

    gift = given(heard())

    assert (gift.token, gift.owned.head.sid, gift.owned.head.snapshot) == ("t2", "s1", '{"a":1}')
    assert (gift.owned.head.version, gift.owned.head.entries) == (1, 1)
    assert [letter.text for letter in gift.owned.mail] == ["text of m1"]
    assert 0 < due_in(scene) <= LEASE_MS
    assert scene.run(scene.acquire("t3")) == "owned"
    step = scene.step(version=1, cursor=gift.owned.mail[-1].seq)
    assert scene.run(commits.commit("s1", "t2", step, LEASE_MS)).outcome == "ok"


def test_a_gift_is_what_an_acquisition_would_have_been(scene: Scene, heard: Callable[[], str]) -> None:
    rest(scene)
    send(scene)
    acquired = scene.run(scene.acquire("t2"))  # the same token again

    assert isinstance(acquired, Acquired)
    gift = given(heard()).owned
    assert (gift.head, gift.mail) == (acquired.head, acquired.mail)


def test_a_session_is_given_once_and_further_mail_is_only_told(scene: Scene, heard: Callable[[], str]) -> None:
    rest(scene)
    send(scene)
    send(scene, "m2")

    assert given(heard()).token == "t2"
    assert (message := heard()) == "s1"
    assert read_gift(message) is None


@pytest.mark.parametrize("offer", ["", "t2"])
def test_where_nobody_listens_or_nothing_was_offered_the_session_falls_due_for_everybody(
    offer: str, scene: Scene
) -> None:
    rest(scene, offer)
    scene.store.delete(keys.BELL)
    send(scene)

    assert due_in(scene) <= 0
    assert scene.store.lrange(keys.BELL, 0, -1) == ["s1"]
    assert isinstance(scene.run(scene.acquire("t3")), Acquired)


def test_an_offer_is_void_once_somebody_else_had_the_session(scene: Scene, heard: Callable[[], str]) -> None:
    rest(scene)
    scene.run(scene.acquire("t3", named=True))
    scene.run(sessions.park("s1", "t3", Rest("idle"), LEASE_MS))
    send(scene)

    assert due_in(scene) <= 0
    assert scene.run(scene.commit("t2")).outcome == "stale"


def test_a_session_that_is_due_already_is_nobodys_gift(scene: Scene, heard: Callable[[], str]) -> None:
    rest(scene)
    scene.store.zadd(keys.DUE, {"s1": 1})
    send(scene)

    assert scene.store.hget(keys.session("s1"), "token") == ""


def test_a_full_mailbox_is_fetched_and_not_given(scene: Scene, heard: Callable[[], str]) -> None:
    rest(scene)
    for number in range(9):
        scene.store.xadd(keys.mail("s1"), {"id": str(number), "kind": "control", "sender": "user", "at": "1"})
    send(scene)

    assert due_in(scene) <= 0


def test_a_gift_that_is_refused_falls_due_for_everybody(scene: Scene, heard: Callable[[], str]) -> None:
    rest(scene)
    send(scene)
    scene.store.delete(keys.BELL)

    assert scene.run(refuse("s1", given(heard()).token)) == "ok"

    assert due_in(scene) <= 0
    assert scene.store.lrange(keys.BELL, 0, -1) == ["s1"]
    assert isinstance(scene.run(scene.acquire("t3")), Acquired)


# ---- commit and park at once


def test_a_commit_that_parks_hands_over_unread_mail_instead(scene: Scene) -> None:
    got = scene.owned()
    send(scene)
    step = scene.step(cursor=got.mail[-1].seq)

    answers = [scene.run(commits.commit("s1", "t1", step, LEASE_MS, Rest("idle"))) for _ in range(2)]

    assert [answer.outcome for answer in answers] == ["mail", "mail"]
    assert [letter.text for letter in answers[0].mail] == ["text of m1"]
    assert scene.run(scene.acquire("t2")) == "owned"


def test_a_commit_that_parked_says_so_again_even_when_somebody_else_has_the_session(scene: Scene) -> None:
    got = scene.owned()
    step = scene.step(cursor=got.mail[-1].seq)
    commit = commits.commit("s1", "t1", step, LEASE_MS, Rest("idle"))
    scene.run(commit)
    scene.run(scene.acquire("t2", named=True))

    assert scene.run(commit).outcome == "parked"
    assert scene.store.hget(keys.session("s1"), "token") == "t2"
