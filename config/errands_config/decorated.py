"""What decorators make of the policy of a call. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from errands_config import wire
from errands_config.agent_file.decorators import (
    After,
    Before,
    Cancellable,
    Decorator,
    Hook,
    Label,
    Limit,
    RerunOnRestart,
    Retries,
    Timeout,
    Truncate,
)
from errands_config.hook_name import hook_name_of
from errands_config.wire import Around, CallPolicy, SharedLimit


@dataclass(frozen=True, slots=True)
class Layer:
    """The decorators of one wrapper or disposition, read once."""

    around: tuple[Around, ...]
    """What a worker carries out, the outermost first."""
    limits: tuple[SharedLimit, ...]
    facts: Mapping[str, object]
    """Fields of the policy that it sets."""


def layer_of(decorators: Sequence[Decorator], limits: Mapping[str, SharedLimit]) -> Layer:
    """Read decorators, the outermost first. One of the `limits` that is not there is left out."""
    facts: dict[str, object] = {}
    for decorator in decorators:
        match decorator:
            case Label(label=label):
                facts["label"] = label
            case RerunOnRestart(times=times):
                facts["rerun_times"] = times
            case Cancellable(cancellable=cancellable):
                facts["cancellable"] = cancellable
            case _:
                pass
    named = (limits[one.name] for one in decorators if isinstance(one, Limit) and one.name in limits)
    return Layer(tuple(_around(decorators)), tuple(named), facts)


def decorated(policy: CallPolicy, layers: Sequence[Layer]) -> CallPolicy:
    """The policy with these layers around it, the outermost first.

    What the worker does around the tool keeps this order. Of a label, a number of reruns and a `cancellable` the one
    nearest to the tool counts. Each shared limit is taken once, however often it is named.
    """
    facts = {name: value for layer in layers for name, value in layer.facts.items()}
    limits = dict.fromkeys((*policy.limits, *(limit for layer in layers for limit in layer.limits)))
    around = tuple(one for layer in layers for one in layer.around)
    return policy.model_copy(update={**facts, "limits": tuple(limits), "around": around})


def _around(decorators: Sequence[Decorator]) -> Iterator[Around]:
    """Those that a worker carries out, as it is told them."""
    for decorator in decorators:
        match decorator:
            case Timeout(seconds=seconds):
                yield wire.Timeout(seconds=seconds)
            case Retries(count=count, backoff_seconds=backoff, on=on):
                yield wire.Retries(count=count, backoff_seconds=backoff, on=on)
            case Truncate(max_bytes=max_bytes):
                yield wire.Truncate(max_bytes=max_bytes)
            case Before(hook=hook):
                yield wire.Before(hook=_named(hook))
            case After(hook=hook):
                yield wire.After(hook=_named(hook))
            case _:
                pass


def _named(hook: Hook) -> wire.Hook:
    if hook.tool is not None:
        return wire.Hook(kind="tool", name=hook.tool)
    return wire.Hook(kind="command", name=hook_name_of(hook.command or "") or "")
