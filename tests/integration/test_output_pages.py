"""Writer, script and reader together: whatever is printed, sent, lost and read in turn, each line is given once."""

from __future__ import annotations

from typing import cast

import redis
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.integration.script_scenes import HOLDER, QUEUE, Scene
from tests.integration.test_runner_output import Unsure

from errands_config import keys
from errands_config.scripts import attempts
from errands_config.wire import CallState, Outcome
from errands_orchestrator.paging import cursor_at, page_end, place_of
from errands_workers.printed_lines import PrintedLines

LINE = st.text("ab é\U0001f600", max_size=12).map(lambda text: f"{text}\n")
STEPS = st.lists(
    st.one_of(
        st.lists(LINE, min_size=1, max_size=3).map(lambda lines: ("print", "".join(lines))),
        st.sampled_from([("send", ""), ("send and lose the answer", ""), ("read", "")]),
    ),
    max_size=25,
)


class Reading:
    """A reader who goes on from cursor to cursor, in pages of a few bytes."""

    def __init__(self) -> None:
        self.read = ""
        self._cursor = ""

    def page(self, text: str) -> bool:
        """Read one page of what is there; whether there was one."""
        place = place_of(self._cursor, text) if self._cursor else 0
        assert place is not None
        end = page_end(text, place, 20)
        self.read += text[place:end]
        self._cursor = cursor_at(text, end)
        return end > place


@given(STEPS)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_each_line_is_given_once_in_whatever_order_things_happen(
    store: redis.Redis, steps: list[tuple[str, str]]
) -> None:
    store.flushall()
    scene = Scene(store)
    scene.owned()
    claimed = scene.running()
    printed, reading, text = PrintedLines(claimed), Reading(), ""
    for what, lines in steps:
        match what:
            case "print":
                printed.add(lines, is_full=False)
                text += lines
            case "read":
                reading.page(str(store.get(keys.output("c1")) or ""))
            case _ if printed.is_waiting:
                _send(printed, store, loses=what != "send")
            case _:
                pass
    result = text.removesuffix("\n")
    scene.run(attempts.finish(claimed, HOLDER, QUEUE, Outcome(state=CallState.COMPLETED, result=result)))

    while reading.page(str(store.hget(keys.call("c1"), "result") or "")):
        pass

    assert reading.read in (text, result)  # the result of a script is without its last newline


def _send(printed: PrintedLines, store: redis.Redis, *, loses: bool) -> None:
    try:
        printed.send(cast("redis.Redis", Unsure(store, int(loses))))
    except redis.ConnectionError:
        assert loses
