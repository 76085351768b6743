"""Looking through many calls inside the store: what is not wanted never leaves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from errands_config import keys
from errands_config.scripts.script import Invocation, Script
from errands_config.wire import CallState

_PICK = Script("pick", keys=(), args=("states",))


def pick(cids: Sequence[str], states: Iterable[CallState]) -> Invocation[list[tuple[str, str]]]:
    """Of these calls those in one of the states, in the same order: (id, tool)."""

    def parse(answer: Any) -> list[tuple[str, str]]:
        return [(cids[int(place) - 1], tool) for place, tool in zip(answer[::2], answer[1::2], strict=True)]

    return _PICK.use({}, {"states": " ".join(sorted(states))}, parse, tuple(keys.call(cid) for cid in cids))
