"""The prohibition of real model requests."""

from __future__ import annotations

import pytest

from errands_config.errors import ModelError
from errands_orchestrator.models.real_requests import check_allowed, endpoint_of_tests, no_real_requests

URL = "https://api.example/v1"


def test_a_request_is_allowed_unless_somebody_forbids_it() -> None:
    check_allowed(URL, forbidden=False)
    with pytest.raises(ModelError, match=URL) as refused:
        check_allowed(URL, forbidden=True)
    assert (refused.value.cause, refused.value.retryable) == ("real model requests are forbidden", False)


def test_a_block_forbids_until_the_outermost_one_is_left() -> None:
    with no_real_requests():
        with no_real_requests():
            pass
        with pytest.raises(ModelError, match="no_real_requests"):
            check_allowed(URL, forbidden=False)
    check_allowed(URL, forbidden=False)


def test_a_block_that_fails_is_left_too() -> None:
    with pytest.raises(KeyError), no_real_requests():
        raise KeyError
    check_allowed(URL, forbidden=False)


def test_the_endpoint_of_a_test_is_no_real_one_while_it_runs() -> None:
    with no_real_requests():
        with endpoint_of_tests(URL):
            check_allowed(URL, forbidden=True)
            with pytest.raises(ModelError):
                check_allowed(f"{URL}/other", forbidden=False)
        with pytest.raises(ModelError):
            check_allowed(URL, forbidden=False)
