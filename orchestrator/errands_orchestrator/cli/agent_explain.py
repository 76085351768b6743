"""`errands agent explain`: how a call would run, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import orjson
from cyclopts import Parameter

from errands_config.agent import load_agent
from errands_config.agent_file.decorators import After, Before
from errands_config.agent_file.file_model import FileModel
from errands_config.agent_file.finding import shown
from errands_config.agent_file.names import CAPABILITIES
from errands_config.policy_explained import Applied, Explanation, explained
from errands_config.settings import load_settings
from errands_orchestrator.cli.arguments_given import Args, object_given
from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.cli.output import AsJson, JsonValue, Row, print_json, print_text

_EXACT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POLICY = "toolCallPolicyConfig."


def explain(
    file: Path,
    /,
    *,
    tool: Annotated[str, Parameter(help="Name of the tool, as the model calls it.")],
    args: Args = "{}",
    as_json: AsJson = False,
) -> None:
    """Explain how a call of a tool would run: which rule and wrappers of the agent file apply, and why others do not.

    Nothing is called. The arguments are those that a model would send, before bindings.
    """
    _refuse_unless_exact(tool)
    settings = load_settings()
    agent = load_agent(file, api_key_ids=None, limit_names=settings.limits.keys())
    explanation = explained(agent, tool, object_given(args), settings.shared_limits)
    if as_json:
        print_json(_fields(explanation))
    else:
        print_text("\n".join(_lines(explanation)))


def _refuse_unless_exact(tool: str) -> None:
    if tool in CAPABILITIES:
        raise UsageError(f"{tool} is a capability: Errands answers it itself, and no policy applies to it")
    if not _EXACT.fullmatch(tool):
        raise UsageError(f"--tool takes the exact name of one tool (letters, digits, _ or -), got {shown(tool)}")


def _fields(explanation: Explanation) -> Row:
    return {
        "tool": explanation.tool,
        "rule": {**_applied(explanation.rule), "disposition": _written(explanation.disposition)},
        "wrappers": [_applied(wrapper) for wrapper in explanation.wrappers],
        "others": [{"path": other.path, "reason": other.text} for other in explanation.others],
        "notes": list(explanation.notes),
        "policy": explanation.policy.model_dump(mode="json"),
    }


def _applied(layer: Applied) -> dict[str, JsonValue]:
    return {"path": layer.path, "decorators": [_written(decorator) for decorator in layer.decorators]}


def _written(part: FileModel) -> dict[str, JsonValue]:
    """A part as it stands in the file."""
    return part.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _lines(explanation: Explanation) -> Iterator[str]:
    """What a person reads: the way from outside to the tool, what is not on it, and what comes of it."""
    named = explanation.rule.path != f"{_POLICY}default"
    innermost = _words(explanation.disposition) + ("" if named else " (no rule names this tool)")
    layers = [(wrapper.path, _all_words(wrapper) or ["nothing"]) for wrapper in explanation.wrappers]
    layers.append((explanation.rule.path, [*_all_words(explanation.rule), innermost]))
    yield f"{explanation.tool}, from the outside to the tool:"
    yield from _aligned([(path if not at else "", text) for path, texts in layers for at, text in enumerate(texts)])
    if explanation.others:
        yield "does not apply:"
        yield from _aligned([(other.path, other.text) for other in explanation.others])
    yield from (f"note: {note}" for note in explanation.notes)
    yield "the call's policy:"
    facts = explanation.policy.model_dump(mode="json", exclude_defaults=True, exclude={"around"})
    told = {"disposition": explanation.policy.disposition, **facts}
    yield from _aligned([(name, value if isinstance(value, str) else _json(value)) for name, value in told.items()])


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    names = [name.removeprefix(_POLICY) for name, _ in rows]
    width = max(map(len, names))
    return [f"  {name.ljust(width)}  {text}" for name, (_, text) in zip(names, rows, strict=True)]


def _all_words(layer: Applied) -> list[str]:
    return [_words(decorator) for decorator in layer.decorators]


def _words(part: FileModel) -> str:
    """A decorator or disposition on one line, by its tag and keys: `timeout seconds=30`."""
    if isinstance(part, Before | After):
        asked = f"hook {part.hook.command}" if part.hook.command else f"tool {part.hook.tool}"
        return f"{part.tag} {asked}"
    written = _written(part)
    keys = (f"{key}={_json(value)}" for key, value in written.items() if key != "tag")
    return " ".join([str(written["tag"]), *keys])


def _json(value: JsonValue) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return orjson.dumps(value).decode()
