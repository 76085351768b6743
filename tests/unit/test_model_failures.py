"""What is said when a model endpoint fails: cause, the endpoint's own words, what to do, and never the key."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from errands_config.errors import ModelError
from errands_orchestrator.models.failures import Failures, retry_after

KEY = "sk-proj-0123456789abcdef"
NOW = datetime(2030, 5, 17, 12, 0, 0, tzinfo=UTC)
failures = Failures("http://model.example/v1", SecretStr(KEY))


def refused(status: int, body: object = None, **headers: str) -> ModelError:
    return failures.refused(status, headers, body, now=NOW)


@pytest.mark.parametrize(
    ("status", "cause", "retryable"),
    [
        (400, "endpoint refused the request", False),
        (401, "endpoint refused the key", False),
        (403, "endpoint refused the key", False),
        (404, "endpoint refused the request", False),
        (408, "endpoint failed", True),
        (409, "endpoint failed", True),
        (413, "endpoint refused the request", False),
        (422, "endpoint refused the request", False),
        (429, "endpoint limits the rate", True),
        (500, "endpoint failed", True),
        (503, "endpoint failed", True),
        (529, "endpoint failed", True),
    ],
)
def test_each_status_has_its_cause_and_says_whether_to_try_again(status: int, cause: str, retryable: bool) -> None:
    error = refused(status)
    assert (error.cause, error.retryable) == (cause, retryable)
    assert f"answered {status}" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no such model"}},
        {"message": "no such model", "code": None},
        {"error": "no such model"},
        {"detail": "no such model"},
        "no such model",
    ],
)
def test_the_words_of_the_endpoint_are_quoted_wherever_it_puts_them(body: object) -> None:
    expected = "http://model.example/v1 answered 404 (no such model). Check `modelUrl`, `modelName` and `flavor`"
    assert str(refused(404, body)).startswith(expected)


def test_a_page_of_html_is_named_and_not_quoted() -> None:
    assert str(refused(502, "<!doctype html><p>Bad gateway")) == "http://model.example/v1 answered 502 (an HTML page)."


def test_long_words_are_cut() -> None:
    quoted = str(refused(400, "a" * 5000)).partition("(")[2].partition(")")[0]
    assert quoted == "a" * 299 + "…"


def test_words_are_made_one_printable_line() -> None:
    assert "(red text on two lines)" in str(
        refused(400, "\x1b[31mred\x1b[0m text\r\n\r\n on\ttwo lines\0".replace("\0", ""))
    )


@pytest.mark.parametrize(
    "words",
    [
        f"Incorrect API key provided: {KEY}.",
        f'header "Bearer {KEY}" is refused',
        "Incorrect API key provided: sk-proj-****cdef.",
        "x" * 290 + " " + KEY,
    ],
)
def test_a_key_in_the_words_of_the_endpoint_is_hidden(words: str) -> None:
    for error in (
        refused(401, {"error": {"message": words}}),
        failures.reported({"message": words}),
        failures.garbage(words),
        failures.unreachable(words),
    ):
        assert "sk-pro" not in str(error)
        assert "cdef" not in str(error)


keys = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=7, max_size=40)


@given(keys, st.text(), st.text())
def test_no_key_survives_in_any_text(key: str, before: str, after: str) -> None:
    text = str(Failures("-", SecretStr(key)).garbage(before + key + after))
    assert key not in text.removeprefix("- answered what is no chat completion:")


def test_a_placeholder_for_a_key_is_hidden_only_as_a_word() -> None:
    text = str(Failures("-", SecretStr("no")).garbage("the key no is not known"))
    assert text.endswith("the key [key] is not known.")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Fri, 17 May 2030 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 17 May 2030 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Fri, 17 May 2030 11:00:00 GMT"}, 0.0),
    ],
)
def test_what_the_endpoint_asks_to_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
    assert failures.refused(429, headers, None, now=NOW).retry_after == seconds


@given(st.text())
def test_any_retry_after_is_a_time_or_nothing(value: str) -> None:
    seconds = retry_after({"retry-after": value}, NOW)
    assert seconds is None or seconds >= 0


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_error_body_becomes_one_line_of_bounded_length(body: object) -> None:
    text = str(refused(418, body))
    assert len(text.splitlines()) == 1
    assert len(text) < 500
