"""Long texts in pages: every character once, whatever is written meanwhile, and no line cut without need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_orchestrator.paging import NotACursor, cursor_at, ends_of, line_at, line_count, page_end, place_of

TEXTS = st.text("ab é\n\U0001f600", max_size=60)
LINES = st.lists(TEXTS.map(lambda text: f"{text.replace(chr(10), ' ')}\n"), max_size=8).map("".join)
ROOMS = st.integers(1, 20)


def pages_of(text: str, max_bytes: int) -> list[str]:
    pages: list[str] = []
    at = 0
    while at < len(text):
        end = page_end(text, at, max_bytes)
        pages.append(text[at:end])
        at = end
    return pages


@given(TEXTS, ROOMS)
def test_the_pages_of_a_text_are_the_text(text: str, room: int):
    pages = pages_of(text, room)
    assert "".join(pages) == text
    assert all(pages)


@given(TEXTS, ROOMS)
def test_a_page_is_within_its_size_unless_one_character_is_larger(text: str, room: int):
    assert all(len(page.encode()) <= room or len(page) == 1 for page in pages_of(text, room))


@given(TEXTS, ROOMS)
def test_a_line_is_cut_only_where_it_is_longer_than_a_page(text: str, room: int):
    *pages, _ = [*pages_of(text, room), ""]
    at = 0
    for page in pages:
        at += len(page)
        if not page.endswith("\n") and at < len(text):
            assert len((page + text[at]).encode()) > room
            assert "\n" not in page


WRITES = LINES.map(lambda text: ("write", text))
READS = ROOMS.map(lambda room: ("read", room))


@given(st.lists(WRITES | READS, max_size=20))
def test_whatever_is_written_and_read_in_turn_each_character_is_given_once(steps: list[tuple[str, str | int]]):
    written, read, cursor = "", "", ""
    to_the_end = [("read", 20)] * sum(len(str(value)) for _, value in steps)
    for what, value in [*steps, *to_the_end]:
        if what == "write":
            written += str(value)
            continue
        place = place_of(cursor, written) if cursor else 0
        assert place is not None
        assert written[:place] == read
        end = page_end(written, place, int(value))
        read += written[place:end]
        cursor = cursor_at(written, end)
    assert read == written


@given(LINES, TEXTS)
def test_a_cursor_goes_on_in_the_result_that_the_output_became(output: str, more: str):
    result = (output + more).removesuffix("\n")
    place = place_of(cursor_at(output, len(output)), result)
    assert place == min(len(output), len(result))


@given(LINES.filter(bool), TEXTS)
def test_a_cursor_does_not_fit_a_text_that_is_another_one(output: str, other: str):
    cursor = cursor_at(output, len(output))
    same = f"{other}\n"[: len(output)] == output
    assert (place_of(cursor, other) is not None) == same


NO_CURSORS = ("", "5", "5-", "-5-00000000", "5-XYZ", "5-0000000g", "99999999999-00000000", "5-00000000\n")


@pytest.mark.parametrize("text", NO_CURSORS)
def test_what_no_answer_gave_is_no_cursor(text: str):
    with pytest.raises(NotACursor):
        place_of(text, "a text")


@given(TEXTS.filter(bool), st.integers(2, 40))
def test_the_ends_of_a_text_are_its_ends_and_within_the_size(text: str, room: int):
    if len(text.encode()) <= room:
        return
    ends = ends_of(text, room)
    assert 0 < ends.head <= ends.tail <= len(text)
    shown = text[: ends.head] + text[ends.tail :]
    assert len(shown.encode()) <= room or ends.head == 1


def test_the_ends_of_a_log_are_whole_lines():
    log = "".join(f"line {number}\n" for number in range(1, 1001))
    ends = ends_of(log, 100)
    assert (log[: ends.head].splitlines()[-1], log[ends.tail :].splitlines()[0]) == ("line 7", "line 996")
    assert (line_at(log, ends.head), line_at(log, ends.tail)) == (8, 996)


def test_lines_are_counted_as_a_reader_would():
    assert [line_count(text) for text in ("", "a", "a\n", "a\nb", "\n\n")] == [0, 1, 1, 2, 2]
