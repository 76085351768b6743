"""What a person types while a run goes on: what a line means, and which messages the model has not had."""

from hypothesis import given
from hypothesis import strategies as st

from errands_config.text import clean, framed
from errands_orchestrator.cli.queued import Queued, still_queued
from errands_orchestrator.cli.typed import HELP, CancelOne, ListCalls, Message, Remark, meaning


def test_a_line_is_a_message_unless_it_begins_with_a_mark() -> None:
    assert meaning("how long? ") == Message("how long?")
    assert meaning("! stop that") == Message("stop that", interrupt=True)
    assert meaning(" /usr/bin is empty") == Message("/usr/bin is empty")
    assert meaning(" !important") == Message("!important")
    assert meaning("  ") is None


def test_commands_are_few_and_an_unknown_one_says_which_there_are() -> None:
    assert meaning("/calls") == ListCalls()
    assert meaning("/cancel  call_1 ") == CancelOne("call_1")
    assert meaning("/help") == Remark(HELP)
    assert meaning("/stop now") == Remark("there is no /stop; there are /calls, /cancel CALL and /help")
    assert isinstance(meaning("/cancel"), Remark)
    assert isinstance(meaning("!"), Remark)


@given(st.text(st.characters(exclude_categories=())))
def test_every_line_means_something_that_can_be_sent_or_is_blank(line: str) -> None:
    typed = meaning(line)
    assert (typed is None) == (not clean(line).text.strip())
    assert str(typed).encode()


def test_what_a_terminal_pastes_that_is_no_text_is_marked() -> None:
    assert meaning("caf\udce9\r\nau lait\x07") == Message("caf\ufffd\nau lait")


def queued(*texts: str, upto: int | None = None) -> tuple[Queued, ...]:
    """Messages at places 1-0, 2-0, …; those behind `upto` are not sent yet."""
    sent = len(texts) if upto is None else upto
    return tuple(
        Queued(f"id{place}", text, seq=f"{place}-0" if place <= sent else "") for place, text in enumerate(texts, 1)
    )


def test_what_is_not_sent_or_not_taken_in_yet_is_queued() -> None:
    messages = queued("a", "b", "c", upto=2)

    assert still_queued(messages, "1-0", ()) == messages[1:]
    assert still_queued(messages, "10-0", ()) == messages[2:]


def test_what_was_taken_in_is_queued_until_a_request_holds_it() -> None:
    messages = queued("a", "b", "c")

    assert still_queued(messages, "3-0", ["b", "c"]) == messages[1:]


def test_of_equal_messages_the_later_ones_wait() -> None:
    messages = queued("again", "again", "again")

    assert still_queued(messages, "3-0", ["again"]) == messages[2:]


@given(st.lists(st.text(min_size=1), max_size=8), st.data())
def test_the_queue_is_what_the_session_has_not_shown_whatever_was_said(texts: list[str], data: st.DataObject) -> None:
    taken_in = data.draw(st.integers(0, len(texts)))
    shown = data.draw(st.integers(0, taken_in))
    messages = queued(*texts)
    waiting = [framed(clean(text).text) for text in texts[shown:taken_in]]

    assert still_queued(messages, f"{taken_in}-0", waiting) == messages[shown:]
