"""What those see of a call's arguments who decide about it: a redacted value is a fingerprint. Pure.

Equal values of one argument have equal fingerprints, and only who has the key can tell which value has which. Whoever
edits arguments leaves a fingerprint as it is where the value shall stay.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Collection, Mapping

from pydantic import JsonValue

_SHOWN_DIGITS = 16


def redacted(arguments: Mapping[str, JsonValue], names: Collection[str], key: bytes) -> dict[str, JsonValue]:
    """Arguments with a fingerprint in place of each of these values."""
    return {name: fingerprint(name, value, key) if name in names else value for name, value in arguments.items()}


def restored(
    edited: Mapping[str, JsonValue], original: Mapping[str, JsonValue], names: Collection[str], key: bytes
) -> dict[str, JsonValue]:
    """Edited arguments with the original values where their fingerprints stand."""
    kept = {name for name in names if name in original and edited.get(name) == fingerprint(name, original[name], key)}
    return {name: original[name] if name in kept else value for name, value in edited.items()}


def fingerprint(name: str, value: JsonValue, key: bytes) -> str:
    """What stands for the value of an argument."""
    canonical = json.dumps([name, value], sort_keys=True, separators=(",", ":"))
    digest = hmac.digest(key, b"argument:" + canonical.encode(), "sha256")
    return f"[redacted {digest.hex()[:_SHOWN_DIGITS]}]"
