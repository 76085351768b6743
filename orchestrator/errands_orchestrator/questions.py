"""Questions of a model to its user, and how they are answered. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import JsonValue

from errands_config.errors import InvalidArguments
from errands_config.text import clean
from errands_config.wire import CallState, Outcome
from errands_orchestrator.outside_result import outside_json

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
        if not self.choices:
            return text
        by_name = {str(number): choice for number, choice in enumerate(self.choices, 1)}
        by_name |= {clean(choice).text.strip(): choice for choice in self.choices}
        if text in by_name:
            return by_name[text]
        listed = "; ".join(f"{number} {choice}" for number, choice in enumerate(self.choices, 1))
        raise InvalidArguments(f"{text[:80]!r} is none of the choices, which are: {listed}")

    def late(self, answer: str) -> str:
        """What the model is told of an answer that came after the end."""
        return f'Late answer to your question "{self.in_short}": {answer}'

    @property
    def in_short(self) -> str:
        """What is asked, in one line of at most 200 characters."""
        line = " ".join(clean(self.text).text.split())
        return line if len(line) <= _QUESTION_LENGTH else f"{line[: _QUESTION_LENGTH - 1]}…"


def answered(answer: str) -> Outcome:
    """The end of a question that somebody answered."""
    return _ended({"answered": True, "answer": answer})


def dismissed(reason: str) -> Outcome:
    """The end of a question that somebody put aside."""
    return _ended({"answered": False, "reason": clean(reason).text.strip() or DISMISSED})


def _ended(said: dict[str, JsonValue]) -> Outcome:
    return Outcome(state=CallState.COMPLETED, result=outside_json(said), result_type="json")
