"""What is kept of a script's output, however it arrives."""

from hypothesis import given
from hypothesis import strategies as st

from errands_config.text import decode
from errands_workers.kinds.output import Ends, Lines, WholeLines, head_bytes

CHUNKS = st.lists(st.binary(max_size=40), max_size=20)
MARK = "[truncated: result exceeded"


def ends_of(chunks: list[bytes], max_bytes: int) -> Ends:
    ends = Ends(max_bytes)
    for chunk in chunks:
        ends.add(chunk)
    return ends


@given(st.lists(st.text("ab\n", max_size=40), max_size=20))
def test_what_fits_is_kept_whole(pieces: list[str]):
    text = "".join(pieces)
    assert ends_of([piece.encode() for piece in pieces], 800).text() == text


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=60), min_size=60, max_size=80))
def test_of_what_does_not_fit_both_ends_are_kept_and_the_gap_is_told(pieces: list[str]):
    text, kept = "".join(pieces), ends_of([piece.encode() for piece in pieces], 600).text()
    if MARK not in kept:
        assert kept == text
        return
    head, _, tail = kept.partition("\n" + MARK)
    tail = tail.partition("\n")[2]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(tail) == 300
    assert len(kept) <= 600


def test_memory_stays_bounded_under_an_endless_output():
    ends = Ends(1000)
    for n in range(10_000):
        ends.add(b"%07d\n" % n)
    kept = ends.text()
    assert (kept.startswith("0000000\n"), kept.endswith("0009999\n"), len(kept) <= 1000) == (True, True, True)


def test_a_character_that_is_cut_at_the_edge_is_marked_and_not_lost_silently():
    assert "\ufffd" in ends_of(["é".encode() * 2000], 401).text() + ends_of(["é".encode()[:1]], 401).text()


def printed(data: bytes, size: int, max_bytes: int) -> list[str]:
    lines = WholeLines(max_bytes)
    return [*(lines.add(data[at : at + size]) for at in range(0, len(data), size)), lines.finish()]


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\x1b[31m", b"\x1b", "é".encode(), b"\xff", b"\0"])),
    st.integers(1, 7),
)
def test_what_is_passed_on_meanwhile_is_the_text_in_whole_lines_however_the_stream_is_cut(
    parts: list[bytes], size: int
):
    data = b"".join(parts)
    pieces = printed(data, size, 1000)
    whole = decode(data if data.endswith(b"\n") or not data else data + b"\n").text
    assert "".join(pieces) == whole
    assert all(piece.endswith("\n") for piece in pieces if piece)


@given(st.lists(st.text("abé\n", max_size=60), max_size=60), st.integers(1, 50))
def test_as_much_as_is_kept_meanwhile_is_the_beginning_of_what_is_kept_in_the_end(pieces: list[str], size: int):
    data = "".join(pieces).encode()
    ends = ends_of([data[at : at + size] for at in range(0, len(data), size)], 800)
    meanwhile = "".join(printed(data, size, 800)).encode()[: head_bytes(800)].decode(errors="ignore")
    assert f"{ends.text()}\n".startswith(meanwhile[: meanwhile.rfind("\n") + 1])


def test_a_line_without_an_end_is_not_kept_back_for_ever():
    lines = WholeLines(100)
    given_away = [lines.add(b"x" * 30) for _ in range(20)]
    assert sum(map(len, given_away)) >= 500


def test_the_tail_is_the_end_of_what_was_printed():
    assert ends_of([b"one two ", b"three"], 100).tail(5) == "three"
    assert ends_of([b"abc"], 100).tail(50) == "abc"
    assert ends_of([b"x" * 500 + b"the end"], 100).tail(7) == "the end"


@given(CHUNKS)
def test_lines_are_counted_alike_however_the_stream_is_cut(chunks: list[bytes]):
    data = b"".join(chunks)
    whole, cut = Lines("stdout"), Lines("stdout")
    list(whole.add(data))
    for chunk in chunks:
        list(cut.add(chunk))
    for lines in (whole, cut):
        list(lines.finish())
    assert (whole.count, whole.bytes, whole.last) == (cut.count, cut.bytes, cut.last)
    assert (whole.count, whole.bytes) == (data.count(b"\n"), len(data))


@given(st.lists(st.text("abc :", max_size=30), max_size=10), st.integers(1, 7))
def test_every_notify_on_stderr_is_heard_once_however_the_stream_is_cut(texts: list[str], size: int):
    data = "".join(f"::notify:: {text}\nother\n" for text in texts).encode()
    lines = Lines("stderr")
    heard = [note for at in range(0, len(data), size) for note in lines.add(data[at : at + size])]
    assert heard == [text.strip() for text in texts]
    assert lines.last == ("other" if texts else "")


def test_a_notify_without_a_newline_is_heard_at_the_end_and_on_stdout_it_is_text():
    lines = Lines("stderr")
    assert list(lines.add(b"::notify:: last words")) == []
    assert list(lines.finish()) == ["last words"]
    plain = Lines("stdout")
    assert list(plain.add(b"::notify:: no\n")) == []
    assert plain.last == "::notify:: no"


def test_progress_bars_show_their_newest_state_and_long_lines_their_beginning():
    lines = Lines("stdout")
    list(lines.add(b"10%\r20%\r30%"))
    assert (lines.last, lines.count) == ("20%", 0)
    list(lines.add(b"\n" + b"y" * 100_000 + b"\n"))
    assert lines.last == "y" * 4096
