"""How a script becomes a typed call: a `Script` is a .lua file with named keys and arguments, an `Invocation` one use.

Building an invocation does nothing, so the same function serves blocking and asyncio connections (`run`, `arun`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Generic, TypeAlias, TypeVar

import redis
import redis.asyncio
from redis.exceptions import NoScriptError

T = TypeVar("T")
Scalar: TypeAlias = str | int | float


def _source(name: str) -> str:
    return (resources.files("errands_config.scripts") / f"{name}.lua").read_text()


@dataclass(frozen=True, slots=True)
class Invocation(Generic[T]):
    """One use of a script, ready to be sent. `parse` reads its raw answer."""

    script: Script
    keys: tuple[str, ...]
    args: tuple[Scalar, ...]
    parse: Callable[[Any], T]

    def packed(self) -> tuple[int, tuple[Scalar, ...]]:
        """Number of keys, and keys and arguments in a row, as EVALSHA takes them."""
        return len(self.keys), (*self.keys, *self.args)


class Script:
    """A .lua file whose keys are read as `K.name` and whose arguments as `A.name`.

    Further keys (of calls, queues) may follow the named ones: a script declares every key that it touches.
    """

    def __init__(
        self, name: str, *, keys: tuple[str, ...], args: tuple[str, ...], shared: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self._keys = keys
        self._args = args
        named = [f"local K={{{','.join(f'{k}=KEYS[{i}]' for i, k in enumerate(keys, 1))}}}"]
        named.append(f"local NAMED={len(keys)}")
        named.append(f"local A={{{','.join(f'{a}=ARGV[{i}]' for i, a in enumerate(args, 1))}}}")
        self.text = "\n".join([*named, *map(_source, ("clock", *shared)), _source(name)])
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    def use(
        self, keys: Mapping[str, str], args: Mapping[str, Scalar], parse: Callable[[Any], T], more: tuple[str, ...] = ()
    ) -> Invocation[T]:
        """Bind names to values; a name that is missing or unknown is a KeyError or ValueError."""
        if len(keys) != len(self._keys) or len(args) != len(self._args):
            raise ValueError(f"{self.name} takes keys {self._keys} and arguments {self._args}")
        return Invocation(self, (*(keys[k] for k in self._keys), *more), tuple(args[a] for a in self._args), parse)


def run(client: redis.Redis, invocation: Invocation[T]) -> T:
    """Run it on a blocking connection."""
    count, packed = invocation.packed()
    try:
        answer: Any = client.evalsha(invocation.script.sha, count, *packed)
    except NoScriptError:
        answer = client.eval(invocation.script.text, count, *packed)
    return invocation.parse(answer)


async def arun(client: redis.asyncio.Redis, invocation: Invocation[T]) -> T:
    """Run it on an asyncio connection."""
    count, packed = invocation.packed()
    try:
        answer: Any = await client.evalsha(invocation.script.sha, count, *packed)
    except NoScriptError:
        answer = await client.eval(invocation.script.text, count, *packed)
    return invocation.parse(answer)
