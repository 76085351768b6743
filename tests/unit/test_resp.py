"""The store's protocol: commands as the library writes them, answers whatever pieces they come in."""

import itertools
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.connection import Connection
from redis.exceptions import DataError, InvalidResponse, NoScriptError, ResponseError

from errands_config.resp import Answer, Answers, Part, packed

PARTS = st.text() | st.binary() | st.integers() | st.floats(allow_nan=False)
ANSWERS: st.SearchStrategy[Answer] = st.recursive(
    st.text() | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=4), max_leaves=20
)


def written(answer: Answer) -> bytes:
    """An answer as a store writes it."""
    match answer:
        case None:
            return b"$-1\r\n"
        case int():
            return b":%d\r\n" % answer
        case str():
            return b"$%d\r\n%b\r\n" % (len(answer.encode()), answer.encode())
        case list():
            return b"*%d\r\n" % len(answer) + b"".join(map(written, answer))
        case _:
            raise AssertionError


def cut(text: bytes, places: Sequence[int]) -> list[bytes]:
    """The same in pieces."""
    at = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(at)]


@given(st.sampled_from(["GET", "CLIENT LIST"]), st.lists(PARTS))
def test_a_command_is_sent_as_the_library_sends_it(name: str, parts: list[Part]):
    assert packed(name, *parts) == b"".join(Connection().pack_command(name, *parts))


@given(st.lists(ANSWERS, max_size=5), st.lists(st.integers(0), max_size=10))
def test_answers_are_read_whatever_pieces_they_come_in(sent: list[Answer], places: list[int]):
    reader = Answers()
    assert [one for piece in cut(b"".join(map(written, sent)), places) for one in reader.feed(piece)] == sent


@pytest.mark.parametrize("part", [None, True, ("a",)])
def test_what_is_no_part_of_a_command_is_refused(part: Any):
    with pytest.raises(DataError):
        packed("SET", "key", part)


def test_a_refusal_is_the_librarys_exception_for_it_and_ends_nothing():
    refused, unknown, fine = Answers().feed(b"-NOSCRIPT No matching script.\r\n-ERR unknown command\r\n+OK\r\n")
    assert isinstance(refused, NoScriptError)
    assert isinstance(unknown, ResponseError)
    assert fine == "OK"


def test_an_array_that_is_absent_is_none():
    assert Answers().feed(b"*-1\r\n*0\r\n") == [None, []]


@pytest.mark.parametrize("text", [b"HTTP/1.1 400 Bad Request\r\n", b"%1\r\n", b"\r\n"])
def test_what_is_no_answer_of_a_store_is_refused(text: bytes):
    with pytest.raises(InvalidResponse):
        Answers().feed(text)


def test_a_huge_answer_in_small_pieces_takes_no_more_work_than_its_size():
    size, piece = 64 * 1024 * 1024, b"x" * 16_384
    reader = Answers()
    began = time.process_time()
    assert reader.feed(b"$%d\r\n" % size) == []
    for _ in range(size // len(piece)):
        assert reader.feed(piece) == []
    assert reader.feed(b"\r\n") == ["x" * size]
    assert time.process_time() - began < 5  # seconds; put together again at each piece it would be minutes
