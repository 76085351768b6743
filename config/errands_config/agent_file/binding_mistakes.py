"""What is wrong with the parameters and bindings of an agent file as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from errands_config.agent_file.bindings import (
    Binding,
    FromApiKey,
    Given,
    LiteralValue,
    Parameter,
    ParamValue,
    SecretValue,
)
from errands_config.agent_file.finding import Finding, guess
from errands_config.agent_file.names import CAPABILITIES


def binding_mistakes(parameters: Sequence[Parameter], bindings: Sequence[Binding]) -> Iterator[Finding]:
    """Everything that no single parameter or binding can see, and the defaults that would give a secret away."""
    for place, one in enumerate(parameters):
        if one.name in [other.name for other in parameters[:place]]:
            yield Finding(f"parameters[{place}].name", f'another parameter is called "{one.name}"; rename one')
        if isinstance(one.default, FromApiKey):
            text = 'workers hold no model keys; bind a secret of theirs instead: {"secret": NAME}'
            yield Finding(f"parameters[{place}].default", text)
        if one.secret and isinstance(one.default, Given):
            text = "the value of a secret must not stand in the file, which the store keeps: name an EnvVar, a "
            yield Finding(f"parameters[{place}].default", f"{text}FileSystem or a Command")
    for place, binding in enumerate(bindings):
        yield from _mistakes_of(binding, f"bindings[{place}]", parameters)


def _mistakes_of(binding: Binding, path: str, parameters: Sequence[Parameter]) -> Iterator[Finding]:
    if binding.tool in CAPABILITIES:
        yield Finding(f"{path}.tool", f"{binding.tool} is a capability: its arguments are the model's")
    secret = isinstance(binding.value, SecretValue)
    if isinstance(binding.value, ParamValue):
        name = binding.value.contents
        meant = [one for one in parameters if one.name == name]
        secret = any(one.secret for one in meant)
        if not meant:
            yield Finding(f"{path}.value.contents", f'no parameter "{name}"{_known(name, parameters)}')
    if binding.when_unbound == "expose" and secret:
        yield Finding(f"{path}.whenUnbound", 'a secret is never the model\'s to choose; use "fail" or "omit"')
    if binding.when_unbound == "expose" and isinstance(binding.value, LiteralValue):
        yield Finding(f"{path}.whenUnbound", "a Literal always has its value; leave it out")


def _known(name: str, parameters: Sequence[Parameter]) -> str:
    names = sorted(one.name for one in parameters)
    return f"{guess(name, names)}; known: {', '.join(names)}" if names else "; the file has none"
