"""Continuation tokens: what somebody outside holds to end one deferred call, and the key that they are made with.

A token is `ect_<call id>_<nonce>_<mac>`: the mac is an HMAC-SHA256 over call id and nonce. Nothing of it is stored:
whoever has the key can print it again, and a new deferral of the call, with its new nonce, makes it void.
"""

from __future__ import annotations

import base64
import hmac
import os
import re
import secrets
import stat
from pathlib import Path
from uuid import UUID

from errands_config.errors import ConfigError, NotFound
from errands_config.settings import Settings, make_home

KEY_FILE = "secret-key"
PREFIX = "ect_"

_KEY_BYTES = 32
_TOKEN = re.compile(PREFIX + r"([0-9a-f]{32})_([1-9][0-9]{0,8})_([A-Za-z0-9_-]{43})")


def secret_key(settings: Settings) -> bytes:
    """The deployment's key: ERRANDS_SECRET_KEY, else the file `secret-key` of ERRANDS_HOME, made if it is not there.

    Raises ConfigError for a file that others can read, or that holds something else.
    """
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value().encode()
    path = make_home(settings.home) / KEY_FILE
    if not path.exists():
        _make(path)
    return _read(path)


def _make(path: Path) -> None:
    """Write a fresh key. It gets its name when it is whole; of two processes that make one the first one's stays."""
    draft = path.with_name(f".{KEY_FILE}-{secrets.token_hex(8)}")
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(opened, "w") as file:
            file.write(f"{secrets.token_hex(_KEY_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _read(path: Path) -> bytes:
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as unreadable:
        raise _unusable(path, f"cannot be read: {unreadable.strerror}") from None
    with os.fdopen(opened) as file:
        known = os.fstat(file.fileno())
        if known.st_uid != os.getuid():
            raise _unusable(path, "belongs to another user")
        if known.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise _unusable(path, f"can be read by others: `chmod 600 {path}`, or delete it if somebody may have")
        text = file.read().strip()
    if not re.fullmatch(rf"[0-9a-f]{{{2 * _KEY_BYTES}}}", text):
        raise _unusable(path, "does not hold a key of 64 hexadecimal characters: delete it")
    return bytes.fromhex(text)


def _unusable(path: Path, why: str) -> ConfigError:
    return ConfigError(f"{path} {why}. Tokens made with a key that is gone are void.", path="ERRANDS_HOME")


def token_of(key: bytes, cid: str, nonce: int) -> str:
    """The token of one deferral of a call."""
    return f"{PREFIX}{UUID(cid).hex}_{nonce}_{_mac(key, cid, nonce)}"


def read_token(key: bytes, text: str) -> tuple[str, int]:
    """Call id and nonce of a token. Raises NotFound, which says nothing of what is wrong with it."""
    found = _TOKEN.fullmatch(text)
    cid, nonce = (str(UUID(found[1])), int(found[2])) if found else (str(UUID(int=0)), 0)
    if not hmac.compare_digest(_mac(key, cid, nonce), found[3] if found else ""):
        raise NotFound("no such token: `errands session pending --show-tokens` prints those that are")
    return cid, nonce


def is_token(text: str) -> bool:
    """Whether a text means to be a token."""
    return text.startswith(PREFIX)


def _mac(key: bytes, cid: str, nonce: int) -> str:
    digest = hmac.digest(key, f"{cid}:{nonce}".encode(), "sha256")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
