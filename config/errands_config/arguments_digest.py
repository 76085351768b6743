"""One fingerprint for equal arguments: what an approval is bound to. Pure."""

from __future__ import annotations

import hashlib
import json


def arguments_digest(arguments: str) -> str:
    """SHA-256, hexadecimal, of a JSON text in canonical form: the order of keys and blanks do not count."""
    value = json.loads(arguments)
    canonical = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
