"""The one gate for text from outside: tools, models, people, other sessions.

Order of use: `decode` or `clean` where text enters, then `cap` or `head_and_tail` for its size, then `framed` where it
is put before a model, or `for_terminal` where it is shown to a person. What passed `clean` holds no lone surrogate, no
NUL, no control character but newline and tab, no terminal sequence and no bidi override: it can be stored, sent and
printed. Every function is pure and takes time linear in its input; the others expect clean text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# What a terminal obeys: CSI, the strings OSC DCS SOS PM APC, charset selection, two-character escapes. A string must be
# closed on its own line: one that is left open would otherwise hide everything that the tool printed after it.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]?|[\]PX^_][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]?|[0-~])")
_ONE_CHARACTER_FORMS = dict(zip("\x90\x98\x9b\x9c\x9d\x9e\x9f", "PX[\\]^_", strict=True))
_CR_IS_NEWLINE = bytes.maketrans(b"\r", b"\n")
_C0_BUT_LINE_ENDS_AND_TAB = bytes([*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])
_C1_AND_BIDI = re.compile("[\x80-\x9f\u202a-\u202e\u2066-\u2069]+")
_FOREIGN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_LINE_ENDS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff"

HOOK_NOTE = "[hook note"
HEADS = ("tool_call_id ", "[mail ", "[event] ", "Background tool calls", HOOK_NOTE)
"""How the lines begin by which a model knows what Errands itself tells it."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Text that passed the gate. `changed`: the gate altered something, which whoever stores it notes."""

    text: str
    changed: bool


def clean(text: str) -> Cleaned:
    r"""Make text safe to store, send and print.

    Terminal sequences and bidi overrides go; `\r\n` and a lone `\r` become a newline; NUL becomes U+2400, a visible
    mark, since what has NULs was often meant as binary; a lone surrogate becomes U+FFFD, a pair its character.
    Other control characters go without a mark: they carry no text, and U+FFFD would treble their size and read as
    damage. An escape that is spelled out, such as the six characters `\u0000`, is text and stays.
    Cleaning twice changes nothing more.
    """
    if not _FOREIGN.search(text):
        return Cleaned(text, changed=False)
    for character, second in _ONE_CHARACTER_FORMS.items():
        text = text.replace(character, f"\x1b{second}")
    data = _encoded(_SEQUENCES.sub("", text)).replace(b"\r\n", b"\n").replace(b"\0", "\u2400".encode())
    # on bytes, since a pattern takes many times longer where every second character is a control character
    plain = data.translate(_CR_IS_NEWLINE, _C0_BUT_LINE_ENDS_AND_TAB).decode()
    return Cleaned(_C1_AND_BIDI.sub("", plain), changed=True)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def decode(data: bytes) -> Cleaned:
    """Clean bytes that should be UTF-8; what is not becomes U+FFFD."""
    try:
        return clean(data.decode())
    except UnicodeDecodeError:
        return Cleaned(clean(data.decode(errors="replace")).text, changed=True)


def cap(text: str, max_bytes: int) -> str:
    """Text of at most `max_bytes` UTF-8 bytes as it is; of longer text the head, and a last line that says so.

    The head is cut on a character border and never larger than `max_bytes`; the last line comes on top.
    """
    if fits(text, max_bytes):
        return text
    return f"{head(text, max_bytes)}\n[truncated: result exceeded {max_bytes} bytes]"


def head_and_tail(text: str, max_bytes: int) -> str:
    """Text of at most `max_bytes` UTF-8 bytes as it is; of longer text both ends, and between them a line that says so.

    The ends together are never larger than `max_bytes`; the line between them comes on top.
    """
    if fits(text, max_bytes):
        return text
    mark = f"[truncated: result exceeded {max_bytes} bytes; its middle is left out]"
    return f"{head(text, max_bytes - max_bytes // 2)}\n{mark}\n{tail(text, max_bytes // 2)}"


def fits(text: str, max_bytes: int) -> bool:
    """Whether clean text takes at most `max_bytes` bytes as UTF-8."""
    return len(text) <= max_bytes and len(text.encode()) <= max_bytes


def head(text: str, max_bytes: int) -> str:
    """The beginning of clean text, at most so many bytes as UTF-8, cut on a character border."""
    return text[:max_bytes].encode()[:max_bytes].decode(errors="ignore")


def tail(text: str, max_bytes: int) -> str:
    """The end of clean text, at most so many bytes as UTF-8, cut on a character border."""
    if not max_bytes:
        return ""
    return text[-max_bytes:].encode()[-max_bytes:].decode(errors="ignore")


def _spelled(words: str) -> str:
    """A pattern for these words with any blanks between them and with characters without width anywhere."""
    letters = (rf"[\s{_UNSEEN}]++" if c == " " else re.escape(c) for c in words)
    return f"[{_UNSEEN}]*+".join(letters)


def _head_pattern(forgeable: Iterable[str]) -> re.Pattern[str]:
    """A line end before a line that begins like one of ours, whatever a reader would overlook in it.

    Overlooked are blanks before it, characters without width anywhere, the kind and number of blanks, and case. Notify
    and completion mail begin with the words `tool call`, which are also everyday text: only the whole line is a head.
    """
    blank = rf"(?:[^\S{_LINE_ENDS}]|[{_UNSEEN}])*+"
    told = rf"{_spelled('tool call ')}[^{_LINE_ENDS}]*(?:{_spelled('notifies:')}|{_spelled('completed:')})"
    heads = "|".join([*map(_spelled, forgeable), rf"{told}{blank}(?:[{_LINE_ENDS}]|\Z)"])
    return re.compile(rf"[{_LINE_ENDS}](?={blank}(?i:{heads}))")


_FORGED = _head_pattern(HEADS)
_FORGED_BESIDE_NOTES = _head_pattern(head for head in HEADS if head != HOOK_NOTE)


def framed(text: str, *, noted: bool = False) -> str:
    """Put `> ` before every line that begins like one of our heads, so that a payload cannot forge a notice.

    Every kind of line end counts, and blanks or characters without width do not hide a head. A line that was marked
    stays as it is when the text is framed again. `noted`: the text was framed before a hook's note came into it.
    """
    forged = _FORGED_BESIDE_NOTES if noted else _FORGED
    return forged.sub(r"\g<0>> ", f"\n{text}")[1:]


def short(text: str, n: int = 100) -> str:
    """The last line that is not blank, at most `n` characters of it; empty if there is none."""
    lines = text.rstrip().rpartition("\n")[2].splitlines()
    last = lines[-1].strip() if lines else ""
    return last if len(last) <= n else f"{last[: n - 1]}…"


def for_terminal(text: str) -> str:
    """What may be written to a person's terminal: clean, one kind of line end, and no tabs, whose width nobody knows.

    Markup of a display library is not its business: print it as plain text.
    """
    return clean(text).text.replace("\u2028", "\n").replace("\u2029", "\n").expandtabs(4)
