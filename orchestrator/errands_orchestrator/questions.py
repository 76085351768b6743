"""Questions of a model to its user, and how they are answered. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from errands_config.errors import InvalidArguments
from errands_config.text import clean
from errands_config.wire import CallState, Outcome

DISMISSED = "dismissed"
"""The reason of who gives none."""

_QUESTION_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Question:
    """What `ask-user` was called with."""

    text: str
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: str) -> Question:
        """From the call's arguments, which its schema accepted."""
        asked = json.loads(arguments)
        return cls(asked["question"], tuple(asked.get("choices", ())))

    def answer(self, said: str) -> str:
        """The answer that is meant: a choice by its text, or by its number from 1; without choices what was said.

        Raises InvalidArguments for what is no answer.
        """
        text = clean(said).text.strip()
        if not text:
            raise InvalidArguments("the answer is empty; --dismiss puts the question aside")
        if not self.choices or text in self.choices:
            return text
        if text.isdecimal() and 1 <= int(text) <= len(self.choices):
            return self.choices[int(text) - 1]
        listed = "; ".join(f"{number} {choice}" for number, choice in enumerate(self.choices, 1))
        raise InvalidArguments(f"{text[:80]!r} is none of the choices, which are: {listed}")

    def late(self, answer: str) -> str:
        """What the model is told of an answer that came after the end."""
        line = " ".join(clean(self.text).text.split())
        quoted = line if len(line) <= _QUESTION_LENGTH else f"{line[: _QUESTION_LENGTH - 1]}…"
        return f'Late answer to your question "{quoted}": {answer}'


def answered(answer: str) -> Outcome:
    """The end of a question that somebody answered."""
    return _ended({"answered": True, "answer": answer})


def dismissed(reason: str) -> Outcome:
    """The end of a question that somebody put aside."""
    return _ended({"answered": False, "reason": clean(reason).text.strip() or DISMISSED})


def _ended(said: dict[str, object]) -> Outcome:
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return Outcome(state=CallState.COMPLETED, result=text, result_type="json")
