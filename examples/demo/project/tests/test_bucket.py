"""The bucket on the real clock, so these tests take their time."""

import time

import pytest

from ratelimit import TokenBucket


def emptied(rate: float) -> TokenBucket:
    bucket = TokenBucket(rate, burst=1)
    assert bucket.take()
    return bucket


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_a_full_bucket_gives_its_burst_and_then_makes_one_wait(burst: int) -> None:
    bucket = TokenBucket(rate=2, burst=burst)
    assert all(bucket.take() for _ in range(burst))
    assert not bucket.take()
    assert bucket.wait(timeout=2)


@pytest.mark.parametrize("rate", [2.0, 2.2, 2.4, 2.6])
def test_who_waits_gets_a_token_when_the_rate_allows_it(rate: float) -> None:
    bucket = emptied(rate)
    began = time.monotonic()
    assert bucket.wait(timeout=2)
    assert time.monotonic() - began > 0.9 / rate


@pytest.mark.parametrize("pause", [0.6, 0.7, 0.8])
def test_tokens_come_back_while_nobody_asks(pause: float) -> None:
    bucket = emptied(rate=2)
    time.sleep(pause)
    assert bucket.take()


def test_who_cannot_wait_long_enough_gets_nothing_at_once() -> None:
    began = time.monotonic()
    assert not emptied(rate=0.1).wait(timeout=3)
    assert time.monotonic() - began < 2


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    bucket = TokenBucket(rate=4, burst=2)
    time.sleep(0.6)
    assert bucket.take()
    assert bucket.take()
    assert not bucket.take()
