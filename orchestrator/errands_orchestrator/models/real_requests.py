"""Whether a request may go to a real model endpoint. A test suite forbids it, but for the endpoint of tests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from errands_config.errors import ModelError

_blocks: list[None] = []
"""One element for each block that is open."""
_of_tests: set[str] = set()


@contextmanager
def no_real_requests() -> Generator[None]:
    """Inside the block no request of this process reaches a real model endpoint: each is a ModelError instead.

    Holds for every task and thread. For processes that a test starts there is the setting ERRANDS_FORBID_REQUESTS.
    """
    _blocks.append(None)
    try:
        yield
    finally:
        _blocks.pop()


@contextmanager
def endpoint_of_tests(url: str) -> Generator[None]:
    """Exempt the endpoint at this base URL inside the block."""
    _of_tests.add(url)
    try:
        yield
    finally:
        _of_tests.discard(url)


def check_allowed(url: str, *, forbidden: bool) -> None:
    """Raise ModelError if a request to this base URL is forbidden, by the settings (`forbidden`) or by a block."""
    if (forbidden or _blocks) and url not in _of_tests:
        raise ModelError(
            f"A request to the model endpoint {url} was forbidden: by ERRANDS_FORBID_REQUESTS, or by the block"
            " `no_real_requests()` of a test. Give the agent a model that is no endpoint, or drop the prohibition.",
            cause="real model requests are forbidden",
            retryable=False,
        )
