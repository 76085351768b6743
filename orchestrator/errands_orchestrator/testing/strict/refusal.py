"""Why the endpoint refuses a request, and a value of a request that knows where it stands, for refusals that say so."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast


class RefusedError(Exception):
    """A request that the real API would answer with an error."""

    def __init__(self, message: str, *, param: str = "", code: str = "invalid_value", status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
        self.status = status

    def body(self) -> bytes:
        """The error as the API words it."""
        kind = "invalid_request_error"
        error = {"message": self.message, "type": kind, "param": self.param or None, "code": self.code}
        return json.dumps({"error": error}).encode()


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value and its path, such as `messages[2].tool_calls[0].id`."""

    raw: object
    path: str

    def refused(self, what: str, *, code: str = "invalid_value") -> RefusedError:
        """The refusal of this value."""
        return RefusedError(f"Invalid '{self.path}': {what}", param=self.path, code=code)

    def fields(self, *, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Value]:
        """The fields of an object that has all of `required` and no others than `optional`."""
        if not isinstance(self.raw, dict):
            raise self.refused("expected an object", code="invalid_type")
        found = cast("dict[str, object]", self.raw)
        inside = f"{self.path}." if self.path else ""
        for name in found:
            if name not in required and name not in optional:
                raise RefusedError(
                    f"Unknown parameter: '{inside}{name}'.", param=inside + name, code="unknown_parameter"
                )
        for name in required:
            if name not in found:
                raise RefusedError(
                    f"Missing required parameter: '{inside}{name}'.",
                    param=inside + name,
                    code="missing_required_parameter",
                )
        return {name: Value(value, inside + name) for name, value in found.items()}

    def elements(self) -> list[Value]:
        """The elements of an array that is not empty."""
        if not isinstance(self.raw, list):
            raise self.refused("expected an array", code="invalid_type")
        found = cast("list[object]", self.raw)
        if not found:
            raise self.refused("empty array, expected at least one element", code="empty_array")
        return [Value(value, f"{self.path}[{position}]") for position, value in enumerate(found)]

    def text(self, *, at_most: int | None = None, empty: bool = False) -> str:
        """A string that can be encoded; not empty unless that is allowed."""
        if not isinstance(self.raw, str):
            raise self.refused("expected a string", code="invalid_type")
        if not (self.raw or empty):
            raise self.refused("empty string", code="empty_string")
        if at_most is not None and len(self.raw) > at_most:
            raise self.refused(f"string too long, at most {at_most} characters", code="string_above_max_length")
        if any("\ud800" <= character <= "\udfff" for character in self.raw):
            raise self.refused("lone surrogate")
        return self.raw
