"""The decorator: what it accepts, and that a decorated function stays a function."""

import inspect
import threading

import pytest

import errands_workers
from errands_config.errors import ConfigError
from errands_workers import ToolContext, tool
from errands_workers.catalogue import offered_by
from errands_workers.context import CallFacts
from errands_workers.plan import WorkerPlan


def test_the_package_exports_what_a_tool_author_needs_and_no_more():
    assert errands_workers.__all__ == ["ToolContext", "ToolHarness", "tool"]


@tool
def double(n: int) -> int:
    """Double it."""
    return 2 * n


@tool(queue="gpu", timeout=60, cancellable=False)
async def paint(what: str) -> str:
    """Paint it."""
    return what


async def test_a_decorated_function_can_be_called_as_before():
    assert double(21) == double(n=21) == 42
    assert await paint("a house") == "a house"
    assert inspect.signature(double) == inspect.signature(double.function)
    assert double.__doc__ == "Double it."


def test_options_are_kept_and_defaults_are_plain():
    assert (paint.options.queue, paint.options.timeout, paint.options.cancellable) == ("gpu", 60, False)
    assert (double.options.queue, double.options.timeout, double.options.cancellable) == ("default", None, True)
    assert (tool(cooperative=True)(double.function).options.cooperative, double.options.cooperative) == (True, False)
    assert (double.is_async, paint.is_async) == (False, True)


def test_retries_and_hidden_arguments_are_kept():
    made = tool(retries=2, redact=("n",))(double.function)
    assert (made.options.retries, made.options.redact) == (2, ("n",))
    assert (double.options.retries, double.options.redact) == (0, ())


def test_an_offer_says_what_is_to_be_hidden():
    offers = {offer.name: offer.redact for offer in offered_by(WorkerPlan(modules=("tests.tools.wrapped",)))}
    assert (offers["flaky_by_nature"], offers["flaky"]) == (("path",), ())


def test_an_argument_that_is_to_be_hidden_must_be_there():
    with pytest.raises(ConfigError, match=r"@tool\(redact\): tool double has no parameter pasword"):
        tool(redact=("n", "pasword"))(double.function)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"queu": "a"}, r"@tool\(queu\): no such option"),
        ({"queue": "a:b"}, r"@tool\(queue\)"),
        ({"queue": None}, r"@tool\(queue\)"),
        ({"timeout": 0}, r"@tool\(timeout\)"),
        ({"timeout": float("inf")}, r"@tool\(timeout\)"),
        ({"cancellable": "no"}, r"@tool\(cancellable\)"),
        ({"cooperative": 1}, r"@tool\(cooperative\)"),
        ({"rerun_on_restart": True}, r"@tool\(rerun_on_restart\)"),
        ({"rerun_on_restart": -1}, r"@tool\(rerun_on_restart\)"),
        ({"retries": -1}, r"@tool\(retries\)"),
        ({"retries": 1.5}, r"@tool\(retries\)"),
        ({"redact": "n"}, r"@tool\(redact\)"),
        ({"redact": 1}, r"@tool\(redact\)"),
        ({"redact": (1,)}, r"@tool\(redact\)"),
    ],
)
def test_a_bad_option_is_a_config_error_that_names_it(options: dict[str, object], text: str):
    with pytest.raises(ConfigError, match=text):
        tool(**options)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("what", [lambda: None, int, double])
def test_only_a_plain_named_function_becomes_a_tool(what: object):
    with pytest.raises(ConfigError):
        tool(what)  # pyright: ignore[reportArgumentType]


def test_a_generator_is_refused():
    def count(n: int):
        yield n

    with pytest.raises(ConfigError, match="a generator has no one result"):
        tool(count)


def test_a_contexts_facts_are_those_of_the_call():
    class Nowhere:
        def progress(self, payload: object) -> None: ...
        def notify(self, text: str) -> None: ...
        def output(self, text: str) -> bool: ...

    context = ToolContext(CallFacts("c", "s", 2, deadline=0.0), threading.Event(), Nowhere())
    assert (context.call_id, context.session_id, context.attempt, context.idempotency_key) == ("c", "s", 2, "c")
    assert context.remaining == 0
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="a number of seconds above 0"):
            context.defer("later", expires_seconds=seconds)
    for arguments, fields in [((), {}), ((1,), {"done": 1})]:
        with pytest.raises(TypeError, match="either one value or named values"):
            context.progress(*arguments, **fields)
