"""The gate for foreign text: what it takes out, what it leaves, and how long it takes."""

import random
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from errands_config.text import clean, decode, for_terminal, short

# every kind of character that the gate knows about, more often than chance would have it
HOSTILE = st.lists(
    st.sampled_from([*"\0\x07\x08\t\n\r\x0b\x0c\x1b\x7f\x85\x90\x9b\x9c\x9d", *"[]();0123mK\\PX^_ ~ab"])
    | st.sampled_from(["\ud800", "\udc00", "\u202e", "\u2066", "\u2028", "\u2400", "\ufffd", "é", "😀", "\x1b[31m"])
).map("".join)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(HOSTILE)
@example("\x1b\x1b[0m[31m")
@example("\x1b]\ud800\r\x07")
def test_clean_text_holds_nothing_that_a_store_or_terminal_would_stumble_over(text: str) -> None:
    cleaned = clean(text)
    assert not FORBIDDEN.search(cleaned.text)
    cleaned.text.encode()


@given(HOSTILE)
def test_cleaning_again_changes_nothing(text: str) -> None:
    once = clean(text)
    assert clean(once.text).text == once.text
    assert not clean(once.text).changed


@given(HOSTILE)
def test_a_change_is_reported_exactly_when_there_was_one(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.changed == (cleaned.text != text)


@given(st.text(st.characters(exclude_categories=["C"]) | st.sampled_from("\n\t")))
def test_ordinary_text_passes_unchanged(text: str) -> None:
    assert clean(text).text == text
    assert not clean(text).changed


@given(st.binary())
def test_any_bytes_become_clean_text(data: bytes) -> None:
    cleaned = decode(data)
    assert not FORBIDDEN.search(cleaned.text)
    assert cleaned.changed == (cleaned.text.encode() != data)


@pytest.mark.parametrize(
    ("sequence", "left"),
    [
        ("\x1b[2J", ""),
        ("\x1b[38;5;12m", ""),
        ("\x1b[?25l", ""),
        ("\x1b]0;title\x07", ""),
        ("\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;c2VjcmV0\x07", ""),
        ("\x1bPq#0;2;0;0;0~\x1b\\", ""),
        ("\x1b_Gf=100;AAAA\x1b\\", ""),
        ("\x1b(B", ""),
        ("\x1bc", ""),
        ("\x1b7", ""),
        ("\x9b31m", ""),
        ("\x9d0;title\x9c", ""),
        ("\x1b[31", ""),
        ("\x07\x08", ""),
        ("\u202eevil\u202c\u2066\u2069", "evil"),
    ],
)
def test_what_a_terminal_would_obey_is_removed_whole(sequence: str, left: str) -> None:
    assert clean(f"before{sequence}after").text in (f"before{left}after", f"before{left}fter")
    assert clean(f"before {sequence}\nafter").text == f"before {left}\nafter"


def test_an_escape_string_left_open_hides_nothing_that_follows() -> None:
    assert clean("\x1b]0;open\nFAILED: 3 tests").text == "0;open\nFAILED: 3 tests"


def test_nul_becomes_a_visible_mark_and_its_spelling_stays() -> None:
    assert decode(b"W\0s\0l\0 \xff \\u0000").text == "W␀s␀l␀ \ufffd \\u0000"


def test_lone_surrogates_become_a_mark_and_a_pair_becomes_its_character() -> None:
    assert clean("a\ud800b\udc00c").text == "a\ufffdb\ufffdc"
    assert clean("\ud83d\ude00").text == "😀"


def test_every_line_end_of_a_progress_bar_becomes_a_newline() -> None:
    assert clean("10%\r20%\r\ndone\n").text == "10%\n20%\ndone\n"


def test_bytes_that_are_no_utf8_are_noted_as_changed() -> None:
    assert decode(b"caf\xe9").text == "caf\ufffd"
    assert decode(b"caf\xe9").changed
    assert not decode("café".encode()).changed


def test_the_last_line_that_says_something_is_the_short_form() -> None:
    assert short("collecting\n  128 tests passed  \n\n \t\n") == "128 tests passed"
    assert short(" \n\n") == ""
    assert short("") == ""


@given(st.text(), st.integers(1, 30))
def test_the_short_form_is_one_line_of_bounded_length(text: str, n: int) -> None:
    line = short(text, n)
    assert len(line) <= n
    assert len(line.splitlines()) <= 1


@given(HOSTILE)
def test_a_terminal_gets_plain_lines_only(text: str) -> None:
    shown = for_terminal(text)
    assert shown.splitlines() == shown.removesuffix("\n").split("\n") or not shown
    assert "\t" not in shown
    assert not FORBIDDEN.search(shown)


BULK = {
    "lines": b"the quick brown fox jumps over the dog\n",
    "lines beyond ascii": "größere … Füchse 😀\n".encode(),
    "one line": b"x",
    "nul after every character": b"W\0s\0",
    "control characters": b"a\x01",
    "colours": b"\x1b[31mred\x1b[0m ",
    "progress": b"10%\r",
}


def in_proportion(work: Callable[[int], object], size: int) -> bool:
    """Whether eight times as much costs about eight times the CPU, and not sixty-four times."""

    def cost(amount: int) -> float:
        started = time.process_time()
        work(amount)
        return time.process_time() - started

    few = min(cost(size // 8) for _ in range(3))
    return cost(size) < 24 * few + 0.05


@pytest.mark.parametrize("unit", BULK.values(), ids=BULK.keys())
def test_bulk_is_cleaned_in_proportion_to_its_size(unit: bytes) -> None:
    assert in_proportion(lambda size: decode(unit * (size // len(unit))), 16_000_000)


WORST = {
    "escape characters": b"\x1b",
    "strings left open": b"\x1b]0;",
    "one string left open, and ends that are none": b"\x1b]" + b"\xc2\x9d" * 100,
    "sequences left open": b"\x1b[3;",
    "noise": random.Random(7).randbytes(1_000_000),
}


@pytest.mark.parametrize("unit", WORST.values(), ids=WORST.keys())
def test_the_worst_is_cleaned_in_proportion_to_its_size(unit: bytes) -> None:
    assert in_proportion(lambda size: decode((unit * (1 + size // len(unit)))[:size]), 8_000_000)


def test_lone_surrogates_are_replaced_in_proportion_to_their_number() -> None:
    assert in_proportion(lambda size: clean("\ud800" * size), 2_000_000)
