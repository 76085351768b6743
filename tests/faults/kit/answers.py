"""What the clerk did about deferred calls and what it was told: one line each, appended to a file in one write."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Verb: TypeAlias = Literal["complete", "fail", "deny", "approve", "cancel"]


class Answer(BaseModel):
    """One answer to one call, with what came of it."""

    model_config = ConfigDict(frozen=True)

    call: str
    verb: Verb
    text: str = ""
    """What the model reads if this is how the call ends; empty for `approve` and `cancel`."""
    is_taken: bool
    """Whether the clerk got a receipt; for `cancel`: that the call was cancelled."""
    why: str = ""
    """Of an answer that was refused."""


def append(file: Path, answer: Answer) -> None:
    """Write one answer down."""
    opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(opened, f"{answer.model_dump_json()}\n".encode())
    finally:
        os.close(opened)


def answers_in(file: Path) -> dict[str, tuple[Answer, ...]]:
    """Every answer that was written down, by call."""
    found: dict[str, tuple[Answer, ...]] = defaultdict(tuple)
    for line in file.read_text().splitlines() if file.exists() else ():
        answer = Answer.model_validate_json(line)
        found[answer.call] += (answer,)
    return found
