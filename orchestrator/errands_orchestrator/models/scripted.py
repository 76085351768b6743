"""`flavor: Scripted`: a model whose answers stand in a file. No network, no state: an equal request, an equal answer.

The script is a JSON list of turns:

    [
      {"say": "On its way.", "calls": [{"name": "bash_lint", "arguments": {"path": "src"}, "id": "call_lint"}]},
      {"when": "(bash_lint) completed", "say": ["The linter is done.", "It found nothing."]},
      {"when": "", "say": "I wait for the rest."}
    ]

The first turn that fits answers. A turn with `when` fits as often as its text (or every text of a list) stands in what
is new: the user and tool messages since the model's last answer. A turn without `when` fits once, so a script of such
turns is spoken line by line. Which ones were spoken is found by going through the history again, so that another
process which takes the session over gives the same answer. An answer without text and calls leaves no trace there: it
counts as not spoken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from errands_config.errors import ConfigError, ModelError
from errands_orchestrator.models.function import FunctionModel
from errands_orchestrator.models.model import Finish, ModelCall, Reply
from errands_orchestrator.models.seen import SeenMessage


def _joined(lines: object) -> object:
    return "\n".join(str(line) for line in cast("list[object]", lines)) if isinstance(lines, list) else lines


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptCall(_Strict):
    """A tool call of a turn."""

    name: str
    arguments: dict[str, object] | str = {}
    """An object; or a string that is sent as it stands, also when it is no JSON."""
    id: str | None = None
    """None: `call_<number of the answer>_<position>`."""


class ScriptTurn(_Strict):
    """One answer, and when it is given."""

    when: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """Texts that must all stand in what is new; empty: fits once."""
    say: Annotated[str, BeforeValidator(_joined)] = ""
    """A string or a list of lines."""
    calls: tuple[ScriptCall, ...] = ()
    finish: Finish | None = None
    """None: `tool_calls` with calls, else `stop`."""

    def reply(self, number: int) -> Reply:
        """The turn as the `number`-th answer of the conversation, counted from 1."""
        calls = tuple(_call(call, f"call_{number}_{position}") for position, call in enumerate(self.calls, 1))
        return Reply(self.say, calls, self.finish or ("tool_calls" if calls else "stop"))


_SCRIPT = TypeAdapter(tuple[ScriptTurn, ...])


class ScriptedModel(FunctionModel):
    """Speaks a script. `name` stands in errors."""

    def __init__(self, turns: Sequence[ScriptTurn], name: str = "the script") -> None:
        super().__init__(self._answer)
        self._turns = tuple(turns)
        self._name = name

    def _answer(self, messages: Sequence[SeenMessage]) -> Reply:
        number = 1 + sum(message.role == "assistant" for message in messages)
        turn = turn_for(self._turns, messages)
        if turn is None:
            raise ModelError(
                f"{self._name} has no turn for answer {number}: all turns without `when` are spoken and no `when` of"
                f" the others stands in what is new. Add a turn, or a last one with an empty text as `when`.",
                cause="script has no turn",
                retryable=False,
            )
        return self._turns[turn].reply(number)


def scripted_model(script: str | Path) -> ScriptedModel:
    """A model that speaks a script: the JSON text of one, or the path of its file.

    Raises ConfigError that names the turn which cannot be read.
    """
    name = script.name if isinstance(script, Path) else "the script"
    try:
        turns = _SCRIPT.validate_python(json.loads(script.read_bytes() if isinstance(script, Path) else script))
    except OSError as error:
        raise ConfigError(f"the script cannot be read: {error.strerror}", path=str(script)) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(first["msg"], path=name + _place(first["loc"])) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this is not JSON: {error}", path=name) from error
    return ScriptedModel(turns, name)


def turn_for(turns: Sequence[ScriptTurn], messages: Sequence[SeenMessage]) -> int | None:
    """Which turn answers these messages, or None. Goes through the history to see which turns were spoken."""
    spoken: set[int] = set()
    new: list[str] = []
    for message in messages:
        if message.role == "assistant":
            spoken.add(_first_fit(turns, spoken, new))
            new = []
        elif message.role in ("user", "tool"):
            new.append(message.text)
    turn = _first_fit(turns, spoken, new)
    return turn if turn < len(turns) else None


def _first_fit(turns: Sequence[ScriptTurn], spoken: set[int], new: Sequence[str]) -> int:
    """The position of the first turn that fits; the number of turns when none does."""
    news = "\n".join(new)
    for position, turn in enumerate(turns):
        if all(text in news for text in turn.when) if turn.when else position not in spoken:
            return position
    return len(turns)


def _call(call: ScriptCall, default_id: str) -> ModelCall:
    raw = call.arguments
    arguments = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
    return ModelCall(default_id if call.id is None else call.id, call.name, arguments)


def _place(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
