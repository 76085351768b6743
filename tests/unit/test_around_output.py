"""What a tool prints, past what stands around it: without secrets, and not past a hook."""

from __future__ import annotations

import pytest

from errands_workers.around.tool_call import Scrubbed, Unprinted
from errands_workers.bindings import Given


class Kept:
    """Reports that a test can look at."""

    def __init__(self, *, keeps: bool = True) -> None:
        self.printed: list[str] = []
        self.told: list[object] = []
        self._keeps = keeps

    def progress(self, payload: object) -> None:
        self.told.append(payload)

    def notify(self, text: str) -> None:
        self.told.append(text)

    def output(self, text: str) -> bool:
        self.printed.append(text)
        return self._keeps


def bound(secret: str) -> Given:
    return Given({"key": secret}, {"KEY": secret})


@pytest.mark.parametrize("keeps", [True, False])
def test_secrets_are_cut_out_of_what_is_printed(keeps: bool):
    kept = Kept(keeps=keeps)
    assert Scrubbed(kept, bound("swordfish")).output("the key is swordfish\nfine\n") is keeps
    assert kept.printed == ["the key is [secret KEY]\nfine\n"]


@pytest.mark.parametrize("secret", ["-----BEGIN-----\nabcdef\n-----END-----", "first\r\nsecond"])
def test_of_a_call_with_a_secret_of_several_lines_nothing_that_it_prints_is_kept(secret: str):
    kept = Kept()
    assert not Scrubbed(kept, bound(secret)).output("abcdef\n")
    assert kept.printed == []


def test_what_a_hook_may_still_change_is_not_printed_while_its_news_pass():
    kept = Kept()
    told = Unprinted(kept)
    told.progress(1)
    told.notify("two")
    assert not told.output("three\n")
    assert (kept.told, kept.printed) == ([1, "two"], [])
