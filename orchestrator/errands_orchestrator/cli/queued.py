"""Messages that a person typed and the model has not had yet. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from errands_config.text import clean, framed


@dataclass(frozen=True, slots=True)
class Queued:
    """One of them."""

    mail_id: str
    text: str
    interrupt: bool = False
    seq: str = ""
    """Its place in the mailbox; empty until the store has it."""


def still_queued(queued: Sequence[Queued], cursor: str, waiting: Iterable[str]) -> tuple[Queued, ...]:
    """Those that the model has not had, in their order.

    `cursor`: up to where the session took its mail in; `waiting`: what people said of that and no request has held
    yet, as it will be shown. Of equal texts the later ones wait.
    """
    left = Counter(waiting)
    kept: list[Queued] = []
    for one in reversed(queued):
        shown = framed(clean(one.text).text)
        if not one.seq or _place(one.seq) > _place(cursor):
            kept.append(one)
        elif left[shown]:
            left[shown] -= 1
            kept.append(one)
    return tuple(reversed(kept))


def _place(seq: str) -> tuple[int, int]:
    ms, number = seq.split("-")
    return int(ms), int(number)
