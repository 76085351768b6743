"""Keeping secrets out of what tools say: of results, errors and news, and of what a worker prints and logs. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote, quote_plus

from errands_config.text import clean
from errands_config.wire import Outcome

_SHORTEST = 4
"""Characters of the shortest secret that is cut out: shorter ones would be found everywhere."""


def scrubbed(text: str, secrets: Mapping[str, str]) -> str:
    """The text without these secrets: `[secret NAME]` stands where one stood: as it is, in quotes or in a URL.

    It comes before a text is cut, which would leave halves. What else a tool has made of a secret is not found.
    """
    covered = list(_joined(sorted(_places(text, secrets), key=lambda place: (place[0], -place[1]))))
    if not covered:
        return text
    parts: list[str] = []
    done = 0
    for start, end, name in covered:
        parts += [text[done:start], f"[secret {name}]"]
        done = end
    return "".join([*parts, text[done:]])


def scrubbed_outcome(outcome: Outcome, secrets: Mapping[str, str]) -> Outcome:
    """An outcome without these secrets. A JSON result that a secret was a number in is text from then on."""
    if not secrets:
        return outcome
    result = scrubbed(outcome.result, secrets)
    is_json = outcome.result_type == "json" and (result == outcome.result or _is_json(result))
    clear = {name: scrubbed(getattr(outcome, name), secrets) for name in ("error", "error_kind", "reason")}
    return outcome.model_copy(update={**clear, "result": result, "result_type": "json" if is_json else "text"})


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _places(text: str, secrets: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Where secrets stand, also where two overlap: start, end, name."""
    for name, secret in secrets.items():
        for form in _forms(secret):
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form), name
                at = text.find(form, at + 1)


@lru_cache(maxsize=256)
def _forms(secret: str) -> tuple[str, ...]:
    """How a secret may stand in a text: as it is, past the gate for foreign text, trimmed, in quotes, in a URL."""
    plain = {secret, clean(secret).text, secret.strip()}
    once = {form for text in plain for form in _quoted(text)}
    twice = {form for text in once for form in _quoted(text)}
    in_urls = {quoted for text in plain for quoted in (quote(text), quote(text, safe=""), quote_plus(text))}
    return tuple(form for form in plain | once | twice | in_urls if len(form) >= _SHORTEST)


def _quoted(text: str) -> Iterator[str]:
    """What stands between the marks in JSON, and where Python shows a string: alone, or as a part of a longer one."""
    yield from (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))
    for shown in (repr, ascii, _as_bytes):
        parts = [shown(part)[1:-1] for part in text.split("'")]
        yield from ("'".join(parts), "\\'".join(parts))


def _as_bytes(text: str) -> str:
    return repr(text.encode())[1:]


def _joined(places: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Places that overlap as one, under the name of the first. `places` in order."""
    whole: tuple[int, int, str] | None = None
    for start, end, name in places:
        if whole and start < whole[1]:
            whole = (whole[0], max(whole[1], end), whole[2])
            continue
        if whole:
            yield whole
        whole = (start, end, name)
    if whole:
        yield whole
