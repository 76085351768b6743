"""What went wrong at a model endpoint, as ModelErrors: a cause, what the endpoint said, and what to do. Pure.

No error holds the key, also where the endpoint repeats it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias, cast

from pydantic import SecretStr

from errands_config.errors import ModelError
from errands_config.text import clean

Cause: TypeAlias = Literal[
    "no API key",
    "endpoint refused the key",
    "endpoint refused the request",
    "endpoint limits the rate",
    "endpoint failed",
    "endpoint not reachable",
    "endpoint timed out",
    "endpoint answered garbage",
]

_QUOTED = 300
"""Characters of an endpoint's own words that are passed on."""

_SHOWN_OF_KEY = 6
"""Endpoints that name a key show its beginning; a word which begins like the key is taken for it."""

_TRY_AGAIN: dict[int, Cause] = {408: "endpoint failed", 409: "endpoint failed", 429: "endpoint limits the rate"}

_ADVICE: dict[int, str] = {
    401: "Check the key: `apiKeyId` of the agent file, or OPENAI_API_KEY.",
    403: "Check the key: `apiKeyId` of the agent file, or OPENAI_API_KEY.",
    404: "Check `modelUrl`, `modelName` and `flavor` of the agent file, or OPENAI_BASE_URL and ERRANDS_MODEL.",
}


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the errors of one endpoint."""

    where: str
    """The endpoint's address, without user, password and query."""
    key: SecretStr
    form: str = "chat completion"
    """What an answer should be."""

    def refused(
        self, status: int, headers: Mapping[str, str], body: object, *, now: datetime | None = None
    ) -> ModelError:
        """An answer with an HTTP status that is no success. `now` is for a `retry-after` that is a date."""
        text = f"{self.where} answered {status} {self._quoted(body)}"
        if status in (401, 403):
            cause: Cause = "endpoint refused the key"
        else:
            cause = _TRY_AGAIN.get(status, "endpoint failed" if status >= 500 else "endpoint refused the request")
        return ModelError(
            f"{_sentence(text)} {_ADVICE.get(status, '')}".rstrip(),
            cause=cause,
            retryable=status in _TRY_AGAIN or status >= 500,
            retry_after=retry_after(headers, now or datetime.now(UTC)),
        )

    def reported(self, body: object) -> ModelError:
        """An error that came in an answer which had begun as a success."""
        return self._passing("endpoint failed", f"reported an error {self._quoted(body)}")

    def garbage(self, why: str) -> ModelError:
        """An answer that is none of a model."""
        return self._passing("endpoint answered garbage", f"answered what is no {self.form}: {self._clean(why)}")

    def unreachable(self, why: str) -> ModelError:
        """No connection, or one that broke before the answer began."""
        return self._passing("endpoint not reachable", f"cannot be reached: {self._clean(why)}", "Check `modelUrl`.")

    def late(self, seconds: float) -> ModelError:
        """No whole answer within the time that it has."""
        return self._passing("endpoint timed out", f"gave no whole answer within {seconds:g} s")

    def _passing(self, cause: Cause, what: str, advice: str = "") -> ModelError:
        return ModelError(f"{self.where} {_sentence(what)} {advice}".rstrip(), cause=cause, retryable=True)

    def _quoted(self, body: object) -> str:
        words = self._clean(_words(body))
        return f"({words})" if words else ""

    def _clean(self, text: str) -> str:
        """One printable line of bounded length, without the key or a masked form of it."""
        line = " ".join(clean(text[: 100 * _QUOTED]).text.split())
        hidden = self._without_key(line)
        return hidden if len(hidden) <= _QUOTED else hidden[: _QUOTED - 1] + "…"

    def _without_key(self, line: str) -> str:
        key = self.key.get_secret_value()
        if len(key) <= _SHOWN_OF_KEY:  # a word such as "none", which an endpoint without keys is given
            return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", "[key]", line) if key else line
        return re.sub(rf"(?<!\w){re.escape(key[:_SHOWN_OF_KEY])}\S*", "[key]", line.replace(key, "[key]"))


def no_key() -> ModelError:
    """There is nothing to show to the endpoint."""
    return ModelError(
        "There is no API key for the model endpoint. Set OPENAI_API_KEY, or name a key of the settings as `apiKeyId`"
        " in the agent file. An endpoint that wants none takes any word.",
        cause="no API key",
        retryable=False,
    )


def unusable_key() -> ModelError:
    """The key cannot be put into an HTTP header."""
    return ModelError(
        "The API key has blanks or characters outside ASCII, which no HTTP header can carry. Check how it was set.",
        cause="no API key",
        retryable=False,
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that an endpoint asks to wait, or None: `retry-after-ms`, or `retry-after` as seconds or a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    return _until(value, now) if seconds is None and value else seconds


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _until(date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    # a date in -0000 comes without a zone and is meant in UTC
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _sentence(text: str) -> str:
    return f"{text.strip().removesuffix('.')}."


def _words(body: object) -> str:
    """What an error body says: the message in it, however deep the endpoint puts it."""
    if isinstance(body, dict):
        fields = cast("dict[str, object]", body)
        inner = next((fields[name] for name in ("error", "message", "detail") if fields.get(name)), None)
        return _words(inner) if inner else json.dumps(body, ensure_ascii=False)
    if isinstance(body, str):
        return "an HTML page" if body.lstrip().startswith("<") else body
    return "" if body is None else json.dumps(body, ensure_ascii=False)
